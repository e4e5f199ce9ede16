"""Every exception and warning of the package, and the facts they carry.

    KediError
    ├── HistoryConfigurationError (also ValueError)   an adapter or scope that can never work as configured
    ├── HistoryProcessingError                        a callback, predicate or copy failed; nothing was sent
    │   └── HistoryProcessingValidationError          an edit broke a rule; nothing was sent
    ├── ConversationError (also RuntimeError)         a stored or running conversation cannot be used as asked
    │   └── ConversationConflict                      another writer committed first; read again and retry
    ├── AssemblyError (also ValueError)               a request cannot be assembled; nothing was sent
    │   ├── UnknownInputError (also TypeError)        an input of a kind the request compiler does not know
    │   ├── BudgetExceeded                            it does not fit the model, with the table of sizes
    │   └── InvariantViolation                        the assembled request breaks an invariant
    ├── DumpError                                     a request's dump cannot be written or read
    ├── TurnCompileError (also ValueError)            records and request make no turn; nothing was compiled
    │   └── UnknownRecordError (also TypeError)       a record of a kind the compiler does not know
    └── TurnStreamError (also RuntimeError)           a provider ended a turn's stream with an error

    HistoryProcessingWarning (UserWarning)
    ├── HistoryLaneWarning                            a conversation goes on without the turns of another lane
    ├── HistoryPrefixWarning                          a processor may change earlier history
    └── HistoryProtectedWarning                       a processor could free nothing

Each message says what is wrong, where, and what would be right; the same facts are attributes. This file imports
nothing of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule of an edit.

    `groups` and `entries` are 0-based indices into `ctx.groups` and `ctx.messages`; for a message the callback
    added, `entries` is empty and `detail` names its position in the returned list. `tool_call_id` is set where one
    call or result is to blame. Source: History specification, Editing Boundaries.
    """

    rule: str
    detail: str
    groups: tuple[int, ...] = ()
    entries: tuple[int, ...] = ()
    tool_call_id: str | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


class KediError(Exception):
    """The base of every error this package raises on purpose."""


class HistoryConfigurationError(KediError, ValueError):
    """An adapter was configured in a way that can never work; raised before any model I/O."""


class HistoryProcessingError(KediError):
    """A history callback, its condition, or a copy of the history failed, so nothing was sent.

    `__cause__` is the original exception where there is one.
    """


class HistoryProcessingValidationError(HistoryProcessingError):
    """An edited history broke at least one rule, so nothing was sent.

    `violations` lists every broken rule in the order the rules are checked; `rule` is the first one's name. The text
    shows the first few of each rule.
    """

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        assert self.violations  # an edit without violations is no error
        by_rule: dict[str, list[Violation]] = {}
        for violation in self.violations:
            by_rule.setdefault(violation.rule, []).append(violation)
        head = f"The edited history breaks {len(by_rule)} rule{'s' if len(by_rule) != 1 else ''}; nothing was sent"
        super().__init__("\n".join([head, *(line for broken in by_rule.values() for line in _lines(broken))]))

    @property
    def rule(self) -> str:
        """The name of the first broken rule."""
        return self.violations[0].rule

    def __reduce__(self) -> tuple[type[HistoryProcessingValidationError], tuple[tuple[Violation, ...]]]:
        # The default would hand the finished message to `__init__`, so an error could not cross a process.
        return type(self), (self.violations,)


class ConversationError(KediError, RuntimeError):
    """A conversation cannot be used as asked: it is damaged, closed, or would wait for itself; nothing was committed.

    `session_id` names the conversation where it is known.
    """

    def __init__(self, message: str, *, session_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),), self.__dict__


class ConversationConflict(ConversationError):
    """Another writer committed to the conversation first, so nothing of this turn was; read again and retry.

    `expected` is the revision the turn began from (0: no conversation), `found` the one in the store (None: gone).
    """

    def __init__(self, session_id: str, *, expected: int, found: int | None) -> None:
        there = "it is gone" if found is None else f"it is at revision {found}"
        super().__init__(
            f"Conversation {session_id!r} was at revision {expected} when this turn began, and now {there}; nothing "
            "was committed. Run the turn again: it begins from what is stored now",
            session_id=session_id,
        )
        self.expected = expected
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        return _conflict, (self.session_id, self.expected, self.found)


def _conflict(session_id: str, expected: int, found: int | None) -> ConversationConflict:
    return ConversationConflict(session_id, expected=expected, found=found)


