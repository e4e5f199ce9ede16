"""Items: what a request is made of, each in one of the forms it may take.

A `Candidate` is a record with its forms, the fullest first; reducing a request moves candidates to later forms
(`reduction.py`), and what is left is the `Item` that is sent. Its text is our own words; its body is somebody else's,
shown in a fence. Source: Assembly specification, Deterministic assembly order, Context budget and rehydration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final

import orjson

from kedi_compile.assembly.places import Place
from kedi_compile.assembly.sources import Fidelity, Visibility
from kedi_compile.assembly.wording import fence_of, fenced
from kedi_compile.dump.schema import Decision


class Trust(StrEnum):
    """Who vouches for the words of an item."""

    OPERATOR = "operator"
    REPOSITORY = "repository"
    USER = "user"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Form:
    """One way an item may be shown; without text and body it is not.

    `narration` is free prose in it that may be told elsewhere too. `visibility` and `fidelity` are those of a source
    as it is shown.
    """

    text: str
    body: str | None = None
    decision: Decision = "included"
    reason: str = ""
    narration: str = ""
    visibility: Visibility | None = None
    fidelity: Fidelity | None = None
    fence: str = ""
    """What the body stands between, where that is known already."""

    @property
    def is_shown(self) -> bool:
        """Whether the request holds anything of it."""
        return bool(self.text) or self.body is not None

    @property
    def pieces(self) -> tuple[str, ...]:
        """The form as it is sent, in pieces, so that a long body is copied once, into the whole text."""
        if self.body is None:
            return (self.text,)
        shown = fenced(self.body, self.fence)
        return (self.text, "\n\n", *shown) if self.text else shown

    @property
    def rendered(self) -> str:
        """The form as it is sent."""
        return "".join(self.pieces)

    @property
    def around(self) -> str:
        """Everything that is sent with the body: the text, both fences, and what parts it from its neighbours."""
        if self.body is None:
            return f"{self.text}\n\n"
        fence = self.fence or fence_of(self.body)
        return f"{self.text}\n\n{fence}\n\n{fence}\n\n"


@dataclass(frozen=True)
class Candidate:
    """A record and the forms it may take: the fullest one, and those that are only made where there is no room."""

    place: Place
    kind: str
    id: str
    trust: Trust
    record: object
    fullest: Form
    smaller: Iterable[Form] = ()

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """All forms, the fullest first."""
        return (self.fullest, *self.smaller)


@dataclass(frozen=True, slots=True)
class Item:
    """A record in the form that it has in a request; `tokens` are those of what is shown."""

    place: Place
    kind: str
    id: str
    trust: Trust
    record: object
    form: Form
    tokens: int


_BREAKS: Final = {code: f"\\u{code:04x}" for code in (0x7F, 0x85, 0x2028, 0x2029)}
"""Characters that JSON leaves as they are, and a reader may take for the end of a line."""


@lru_cache(maxsize=4096)
def quoted(text: str) -> str:
    """Return a name from outside in quotes, on one line, so that nothing in it reads as a heading."""
    name = orjson.dumps(text).decode()
    return name if name.isascii() and "\x7f" not in name else name.translate(_BREAKS)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())
