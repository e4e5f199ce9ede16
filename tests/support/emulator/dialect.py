"""What the dialects share: numbered ids, a fixed clock, token counts, and the shape of an answer.

Nothing here is random and nothing reads a clock, so a recording made against the emulator comes out the same
every time. A dialect judges a body, renders the scripted answer, and says errors the way its provider does.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wire.reading import Body
from wire.refusal import Refusal

from .script import Answer

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z
_UNCOUNTED = frozenset({"signature", "encrypted_content", "cache_control"})
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    data: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer as JSON and as the stream that says the same."""

    body: Body
    events: tuple[Event, ...]


class Dialect(Protocol):
    """One provider API."""

    def judge(self, body: Body, betas: frozenset[str]) -> Refusal | None:
        """Return the refusal the provider would report, None if it accepts the body."""

    def effective(self, body: Body) -> Body:
        """Return the body as the model would see it, with what the server holds or drops."""

    def render(self, body: Body, betas: frozenset[str], answer: Answer) -> Rendered:
        """Return the answer, and remember what the server issued with it."""

    def error(self, status: int, message: str, code: str | None) -> Body:
        """Return the provider's error body."""


@dataclass(slots=True)
class Numbers:
    """Ids and times that follow each other."""

    counts: dict[str, int] = field(default_factory=dict)

    def id(self, prefix: str) -> str:
        """Return the next id with a prefix: `msg_0001`, `msg_0002`."""
        self.counts[prefix] = self.counts.get(prefix, 0) + 1
        return f"{prefix}_{self.counts[prefix]:04d}"

    def time(self) -> int:
        """Return a time in seconds, one later than the last."""
        self.counts[""] = self.counts.get("", 0) + 1
        return EPOCH + self.counts[""]


def seal(*facts: str) -> str:
    """Return an opaque text that stands for a signature over these facts."""
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def tokens(value: object) -> int:
    """Return the tokens of a JSON value: a quarter of its characters, opaque fields left out."""
    return -(-len(compact(_counted(value))) // _CHARACTERS_A_TOKEN)


def prompt(body: Body, *keys: str) -> Body:
    """Return the part of a body that the model reads."""
    return {key: body[key] for key in keys if body.get(key)}


def compact(value: object) -> str:
    """Return JSON without needless spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def pieces(text: str, size: int = 12) -> tuple[str, ...]:
    """Return a text in the pieces of its stream; an empty text has none."""
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def _counted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _counted(member) for key, member in value.items() if key not in _UNCOUNTED}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_counted(member) for member in value]
    return value
