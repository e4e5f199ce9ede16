"""One request's history processing as questions and answers.

`process` is a generator: it yields a `Question` for each user function it needs and is sent the answer; it awaits
nothing and starts no thread, so there is one flow for every host. `drive.py` answers. The order is condition, detached
copy, processor, rules, binding; any exception means the request must not be sent. Source: History specification,
Conditional Processing, Callback Contract, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, assert_never

from kedi_compile.errors import HistoryProcessingError, HistoryProcessingValidationError
from kedi_compile.history.binding import bound_entries, resolve_binding
from kedi_compile.history.context import HistoryProcessorState, RequestInfo, Retention, make_context
from kedi_compile.history.lifecycle import Lifecycle, RequestState
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.proposal import Added, Kept, Proposal, read_proposal
from kedi_compile.history.revision import Revision
from kedi_compile.history.rules import broken_rules
from kedi_compile.history.usage import UsageMeter

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the driver: call `function` with `argument` and send back what it returns."""

    callback: Literal["condition", "processor", "prompt"]
    function: Callable[[Any], Any]
    argument: object


@dataclass(frozen=True, slots=True)
class Skipped:
    """The condition said no: the host's own messages go out."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The processor changed nothing: the host's own messages go out."""

    retentions: tuple[Retention, ...] = ()


@dataclass(frozen=True, slots=True)
class Staged(Generic[MessageT]):
    """A proved edit: kept messages are the host's own objects, new ones are copies nobody else holds.

    `first_change` is the first 0-based position that differs from the old history. `entries` gives for each message
    the index it had, or None for a new one; `stripped` lists old indices that lost their reasoning.
    """

    messages: tuple[MessageT, ...]
    first_change: int
    entries: tuple[int | None, ...]
    stripped: tuple[int, ...] = ()
    bound: tuple[int, ...] = ()
    """Old indices of kept entries behind the change whose reasoning some models would refuse."""
    open_calls: frozenset[str] = frozenset()
    """Ids of tool calls that had no result before the edit either."""


Outcome = Skipped | Unchanged | Staged[MessageT]
Flow = Generator[Question, object, Outcome[MessageT]]


def process(
    policy: HistoryPolicy[MessageT],
    revision: Revision[MessageT],
    info: RequestInfo,
    *,
    usage: UsageMeter[Any],
    lifecycle: Lifecycle,
    reread: Callable[[], Sequence[MessageT]],
) -> Flow[MessageT]:
    """Process one request; `reread` gives the host's messages as they are after the condition has answered.

    Raises:
        HistoryProcessingError: a callback or a copy failed.
        HistoryProcessingValidationError: the edit breaks a rule.
    """
    lifecycle.move(RequestState.INSPECTED)
    if policy.condition is not None:
        wanted = yield Question("condition", policy.condition, _state(revision, info, usage))
        if not _checked_answer(wanted):
            lifecycle.move(RequestState.SKIPPED)
            return Skipped()
        revision.check_unchanged(reread())
    lifecycle.move(RequestState.EDITING)
    outcome = yield from _edit(policy, revision, info, usage)
    lifecycle.move(RequestState.STAGED if isinstance(outcome, Staged) else RequestState.UNCHANGED)
    return outcome


def _state(revision: Revision[Any], info: RequestInfo, usage: UsageMeter[Any]) -> HistoryProcessorState:
    name = revision.dialect.adapter_shortname
    return HistoryProcessorState(name, info.model_id, info.request_index, info.cache_epoch, revision, usage)


def _checked_answer(value: object) -> bool:
    if type(value) is not bool:
        msg = f"`history_processor_condition` returned {value!r}; it must return exactly True or False"
        raise HistoryProcessingError(msg)
    return value


def _edit(
    policy: HistoryPolicy[MessageT], revision: Revision[MessageT], info: RequestInfo, usage: UsageMeter[Any]
) -> Flow[MessageT]:
    assert policy.processor is not None  # a policy without a processor is never driven
    retentions: list[Retention] = []
    context = make_context(revision, info, usage, retentions)
    returned = yield Question("processor", policy.processor, context)
    proposal = read_proposal(returned, context.messages, revision)  # type: ignore[arg-type]  # made two lines above
    if proposal.is_noop:
        return Unchanged(tuple(retentions))
    return _prove(proposal, policy, info)


def _prove(proposal: Proposal[MessageT], policy: HistoryPolicy[MessageT], info: RequestInfo) -> Staged[MessageT]:
    binding = resolve_binding(proposal, policy.binding_for(info.model_names))
    if violations := [*broken_rules(proposal), *binding.violations]:
        raise HistoryProcessingValidationError(violations)
    bare = dict(binding.stripped)
    messages = tuple(_final(item, proposal.revision, bare) for item in proposal.items)
    entries = tuple(item.entry if isinstance(item, Kept) else None for item in proposal.items)
    bound = tuple(entry for entry in bound_entries(proposal) if entry not in bare)
    open_calls = frozenset(call.call_id for call in proposal.revision.pairing.calls if call.answer is None)
    return Staged(messages, proposal.first_change, entries, tuple(bare), bound, open_calls)


def _final(item: Kept[MessageT] | Added[MessageT], revision: Revision[MessageT], bare: dict[int, MessageT]) -> MessageT:
    match item:
        case Kept():
            return bare.get(item.entry, revision.messages[item.entry])
        case Added():
            return revision.dialect.clone(item.message)
        case _:
            assert_never(item)