class DumpError(KediError):
    """A request's dump could not be written, or a file of dumps holds a line that is none.

    `path` names the file and `line` the 1-based line in it, where one is to blame.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[type[DumpError], tuple[str], dict[str, object]]:
        return type(self), (str(self),), self.__dict__


class AssemblyError(KediError, ValueError):
    """A request cannot be assembled as asked, so nothing was sent."""


class UnknownInputError(AssemblyError, TypeError):
    """The request compiler was given an input of a kind it does not know."""


class BudgetExceeded(AssemblyError):
    """A request does not fit the model after everything that may be reduced was, so nothing was sent.

    All numbers are tokens: `limit` of the model, `reserved_output` of that for the answer, and `sizes` of what is
    left in the request, by kind.
    """

    def __init__(self, limit: int, reserved_output: int, sizes: Mapping[str, int]) -> None:
        self.limit = limit
        self.reserved_output = reserved_output
        self.sizes = dict(sizes)
        total = sum(self.sizes.values())
        room = limit - reserved_output
        width = max(map(len, self.sizes), default=0)
        table = "".join(f"\n  {name:<{width}}  {size:>10,}" for name, size in self.sizes.items() if size)
        super().__init__(
            f"The request takes {total:,} tokens, and {room:,} are there ({limit:,} less {reserved_output:,} for the "
            f"answer), after all that may be reduced was; nothing was sent. Shorten the history or the inputs:{table}"
        )

    def __reduce__(self) -> tuple[type[BudgetExceeded], tuple[int, int, dict[str, int]]]:
        return type(self), (self.limit, self.reserved_output, self.sizes)


@dataclass(frozen=True, slots=True)
class BrokenInvariant:
    """One invariant that an assembled request breaks.

    `items` are the ids of the records to blame, and `hint` says what to do with them.
    """

    invariant: str
    detail: str
    hint: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail}; {self.hint}"


class InvariantViolation(AssemblyError):
    """An assembled request breaks at least one invariant, so nothing was sent.

    `broken` lists every one, in the order they are checked; `invariant` is the first one's name.
    """

    def __init__(self, broken: Iterable[BrokenInvariant]) -> None:
        self.broken = tuple(broken)
        assert self.broken  # a request that breaks nothing is no error
        count = len({one.invariant for one in self.broken})
        head = f"The assembled request breaks {count} invariant{'s' if count != 1 else ''}; nothing was sent"
        super().__init__("\n".join([head, *(f"  {one}" for one in self.broken)]))

    @property
    def invariant(self) -> str:
        """The name of the first broken invariant."""
        return self.broken[0].invariant

    def __reduce__(self) -> tuple[type[InvariantViolation], tuple[tuple[BrokenInvariant, ...]]]:
        return type(self), (self.broken,)


class TurnCompileError(KediError, ValueError):
    """Records and a turn request do not make one exact request, so nothing was compiled.

    `record_ids` holds every record to blame, in the order of the progression; `path` is the way to the value to blame,
    from the field of the request or of the content that it stands in: `prompt_context[2].output.when`.
    """

    def __init__(self, message: str, *, record_ids: Iterable[UUID] = (), path: str | None = None) -> None:
        super().__init__(message)
        self.record_ids = tuple(record_ids)
        self.path = path

    def __reduce__(self) -> tuple[type[TurnCompileError], tuple[str], dict[str, object]]:
        return type(self), (str(self),), self.__dict__


class TurnStreamError(KediError, RuntimeError):
    """A provider ended the stream of a turn with an error, so the turn was not recorded; `detail` is its text."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The provider ended the stream with an error: {detail}")
        self.detail = detail

    def __reduce__(self) -> tuple[type[TurnStreamError], tuple[str]]:
        return type(self), (self.detail,)


class UnknownRecordError(TurnCompileError, TypeError):
    """A record takes part in the conversation and is of a kind the compiler does not know."""


def _lines(broken: list[Violation]) -> list[str]:
    lines = [f"  {violation}" for violation in broken[:SHOWN]]
    return [*lines, f"  {broken[0].rule}: and {len(broken) - SHOWN} more"] if len(broken) > SHOWN else lines


def error_text(error: BaseException) -> str:
    """Name an error by its type and its words; by its type alone where it cannot say them."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # it is somebody else's, and must not end what only tells of it
        return type(error).__name__


def entries_text(entries: Sequence[int]) -> str:
    """Name entries in a message, the first few of many; the attributes of a violation hold all."""
    listed = ", ".join(map(str, entries[:SHOWN])) + (", …" if len(entries) > SHOWN else "")
    return f"entr{'y' if len(entries) == 1 else 'ies'} {listed}"


SHOWN = 5
"""How many of many a message lists."""


class HistoryProcessingWarning(UserWarning):
    """The base of the warnings about history processing."""


class HistoryLaneWarning(HistoryProcessingWarning):
    """A conversation goes on in a fresh lane, so the model sees none of the turns of the others."""


class HistoryPrefixWarning(HistoryProcessingWarning):
    """A configured processor may change earlier history and so reduce prefix-cache reuse."""


class HistoryProtectedWarning(HistoryProcessingWarning):
    """A processor asked to keep less but could free nothing, because all it might drop is protected."""
