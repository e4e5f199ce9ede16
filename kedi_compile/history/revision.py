"""One revision of the history: the native messages as they are now, described when someone asks.

Everything here is lazy, because a condition that reads nothing must cost nothing. A revision never changes; a history
that did is a new one, and `check_unchanged` proves that what a condition was shown still holds. Source: History
specification, Conditional Processing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from operator import is_not
from typing import Generic, NoReturn, TypeVar

from kedi_compile.canonical import combine
from kedi_compile.dialect import Dialect, HistoryEntry, HistoryOrigin, MessageFacts, ProtectedReason, native_messages
from kedi_compile.errors import HistoryProcessingError
from kedi_compile.history.groups import HistoryGroup, Span, find_spans
from kedi_compile.history.origins import OriginLedger
from kedi_compile.history.pairing import Pairing, pair
from kedi_compile.history.reasoning import ReasoningProtection, protect_reasoning

MessageT = TypeVar("MessageT")


class GroupNames:
    """Group ids of one run: a group keeps its id while one of its message objects lives on."""

    def __init__(self) -> None:
        self._known: dict[int, list[str]] = {}  # by `id()` of the message; an object may stand in several groups
        self._held: Sequence[Sequence[object]] = ()  # keeps the messages, so that no `id()` is reused
        self._numbers = count(1)

    def assign(self, groups: Sequence[Sequence[object]], host_names: Sequence[str | None]) -> list[str]:
        """Return one id for each group, given its messages and the name the host has for its first one, if any.

        Groups that are gone are forgotten.
        """
        names: dict[str, None] = {}
        for messages, host_name in zip(groups, host_names, strict=True):
            offered = [f"g-{host_name}"] if host_name else []
            known = (name for message in messages for name in self._names(message))
            names[next((name for name in (*offered, *known) if name not in names), None) or self._new()] = None
        self._known, self._held = {}, groups
        for name, messages in zip(names, groups, strict=True):
            for message in messages:
                self._known.setdefault(id(message), []).append(name)
        return list(names)

    def _new(self) -> str:
        return f"g{next(self._numbers)}"

    def _names(self, message: object) -> list[str]:
        return self._known.get(id(message), [])


@dataclass(frozen=True)
class RunKnowledge(Generic[MessageT]):
    """What the revisions of one run share."""

    dialect: Dialect[MessageT]
    origins: OriginLedger
    token_counter: Callable[[MessageT], int] | None = None
    reasoning_protection: ReasoningProtection = "always"
    names: GroupNames = field(default_factory=GroupNames)

    def token_count(self) -> Callable[[MessageT], int]:
        """Return how the tokens of one message are counted."""
        return self.dialect.estimate if self.token_counter is None else self._checked_count

    def _checked_count(self, message: MessageT) -> int:
        assert self.token_counter is not None  # this is its wrapper
        value: object = self.token_counter(message)
        if type(value) is not int or value < 0:
            msg = f"`token_counter` returned {value!r}; it must return a nonnegative int"
            raise HistoryProcessingError(msg)
        return value


class Revision(Generic[MessageT]):
    """A snapshot of the history's message objects; nothing of it is handed to a callback undetached."""

    def __init__(self, messages: Sequence[MessageT], run: RunKnowledge[MessageT]) -> None:
        self.messages = tuple(messages)
        self._run = run

    @property
    def dialect(self) -> Dialect[MessageT]:
        """How the messages are read."""
        return self._run.dialect

    def edited(self, messages: Sequence[MessageT]) -> Revision[MessageT]:
        """Return the revision of an edited history in the same run."""
        return Revision(messages, self._run)

    def count(self, message: MessageT) -> int:
        """Return the tokens of one message, counted as those of the history are."""
        return self._run.token_count()(message)

    @cached_property
    def facts(self) -> list[MessageFacts]:
        """The facts of each message, in order."""
        return list(map(self.dialect.describe, native_messages(self.dialect, self.messages)))

    @cached_property
    def tokens(self) -> list[int]:
        """The estimated or counted tokens of each message, in order."""
        return list(map(self._run.token_count(), self.messages))

    @cached_property
    def estimated_tokens(self) -> int:
        """The sum over all messages."""
        return sum(self.tokens)

    @property
    def known_tokens(self) -> int | None:
        """The sum over all messages if anyone has asked for their tokens already; nothing is counted for it."""
        return self.estimated_tokens if "tokens" in vars(self) else None

    @property
    def known_spans(self) -> list[Span]:
        """The groups' bounds if anyone has asked for them already; none otherwise."""
        return self.spans if "spans" in vars(self) else []

    @cached_property
    def digests(self) -> list[bytes]:
        """The 32-byte digest of each message, in order."""
        return self.dialect.digests(self.messages)

    @cached_property
    def version(self) -> str:
        """An opaque name of this content: equal histories have equal versions."""
        return combine(self.digests).hex()

    @cached_property
    def pairing(self) -> Pairing:
        """Which result answers which call."""
        return pair(self.facts)

    @cached_property
    def spans(self) -> list[Span]:
        """The groups' bounds and reasons, in order."""
        spans = find_spans(self.facts, self.pairing, merges_requests=self.dialect.merges_requests)
        return protect_reasoning(spans, self._run.reasoning_protection)

    @cached_property
    def groups(self) -> tuple[HistoryGroup, ...]:
        """The groups, which partition the messages in order."""
        groups = [self.messages[span.start : span.end] for span in self.spans]
        names = self._run.names.assign(groups, [self.dialect.name(messages[0]) for messages in groups])
        return tuple(
            HistoryGroup(name, span.start, span.end, span.closed, span.reasons, self._origins_of(span.start, span.end))
            for name, span in zip(names, self.spans, strict=True)
        )

    def _origins_of(self, start: int, end: int) -> tuple[HistoryOrigin, ...]:
        if not self._run.origins:
            return ()
        carriers = chain.from_iterable(map(self.dialect.carriers, self.messages[start:end]))
        return tuple(chain.from_iterable(map(self._run.origins.find, carriers)))

    @cached_property
    def entries(self) -> tuple[HistoryEntry, ...]:
        """The public facts of each message, in order."""
        return tuple(self._entries())

    def _entries(self) -> Iterator[HistoryEntry]:
        for group in self.groups:
            for index in range(group.entry_start, group.entry_end):
                fact = self.facts[index]
                yield HistoryEntry(
                    index=index,
                    kind=fact.kind,
                    role=fact.role,
                    calls=fact.calls,
                    results=fact.results,
                    protected_reasons=self._own_reasons(index, group),
                    estimated_tokens=self.tokens[index],
                    origins=self._origins_of(index, index + 1),
                    group_id=group.group_id,
                )

    def _own_reasons(self, index: int, group: HistoryGroup) -> frozenset[ProtectedReason]:
        """The entry's own reasons, as far as they count for its group."""
        own = self.facts[index].reasons & group.protected_reasons
        is_current = index == len(self.messages) - 1
        return own | {ProtectedReason.CURRENT_REQUEST} if is_current else own

    def check_unchanged(self, messages: Sequence[MessageT]) -> None:
        """Prove that `messages` are still this revision, as far as anyone has looked at it.

        Raises:
            HistoryProcessingError: a message was added, removed, replaced, or no longer says what was shown.
        """
        if len(messages) != len(self.messages) or any(map(is_not, messages, self.messages)):
            _raise_changed("messages were added, removed or replaced")
        now = Revision(messages, self._run)
        for shown in ("facts", "tokens", "digests"):
            if shown in vars(self):
                pairs = zip(getattr(now, shown), getattr(self, shown), strict=True)
                changed = [index for index, (new, old) in enumerate(pairs) if new != old and self._is_readable(index)]
                if changed:
                    _raise_changed(f"message {changed[0]} was changed in place")

    def _is_readable(self, index: int) -> bool:
        """Whether the message has a digest that holds; of one that has not, nobody can say that it changed."""
        return self.dialect.digest(self.messages[index]) == self.dialect.digest(self.messages[index])


def _raise_changed(how: str) -> NoReturn:
    msg = f"The history changed between the condition and the processor: {how}; the condition's answer is stale"
    raise HistoryProcessingError(msg)
