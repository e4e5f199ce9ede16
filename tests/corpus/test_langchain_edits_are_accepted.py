"""Permitted edits of recorded LangChain histories, as the provider's chat model sends them, keep the wire rules.

Every recording is trimmed to each length and each eligible group is replaced, alone and with all other recordings of
its API before it. The judge is the API's validator on the bytes that left the chat model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage

from chats import Context, adapter, keep, noting
from issued import issued_thinking
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorCallback
from recorded import FOLDER, WITHOUT
from replayed_langchain import Stage, parsed, stages

Processor = HistoryProcessorCallback[BaseMessage]

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason=WITHOUT),
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # the traffic names old models
    pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning"),
]

ODD = {
    # The history that the provider refused: an answer was changed by hand behind its reasoning.
    "openai_responses_modified_history_400.rejected": ["reasoning_is_followed_by_its_item"],
}
"""Histories whose unedited request is refused too, by these rules."""


def _joined() -> list[Stage]:
    """One long history for each API: all its recordings, one after another, the last one's request at the end.

    Their system texts are left out: in the middle of a history the chat models move them, with a warning.
    """
    out = []
    for api in dict.fromkeys(stage.api.name for stage in stages()):
        mine = [stage for stage in stages() if stage.api.name == api and _joins(stage)]
        if len(mine) > 1:
            history = [message for stage in mine[:-1] for message in stage.history[:-1]] + list(mine[-1].history)
            settings = {key: value for stage in mine for key, value in stage.settings.items()}
            spoken = tuple(message for message in history if not isinstance(message, SystemMessage))
            out.append(replace(mine[-1], name=f"all of {api}", history=spoken, settings=settings))
    return out


def _joins(stage: Stage) -> bool:
    """Whether a history is whole, closed, kept by the server or by nobody, and there only once."""
    types = {block.get("type") for message in stage.history for block in _blocks(message)}
    return (
        "." not in stage.name and stage.name not in ODD and "compaction" not in types and "store" not in stage.settings
    )


def _blocks(message: BaseMessage) -> list[Any]:
    content = message.content if isinstance(message.content, list) else []
    return [block for block in content if isinstance(block, dict)]


def _params(chosen: Iterable[Stage]) -> list[object]:
    return [pytest.param(stage, id=stage.name) for stage in chosen] or [pytest.param(None, id="none")]


ALL = (*stages(), *_joined())
EVERY_STAGE = pytest.mark.parametrize("stage", _params(ALL))
PROTECTIONS = pytest.mark.parametrize("protection", ["always", "open_cycle"])


def _groups(stage: Stage, protection: str) -> list[tuple[bool, frozenset[str]]]:
    """Return which groups may be dropped or replaced, and what protects each."""
    seen: list[Any] = []
    stage.sent(adapter(noting(seen, _facts_of_groups), reasoning_protection=protection))
    return list(seen[0])


def _facts_of_groups(ctx: Context) -> Any:
    return [(group.eligible, group.protected_reasons) for group in ctx.groups]


def _eligible(stage: Stage, protection: str) -> list[int]:
    return [index for index, (eligible, _) in enumerate(_groups(stage, protection)) if eligible]


def _refused(stage: Stage, processor: Processor, protection: str) -> list[str]:
    """Return the rules by which the server of the unedited conversation would refuse the edited request."""
    (body,) = stage.sent(adapter(processor, reasoning_protection=protection))
    return [refusal.rule for refusal in stage.refusals(body)]


@EVERY_STAGE
def test_the_unedited_request_is_accepted(stage: Stage) -> None:
    """What the provider took when it was recorded passes its validator, so a refusal speaks of an edit."""
    (body,) = stage.sent()

    assert [refusal.rule for refusal in stage.refusals(body)] == ODD.get(stage.name, [])


@pytest.mark.parametrize(
    "name", ["anthropic_parallel_tools", "openai_chat_parallel_tools", "openai_responses_parallel_calls"]
)
def test_an_edit_by_hand_that_splits_an_exchange_is_refused(name: str) -> None:
    """The judge sees what the rules are there to prevent: calls whose last result was left out."""
    (stage,) = (stage for stage in stages() if stage.name == name)
    results = [message for message in stage.history if isinstance(message, ToolMessage)]
    split = replace(stage, history=tuple(message for message in stage.history if message is not results[-1]))

    (body,) = split.sent()

    assert [refusal.rule for refusal in stage.refusals(body)] in (
        ["calls_are_answered_directly_after"],
        ["calls_are_answered"],
    )


@PROTECTIONS
@EVERY_STAGE
def test_every_number_of_recent_groups_is_accepted(stage: Stage, protection: str) -> None:
    """The last n eligible groups and all that must stay make a request the provider takes, for every n."""
    for n in range(len(_eligible(stage, protection)) + 1):
        assert set(_refused(stage, keep(n), protection)) <= set(ODD.get(stage.name, [])), n


@PROTECTIONS
@EVERY_STAGE
def test_every_eligible_group_may_be_replaced(stage: Stage, protection: str) -> None:
    """A summary that stands alone, or one user text, may take the place of any eligible group."""
    for index in _eligible(stage, protection):
        for texts in (_summary, _lone_text):
            refused = _refused(stage, _replacing(index, texts), protection)
            assert set(refused) <= set(ODD.get(stage.name, [])), (index, texts)


@PROTECTIONS
@EVERY_STAGE
def test_all_eligible_groups_may_become_one_summary(stage: Stage, protection: str) -> None:
    """One summary may take the place of everything that may go."""
    if _eligible(stage, protection):
        assert _refused(stage, _summarized, protection) == []


@EVERY_STAGE
def test_the_common_form_of_an_answer_protects_the_same(stage: Stage) -> None:
    """Written as `output_version="v1"`, the same records have the same reasons to stay."""
    assert _groups(stage.in_common_form(), "always") == _groups(stage, "always")


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


def test_a_chain_of_responses_starts_anew_after_an_edit() -> None:
    """An automatic chain names the newest response as long as nothing was edited, and none right after an edit."""
    (found,) = (stage for stage in stages() if stage.name == "openai_responses_previous_response_id")
    chained = replace(found, settings={"use_previous_response_id": True})

    (alone,), (untouched,), (edited,) = (
        chained.sent(),
        chained.sent(adapter(keep(1_000))),
        chained.sent(adapter(keep(1))),
    )

    assert str(parsed(alone)["previous_response_id"]).startswith("resp_")
    assert untouched == alone
    assert "previous_response_id" not in parsed(edited)
    assert len(parsed(edited)["input"]) == 7  # type: ignore[arg-type]  # a list, by the format


def _replacing(index: int, texts: Processor) -> Processor:
    return lambda ctx: ctx.replace_groups(ctx.groups[index], *texts(ctx))  # type: ignore[misc]  # both are sync


def _summary(ctx: Context) -> Sequence[BaseMessage]:
    return ctx.summary_messages("Something was said here.")


def _lone_text(ctx: Context) -> Sequence[BaseMessage]:
    return [ctx.text_message("Something was said here.")]


def _summarized(ctx: Context) -> Sequence[BaseMessage]:
    groups = [group for group in ctx.groups if group.eligible]
    return ctx.replace_groups(groups, *ctx.summary_messages("Everything before."))
