"""What a condition and a processor are given: frozen facts, detached messages, and ways to build an edit.

Nothing here decides whether an edit is legal; the rules in `rules.py` judge the returned list however it was made.
Source: History specification, Conditional Processing, Recent Groups and Origins, Callback Contract.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kedi_compile.dialect import HistoryEntry, ProtectedReason, TextRole
from kedi_compile.history.detached import DetachedMessages
from kedi_compile.history.groups import HistoryGroup
from kedi_compile.history.revision import Revision
from kedi_compile.history.usage import UsageMeter

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Which model request of which run is about to be made; `request_index` is 1-based."""

    model_id: str
    request_index: int
    cache_epoch: int = 0
    run_id: str | None = None
    source_location: str | None = None
    """The caller's label for this run, for the origins of what it makes."""
    model_names: tuple[str, ...] = ()
    """The names of all models that may serve the request."""
    conversation_id: str | None = None
    """What the host calls the conversation or thread, if it does."""
    context: object = None
    """What the caller handed to the host's run: `deps` on Pydantic AI, the runtime's context on LangChain."""


@dataclass(frozen=True)
class HistoryProcessorState:
    """What a condition may look at: facts about the candidate history, no messages.

    `model_id` is `provider:name`; `request_index` is 1-based within the run; `cache_epoch` is the number of rewrites
    before this request. The other facts are computed when first read. Source: History specification, Conditional
    Processing.
    """

    adapter_shortname: str
    model_id: str
    request_index: int
    cache_epoch: int
    _revision: Revision[Any] = field(repr=False, compare=False)
    _usage: UsageMeter[Any] = field(repr=False, compare=False)

    @property
    def estimated_tokens(self) -> int:
        """Tokens of the candidate history from above, without instructions and tool schemas."""
        return self._revision.estimated_tokens

    @property
    def measured_tokens(self) -> int | None:
        """Provider-reported tokens of the last response plus tool results since.

        None if the history changed since, if the provider reported none, or if no callback of the run asked before.
        """
        return self._usage.measure(self._revision)

    @property
    def history_version(self) -> str:
        """An opaque string: equal for equal histories, within one process."""
        return self._revision.version


@dataclass(frozen=True, slots=True)
class Retention:
    """What one `keep_recent_groups` call did, in numbers of groups."""

    eligible: int
    limit: int
    """Above how many eligible groups any are dropped."""
    held: tuple[HistoryGroup, ...]
    """Groups before the current request that had to stay: closed and protected, or never finished."""

    @property
    def is_stuck(self) -> bool:
        """Whether groups would have been dropped, were not all of them protected."""
        return not self.eligible and len(self.held) > self.limit


def _is_held(group: HistoryGroup) -> bool:
    """A group whose calls still wait is no surprise; one that ended without an answer is."""
    is_over = group.closed or ProtectedReason.UNFINISHED in group.protected_reasons
    return is_over and group.protected and ProtectedReason.CURRENT_REQUEST not in group.protected_reasons


