"""Permitted edits of recorded histories, as a real run sends them, are accepted by their provider's wire rules.

Every recording is trimmed to each length and each eligible group is replaced, alone and with all other recordings of
its API before it. The judge is the API's validator on the bytes that left the model class.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from pydantic_ai.messages import ModelMessage

from agents import Context, adapter, keep, noting, untouched
from issued import issued_thinking, remembered
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorCallback
from recorded import FOLDER, WITHOUT
from replayed import Stage, parsed, stages

Processor = HistoryProcessorCallback[ModelMessage]

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason=WITHOUT),
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # the traffic names old models
    pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning"),
]

ODD = {
    # The provider's next item, an approval request, has no counterpart in Pydantic AI, so its reasoning stands alone.
    "openai_responses_mcp_zdr_sse": ["reasoning_is_followed_by_its_item"],
}
"""Histories whose unedited request is refused too, by these rules."""


def _joined() -> list[Stage]:
    """One long history for each API: all its recordings, one after another, the last one's request at the end."""
    out = []
    for api in dict.fromkeys(stage.api.name for stage in stages()):
        mine = [stage for stage in stages() if stage.api.name == api and _joins(stage)]
        history = [message for stage in mine[:-1] for message in stage.history[:-1]] + list(mine[-1].history)
        settings = {key: value for stage in mine for key, value in stage.settings.items()}
        out.append(replace(mine[-1], name=f"all of {api}", history=tuple(history), settings=settings))
    return out


def _joins(stage: Stage) -> bool:
    """Whether a history is whole, closed, and there only once."""
    parts = {part.part_kind for message in stage.history for part in message.parts}
    return "." not in stage.name and stage.name not in ODD and "compaction" not in parts


def _params(chosen: Iterable[Stage]) -> list[object]:
    return [pytest.param(stage, id=stage.name) for stage in chosen] or [pytest.param(None, id="none")]


ALL = (*stages(), *_joined())
STAGES = _params(ALL)
PROTECTIONS = pytest.mark.parametrize("protection", ["always", "open_cycle"])


def _eligible(stage: Stage, protection: str) -> list[int]:
    """Return the indices of the groups that may be dropped or replaced."""
    seen: list[list[int]] = []
    stage.sent(adapter(noting(seen, _eligible_groups), reasoning_protection=protection))
    return seen[0]


def _eligible_groups(ctx: Context) -> list[int]:
    return [index for index, group in enumerate(ctx.groups) if group.eligible]


def _refused(stage: Stage, processor: Processor, protection: str) -> list[str]:
    """Return the rules by which the server of the unedited conversation would refuse the request of an edited run."""
    (unedited,) = stage.sent()
    (body,) = stage.sent(adapter(processor, reasoning_protection=protection))
    return [refusal.rule for refusal in stage.refusals(body, **remembered(stage.api.name, parsed(unedited)))]


@pytest.mark.parametrize("stage", STAGES)
def test_the_unedited_request_is_accepted(stage: Stage) -> None:
    """What the provider took when it was recorded passes its validator, so a refusal speaks of an edit."""
    assert _refused(stage, untouched, "always") == ODD.get(stage.name, [])


@PROTECTIONS
@pytest.mark.parametrize("stage", STAGES)
def test_every_number_of_recent_groups_is_accepted(stage: Stage, protection: str) -> None:
    """The last n eligible groups and all that must stay make a request the provider takes, for every n."""
    for n in range(len(_eligible(stage, protection)) + 1):
        assert _refused(stage, keep(n), protection) == ODD.get(stage.name, []), n


@PROTECTIONS
@pytest.mark.parametrize("stage", STAGES)
def test_every_eligible_group_may_be_replaced(stage: Stage, protection: str) -> None:
    """A summary that stands alone, or one user text, may take the place of any eligible group."""
    for index in _eligible(stage, protection):
        assert _refused(stage, _replacing(index, _summary), protection) == ODD.get(stage.name, []), index
        assert _refused(stage, _replacing(index, _lone_text), protection) == ODD.get(stage.name, []), index


@PROTECTIONS
@pytest.mark.parametrize("stage", STAGES)
def test_all_eligible_groups_may_become_one_summary(stage: Stage, protection: str) -> None:
    """One summary may take the place of everything that may go."""
    if _eligible(stage, protection):
        assert _refused(stage, _summarized, protection) == ODD.get(stage.name, [])


@pytest.mark.parametrize("policy", ["refuse", "strip"])
@pytest.mark.parametrize("stage", _params(stage for stage in ALL if stage.api.name == "anthropic"))
def test_what_the_bound_policy_lets_through_fits_its_prefix(stage: Stage, policy: str) -> None:
    """A server that binds thinking to its prefix accepts every trimmed request that the policy did not refuse."""
    (unedited,) = stage.sent()
    ledger = issued_thinking(parsed(unedited))
    for n in range(len(_eligible(stage, "open_cycle")) + 1):
        try:
            (body,) = stage.sent(adapter(keep(n), reasoning_protection="open_cycle", bound_reasoning=policy))
        except HistoryProcessingValidationError as error:
            assert {violation.rule for violation in error.violations} == {"bound_reasoning"}  # noqa: PT017  # or sent
            continue
        assert stage.refusals(body, ledger=ledger, bound=True) == (), n


def _replacing(index: int, text: Processor) -> Processor:
    return lambda ctx: ctx.replace_groups(ctx.groups[index], *text(ctx))  # type: ignore[misc]  # both are sync


def _summary(ctx: Context) -> Sequence[ModelMessage]:
    return ctx.summary_messages("Something was said here.")


def _lone_text(ctx: Context) -> Sequence[ModelMessage]:
    return [ctx.text_message("Something was said here.")]


def _summarized(ctx: Context) -> Sequence[ModelMessage]:
    groups = [group for group in ctx.groups if group.eligible]
    return ctx.replace_groups(groups, *ctx.summary_messages("Everything before."))
