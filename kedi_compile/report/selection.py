"""Which requests of a dump are meant.

Each has its 1-based number in the file, and a person names it by that or by its id. How a file is read is in
`kedi_compile/dump/reading.py`, what is shown of the requests that are chosen in `listing.py` and `expansion.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kedi_compile.dump.schema import RequestDump

_TROUBLE: Final = frozenset({"failed", "refused"})


@dataclass(frozen=True, slots=True)
class Numbered:
    """A request's dump and its 1-based number in the file."""

    number: int
    dump: RequestDump


class Counted(Iterator[RequestDump]):
    """The same dumps, and how many of them went by so far."""

    __slots__ = ("_dumps", "count")

    def __init__(self, dumps: Iterable[RequestDump]) -> None:
        self.count = 0
        self._dumps = iter(dumps)

    def __next__(self) -> RequestDump:
        dump = next(self._dumps)
        self.count += 1
        return dump


@dataclass(frozen=True, slots=True)
class Selection:
    """Which requests are wanted; whatever is None or False does not narrow.

    `request` is a number in the file or a request id, and a number that is also an id means both.
    """

    request: str | None = None
    run: str | None = None
    conversation: str | None = None
    failed: bool = False

    def choose(self, dumps: Iterable[RequestDump]) -> Iterator[Numbered]:
        """Yield the requests that are wanted, in order."""
        for number, dump in enumerate(dumps, 1):
            if self._wants(number, dump):
                yield Numbered(number, dump)

    @property
    def may_be_empty(self) -> bool:
        """Whether nothing chosen is an answer, and not a name that nothing has."""
        return self.failed and (self.request, self.run, self.conversation) == (None, None, None)

    def _wants(self, number: int, dump: RequestDump) -> bool:
        return (
            (self.request is None or self.request in (str(number), dump.request_id))
            and (self.run is None or self.run == dump.run_id)
            and (self.conversation is None or self.conversation == dump.conversation_id)
            and (not self.failed or dump.outcome in _TROUBLE)
        )

    def __str__(self) -> str:
        words = ["failed or refused request" if self.failed else "request"]
        words += [] if self.request is None else [repr(self.request)]
        words += [] if self.run is None else [f"of run {self.run!r}"]
        words += [] if self.conversation is None else [f"of conversation {self.conversation!r}"]
        return " ".join(words)
