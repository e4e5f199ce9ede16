"""One request's history processing as questions and answers.

`process` is a generator: it yields a `Question` for each user function it needs and is sent the answer; it awaits
nothing and starts no thread, so there is one flow for every host. `drive.py` answers. The order is archive, condition,
detached copy, processor, rules, binding; the others see the history as the archive leaves it. Any exception means the
request must not be sent; a record that could not be stored raises none, and leaves the history as it was. Source:
History specification, Conditional Processing, Callback Contract, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, assert_never

from kedi_compile.errors import HistoryProcessingError, HistoryProcessingValidationError
from kedi_compile.history.archive import checkpoint_text, plan_archive, propose_archive
from kedi_compile.history.archiving import Archiving
from kedi_compile.history.binding import Binding, bound_entries, resolve_binding, unbind
from kedi_compile.history.context import HistoryProcessorState, RequestInfo, Retention, make_context
from kedi_compile.history.lifecycle import Lifecycle, RequestState
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.proposal import Added, Kept, Proposal, read_proposal
from kedi_compile.history.revision import Revision
from kedi_compile.history.rules import broken_rules
from kedi_compile.history.usage import UsageMeter
from kedi_compile.question import Question

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class Skipped:
    """The condition said no, or nobody was to be asked: the host's own messages go out."""


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
    rewrites: int = 1
    """How many generations it is: an archive and an edit in one request are two."""
    retentions: tuple[Retention, ...] = ()
    """What `keep_recent_groups` found, a call each."""


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
    archiving: Archiving | None = None,
    is_bare: bool = False,
) -> Flow[MessageT]:
    """Process one request; `reread` gives the host's messages as they are after the condition has answered.

    `archiving` must be there if the policy archives; what is stored is noted in it. `is_bare` says that what earlier
    requests held beside the history is not sent again, although the run is under way: it was resumed without it.

    Raises:
        HistoryProcessingError: a callback or a copy failed.
        HistoryProcessingValidationError: the edit breaks a rule.
    """
    lifecycle.move(RequestState.INSPECTED)
    staged = _unbound(policy, revision, info) if is_bare or info.request_index == 1 else None
    candidate = revision if staged is None else revision.edited(staged.messages)
    archived = (yield from _archive(policy, candidate, info, archiving)) if archiving is not None else None
    if archived is not None:
        staged = archived if staged is None else edited_again(staged, archived)
        candidate = revision.edited(staged.messages)
    is_to_edit = yield from _is_to_edit(policy, candidate, info, usage)
    if staged is None and not is_to_edit:
        lifecycle.move(RequestState.SKIPPED)
        return Skipped()
    if policy.condition is not None:
        revision.check_unchanged(reread())
        if staged is not None:
            candidate.check_unchanged(candidate.messages)
    lifecycle.move(RequestState.EDITING)
    outcome: Outcome[MessageT] = (yield from _edit(policy, candidate, info, usage)) if is_to_edit else Unchanged()
    if staged is not None:
        outcome = edited_again(staged, outcome)
    lifecycle.move(RequestState.STAGED if isinstance(outcome, Staged) else RequestState.UNCHANGED)
    return outcome


def _is_to_edit(
    policy: HistoryPolicy[MessageT], revision: Revision[MessageT], info: RequestInfo, usage: UsageMeter[Any]
) -> Generator[Question, object, bool]:
    """Ask the condition, if there is one, whether the processor is to run."""
    if policy.condition is None:
        return policy.processor is not None
    return _checked_answer((yield Question("condition", policy.condition, _state(revision, info, usage))))