@dataclass(frozen=True)
class HistoryProcessorContext(Generic[MessageT]):
    """What a processor is given: detached native messages and the groups it may edit.

    `messages` are copies made when first touched; changing one is an alteration of its entry and never reaches the
    caller's objects. `groups` and `entries` index into `messages`. Source: History specification, Callback Contract.
    """

    messages: Sequence[MessageT]
    adapter_shortname: str
    model_id: str
    request_index: int
    cache_epoch: int
    _revision: Revision[MessageT] = field(repr=False, compare=False)
    _usage: UsageMeter[Any] = field(repr=False, compare=False)
    _retentions: list[Retention] = field(default_factory=list, repr=False, compare=False)

    @property
    def groups(self) -> tuple[HistoryGroup, ...]:
        """The atomic groups, which partition `messages` in order; the last one is the current request."""
        return self._revision.groups

    @property
    def entries(self) -> tuple[HistoryEntry, ...]:
        """Facts about each message, in order."""
        return self._revision.entries

    @property
    def estimated_tokens(self) -> int:
        """Tokens of the candidate history from above, without instructions and tool schemas."""
        return self._revision.estimated_tokens

    @property
    def measured_tokens(self) -> int | None:
        """Provider-reported tokens of the last response plus tool results since.

        None if the history changed since, if the provider reported none, or if no callback of the run asked before.
        """
        return self._usage.measure(self._revision)

    def keep_recent_groups(self, n: int, over: int | None = None) -> list[MessageT]:
        """Return the history with only the last `n` eligible groups and everything that must stay, in order.

        Eligible are closed, unprotected groups; protected, unfinished and current ones stay and do not count. With
        `over`, nothing is dropped until more than `over` eligible groups exist, which keeps a cached prefix alive
        between trims. The context is left alone; no token budget is promised.

        Raises:
            TypeError: `n` or `over` is not an int, or is a bool.
            ValueError: `n` is negative, or `over` is smaller than `n`.

        Source: History specification, Recent Groups and Origins.
        """
        _check_limits(n, over)
        eligible = [group for group in self.groups if group.eligible]
        limit = n if over is None else over
        dropped = eligible[: len(eligible) - n] if len(eligible) > limit else []
        held = tuple(filter(_is_held, self.groups))
        self._retentions.append(Retention(len(eligible), limit, held))
        gone = {group.entry_start for group in dropped}
        return self._messages_of(group for group in self.groups if group.entry_start not in gone)

    def replace_groups(self, groups: HistoryGroup | Iterable[HistoryGroup], *messages: MessageT) -> list[MessageT]:
        """Return the history with `messages` in the place of the first of `groups`, and the others left out.

        Without `messages` the groups are dropped. The context is left alone.

        Raises:
            ValueError: a group is not one of `ctx.groups`, or none was given.
        """
        given = [groups] if isinstance(groups, HistoryGroup) else list(groups)
        if not given:
            msg = "`replace_groups` was given no group; name at least one of `ctx.groups`"
            raise ValueError(msg)
        own = {group.entry_start: group for group in self.groups}
        for group in given:
            _check_own(group, own)
        chosen = {group.entry_start for group in given}
        first = min(chosen)
        out: list[MessageT] = []
        for start, group in own.items():
            if start not in chosen:
                out += self.messages[start : group.entry_end]
            elif start == first:
                out += messages
        return out

    def text_message(self, text: str, role: TextRole = "user") -> MessageT:
        """Build one new native message of the user or the assistant that holds only `text`.

        Raises:
            ValueError: `role` is neither `"user"` nor `"assistant"`.
        """
        if role not in ("user", "assistant"):
            msg = f"`role` is {role!r}; a text message is by the 'user' or the 'assistant'"
            raise ValueError(msg)
        return self._revision.dialect.text_message(text, role)

    def summary_messages(self, text: str, acknowledgement: str = "Noted.") -> list[MessageT]:
        """Build a summary that stands alone on every provider: a user message and a short assistant answer."""
        return [self.text_message(text), self.text_message(acknowledgement, "assistant")]

    def _messages_of(self, groups: Iterable[HistoryGroup]) -> list[MessageT]:
        return [message for group in groups for message in self.messages[group.entry_start : group.entry_end]]


def _check_own(group: HistoryGroup, own: Mapping[int, HistoryGroup]) -> None:
    if own.get(getattr(group, "entry_start", -1)) != group:
        name = getattr(group, "group_id", group)
        msg = f"{name!r} is no group of this context; take groups from `ctx.groups` of the same request"
        raise ValueError(msg)


def _check_limits(n: int, over: int | None) -> None:
    for name, value in (("n", n), *([] if over is None else [("over", over)])):
        if type(value) is not int:
            msg = f"`{name}` is {value!r}; it must be an int"
            raise TypeError(msg)
    if n < 0:
        msg = f"`n` is {n}; it must not be negative"
        raise ValueError(msg)
    if over is not None and over < n:
        msg = f"`over` is {over}, less than n={n}; trimming starts above `over` and goes down to `n`"
        raise ValueError(msg)


HistoryProcessorCallback = Callable[
    [HistoryProcessorContext[MessageT]], "Sequence[MessageT] | Awaitable[Sequence[MessageT]]"
]
"""A history processor: context -> the edited history, sync or async."""

HistoryProcessorCondition = Callable[[HistoryProcessorState], "bool | Awaitable[bool]"]
"""A condition: state -> exactly True or False, sync or async."""


def make_context(
    revision: Revision[MessageT], info: RequestInfo, usage: UsageMeter[Any], retentions: list[Retention]
) -> HistoryProcessorContext[MessageT]:
    """Build the context of one request over a revision; what it keeps is noted in `retentions`."""
    return HistoryProcessorContext(
        messages=DetachedMessages(revision.messages, revision.dialect),
        adapter_shortname=revision.dialect.adapter_shortname,
        model_id=info.model_id,
        request_index=info.request_index,
        cache_epoch=info.cache_epoch,
        _revision=revision,
        _usage=usage,
        _retentions=retentions,
    )
