"""What a callback returned, understood: which entries came back, in which order, and what is new.

The rule: a returned object that is one of the handed-out copies is that entry, changed or not; an object that equals
an entry is that entry too, if its whole group came back; every other native message is new. Texts alone never
identify anything. Judging what is understood here is the business of `rules.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NoReturn, TypeVar

from kedi_compile.dialect import Dialect, TextFlaw
from kedi_compile.errors import HistoryProcessingValidationError, Violation
from kedi_compile.history.adoption import adopt_copies
from kedi_compile.history.detached import DetachedMessages
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class Kept(Generic[MessageT]):
    """An entry of the history that came back; `altered` if it is no longer what it was."""

    entry: int
    altered: bool


@dataclass(frozen=True, slots=True)
class Added(Generic[MessageT]):
    """A message the callback added; `flaw` says why it is not an acceptable text message."""

    message: MessageT
    flaw: TextFlaw | None


Item = Kept[MessageT] | Added[MessageT]


@dataclass(frozen=True)
class Proposal(Generic[MessageT]):
    """A returned history over the revision it edits; positions are 0-based into the returned list."""

    revision: Revision[MessageT]
    items: tuple[Item[MessageT], ...]

    @cached_property
    def is_noop(self) -> bool:
        """Whether every entry came back unchanged and in place, and nothing else."""
        return len(self.items) == len(self.revision.messages) and self.first_change == len(self.items)

    @cached_property
    def first_change(self) -> int:
        """The first position at which the returned list differs from the history."""
        for position, item in enumerate(self.items):
            if not isinstance(item, Kept) or item.altered or item.entry != position:
                return position
        return len(self.items)

    @cached_property
    def kept(self) -> tuple[tuple[int, Kept[MessageT]], ...]:
        """The entries that came back, with their positions, in the returned order."""
        return tuple((place, item) for place, item in enumerate(self.items) if isinstance(item, Kept))

    @cached_property
    def added(self) -> tuple[tuple[int, Added[MessageT]], ...]:
        """The new messages with their positions."""
        return tuple((place, item) for place, item in enumerate(self.items) if isinstance(item, Added))

    @cached_property
    def positions(self) -> dict[int, list[int]]:
        """The positions of each entry that came back; more than one if it was duplicated."""
        out: dict[int, list[int]] = defaultdict(list)
        for position, item in self.kept:
            out[item.entry].append(position)
        return dict(out)

    @cached_property
    def groups_back(self) -> tuple[int, ...]:
        """The indices of the groups of which an entry came back, ascending."""
        return tuple(sorted({self.group_of[entry] for entry in self.positions}))

    @cached_property
    def group_of(self) -> list[int]:
        """The group index of each entry."""
        spans = self.revision.spans
        return [index for index, span in enumerate(spans) for _ in range(span.start, span.end)]


def read_proposal(
    returned: object, handed_out: DetachedMessages[MessageT], revision: Revision[MessageT]
) -> Proposal[MessageT]:
    """Understand what a callback returned.

    Raises:
        HistoryProcessingValidationError: it is not a non-empty sequence of native messages.
    """
    messages = _native_sequence(returned, handed_out, revision)
    if returned is handed_out:
        return Proposal(revision, tuple(_untouched(handed_out, revision)))
    return Proposal(revision, tuple(_match(messages, handed_out, revision)))


def _native_sequence(
    returned: object, handed_out: DetachedMessages[MessageT], revision: Revision[MessageT]
) -> Sequence[MessageT]:
    if returned is handed_out:
        return handed_out
    if not isinstance(returned, Sequence) or isinstance(returned, (str, bytes, bytearray)):
        kind = type(returned).__name__
        _refuse("not_native", f"The callback returned {kind}; return a list or tuple of native messages")
    messages = _listed(returned)
    if not messages:
        _refuse("empty_result", "The callback returned an empty history; the current request at least must stay")
    is_native = revision.dialect.is_native
    if strangers := [index for index, message in enumerate(messages) if not is_native(message)]:
        kinds = ", ".join(f"{index} is {type(messages[index]).__name__}" for index in strangers[:5])
        name = revision.dialect.adapter_shortname
        _refuse("not_native", f"Returned items are not native messages of the {name} adapter: {kinds}")
    return messages


def _listed(returned: Sequence[Any]) -> list[Any]:
    """Read the sequence once; one of a class of its own may fail, or say something else the next time."""
    try:
        return list(returned)
    except Exception as error:  # noqa: BLE001  # whatever a stranger's sequence raises
        kind = type(returned).__name__
        _refuse("not_native", f"The callback returned a {kind} that cannot be read: {error}; return a list")


def _refuse(rule: str, detail: str) -> NoReturn:
    raise HistoryProcessingValidationError([Violation(rule, detail)])


def _untouched(handed_out: DetachedMessages[MessageT], revision: Revision[MessageT]) -> Iterable[Kept[MessageT]]:
    """`ctx.messages` itself came back: only copies that were made can have been changed."""
    made = set(handed_out.touched().values())
    for index, original in enumerate(revision.messages):
        yield Kept(index, altered=index in made and _is_altered(original, handed_out[index], revision.dialect))


def _match(
    messages: Sequence[MessageT], handed_out: DetachedMessages[MessageT], revision: Revision[MessageT]
) -> list[Item[MessageT]]:
    dialect, originals = revision.dialect, revision.messages
    known = handed_out.touched()
    entries = [known.get(id(message)) for message in messages]
    if None in entries:
        entries = adopt_copies(messages, entries, revision)
    items: list[Item[MessageT]] = []
    for message, entry in zip(messages, entries, strict=True):
        if entry is None:
            items.append(Added(message, dialect.text_flaw(message)))
        else:
            items.append(Kept(entry, altered=_is_altered(originals[entry], message, dialect)))
    return items


def _is_altered(original: MessageT, returned: MessageT, dialect: Dialect[MessageT]) -> bool:
    """Whether a returned message is no longer what it was.

    A payload of which not even two fresh copies are the same cannot tell; then nothing is held against the callback,
    since what is kept is sent and stored as the host's own object anyway.
    """
    return not dialect.same(original, returned) and dialect.same(original, dialect.clone(original))