def _unbound(
    policy: HistoryPolicy[MessageT], revision: Revision[MessageT], info: RequestInfo
) -> Staged[MessageT] | None:
    """Leave out reasoning that is bound to what earlier runs assembled around it, which a new run does not send.

    Raises:
        HistoryProcessingValidationError: it may not be left out.
    """
    binding = policy.binding_for(info.model_names)
    if not policy.assembles or binding is None:
        return None
    resolved = unbind(revision, binding)
    if resolved.violations:
        raise HistoryProcessingValidationError(resolved.violations)
    if not resolved.stripped:
        return None
    bare = dict(resolved.stripped)
    messages = tuple(bare.get(entry, message) for entry, message in enumerate(revision.messages))
    return Staged(messages, min(bare), tuple(range(len(messages))), tuple(bare), open_calls=_open_calls(revision))


def _open_calls(revision: Revision[Any]) -> frozenset[str]:
    return frozenset(call.call_id for call in revision.pairing.calls if call.answer is None)


def _archive(
    policy: HistoryPolicy[MessageT], revision: Revision[MessageT], info: RequestInfo, archiving: Archiving
) -> Generator[Question, object, Staged[MessageT] | None]:
    """Store what is to be archived, and return the history with its checkpoint; None leaves it as it was."""
    plan = plan_archive(revision, archiving.settings)
    binding = policy.binding_for(info.model_names)
    if plan is None or resolve_binding(propose_archive(revision, plan), binding).violations:
        return None
    plan, record = archiving.write(revision, plan)
    if plan is None:
        return None
    reference = archiving.new_reference()
    checkpoint = revision.dialect.checkpoint(checkpoint_text(revision, plan, reference), reference)
    if not archiving.is_worth_it(revision, plan, checkpoint):
        return None
    archiving.announce(reference)
    if not archiving.confirm((yield Question("archive", archiving.store, (reference, record)))):
        return None
    proposal = propose_archive(revision, plan, checkpoint)
    return _staged(proposal, resolve_binding(proposal, binding))


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
    return replace(_prove(proposal, policy, info), retentions=tuple(retentions))


def _prove(proposal: Proposal[MessageT], policy: HistoryPolicy[MessageT], info: RequestInfo) -> Staged[MessageT]:
    binding = resolve_binding(proposal, policy.binding_for(info.model_names))
    if violations := [*broken_rules(proposal), *binding.violations]:
        raise HistoryProcessingValidationError(violations)
    return _staged(proposal, binding)


def _staged(proposal: Proposal[MessageT], binding: Binding[MessageT]) -> Staged[MessageT]:
    bare = dict(binding.stripped)
    messages = tuple(_final(item, proposal.revision, bare) for item in proposal.items)
    entries = tuple(item.entry if isinstance(item, Kept) else None for item in proposal.items)
    bound = tuple(entry for entry in bound_entries(proposal) if entry not in bare)
    open_calls = _open_calls(proposal.revision)
    return Staged(messages, proposal.first_change, entries, tuple(bare), bound, open_calls)


def edited_again(first: Staged[MessageT], second: Outcome[MessageT]) -> Staged[MessageT]:
    """Return two rewrites as one edit of the history before both; `second` is of the messages `first` left."""
    if isinstance(second, Skipped):
        return first
    if isinstance(second, Unchanged):
        return replace(first, retentions=second.retentions)
    entries = tuple(None if place is None else first.entries[place] for place in second.entries)
    stripped = {*first.stripped, *_before(first, second.stripped)}
    bound = ({*first.bound, *_before(first, second.bound)} - stripped).intersection(entries)
    return Staged(
        second.messages,
        min(first.first_change, second.first_change),
        entries,
        tuple(sorted(stripped)),
        tuple(sorted(bound)),
        first.open_calls,
        first.rewrites + second.rewrites,
        second.retentions,
    )


def _before(first: Staged[Any], places: Iterable[int]) -> list[int]:
    """The old entries at positions of an edited history."""
    return [entry for entry in (first.entries[place] for place in places) if entry is not None]


def _final(item: Kept[MessageT] | Added[MessageT], revision: Revision[MessageT], bare: dict[int, MessageT]) -> MessageT:
    match item:
        case Kept():
            return bare.get(item.entry, revision.messages[item.entry])
        case Added():
            return revision.dialect.clone(item.message)
        case _:
            assert_never(item)
