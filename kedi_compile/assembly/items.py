"""Items: what a request is made of, each in one of the forms it may take.

A `Candidate` is a record with its forms, the fullest first; reducing a request moves candidates to later forms
(`reduction.py`), and what is left is the `Item` that is sent. Its text is our own words; its body is somebody else's,
shown in a fence. Source: Assembly specification, Deterministic assembly order, Context budget and rehydration.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import orjson

from kedi_compile.assembly.places import Place
from kedi_compile.assembly.sources import Visibility
from kedi_compile.assembly.wording import fenced
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

    `narration` is free prose in it that may be told elsewhere too. `visibility` is that of a source.
    """

    text: str
    body: str | None = None
    decision: Decision = "included"
    reason: str = ""
    narration: str = ""
    visibility: Visibility | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the request holds anything of it."""
        return bool(self.text) or self.body is not None

    @property
    def rendered(self) -> str:
        """The form as it is sent."""
        if self.body is None:
            return self.text
        return f"{self.text}\n\n{fenced(self.body)}" if self.text else fenced(self.body)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record and the forms it may take, the fullest first."""

    place: Place
    kind: str
    id: str
    trust: Trust
    record: object
    forms: tuple[Form, ...]


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


def quoted(text: str) -> str:
    """Return a name from outside in quotes, on one line, so that nothing in it reads as a heading."""
    return orjson.dumps(text).decode()


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())
