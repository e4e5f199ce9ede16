"""Generations over the turns of a lane: one per rewrite, kept with the turn; old state of a server stays off."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agents import ENTRY_POINTS, Context, Script, adapter, calls, keep, lines
from kedi_compile.conversation import ConversationCheckpoint, ConversationState, history_scope
from kedi_pydantic_ai import PydanticDialect, messages_of
from talks import AnyAgent, held, look, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)
STALE: dict[str, Any] = {
    "openai_previous_response_id": {"openai_previous_response_id": "resp_1"},
    "openai_conversation_id": {"openai_conversation_id": "conv_1"},
    "extra_body": {"extra_body": {"previous_response_id": "resp_1", "conversation": "conv_1"}},
}
OUTPUTS: Any = [str, DeferredToolRequests]
each_stale = pytest.mark.parametrize("stale", STALE.values(), ids=STALE)


class Keeping:
    """Keeps some groups at each request, and remembers the generation it was shown."""

    def __init__(self, *counts: int | None) -> None:
        self.counts = list(counts)
        self.epochs: list[int] = []

    def __call__(self, ctx: Context) -> Sequence[ModelMessage]:
        self.epochs.append(ctx.cache_epoch)
        count = self.counts.pop(0) if self.counts else None
        return ctx.messages if count is None else ctx.keep_recent_groups(count)


def generation(state: ConversationState) -> int:
    """Return the generation of the lane that was used last."""
    lane = state.ledger.latest("pydantic")
    assert lane is not None
    return lane.carried.generation


@EACH
def test_each_rewrite_is_one_generation_over_all_turns(entry: str) -> None:
    """A turn without another rewrite goes on in the one that is current, and its commit counts nothing."""
    state, keeping = ConversationState(), Keeping(None, None, 1, None, 1, None)
    agent = talking(Script("answer"), adapter(keeping))

    generations = []
    for prompt in "abcdef":
        talk(agent, state, prompt, entry=entry)
        generations.append(generation(state))

    assert keeping.epochs == [0, 0, 0, 1, 1, 2]
    assert generations == [0, 0, 1, 1, 2, 2]


@EACH
def test_two_rewrites_in_one_turn_are_two_generations(entry: str) -> None:
    """Both count when the turn is kept."""
    state, keeping = ConversationState(), Keeping(None, None, None, 1, 0, None)
    agent = talking(Script("1", "2", "3", calls("c1"), "4", "5"), adapter(keeping), tools=[look])

    talk(agent, state, "a", "b", "c", "d", "e", entry=entry)

    assert keeping.epochs == [0, 0, 0, 0, 1, 2]
    assert held(state)[0] == "< d"


@EACH
def test_a_failed_turn_counts_no_generation(entry: str) -> None:
    """Its edit is gone with it."""
    state, keeping = ConversationState(), Keeping(None, None, 1, None)
    agent = talking(Script("1", "2", LookupError(), "4"), adapter(keeping))

    talk(agent, state, "a", "b", entry=entry)
    with pytest.raises(LookupError):
        talk(agent, state, "c", entry=entry)
    talk(agent, state, "d", entry=entry)

    assert keeping.epochs == [0, 0, 0, 0]
    assert held(state)[::2] == ["< a", "< b", "< d"]


def test_a_no_op_counts_no_generation_and_keeps_the_messages() -> None:
    """An equal list is the list that was there."""
    state = ConversationState()

    def copied(ctx: Context) -> Sequence[ModelMessage]:
        return copy.deepcopy(list(ctx.messages))

    agent = talking(Script("answer"), adapter(copied))
    talk(agent, state, "a", "b")

    assert generation(state) == 0
    assert held(state) == ["< a", "> answer", "< b", "> answer"]


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")
def test_each_lane_has_its_own_generation() -> None:
    """A rewrite in one is none in another."""
    state, keeping = ConversationState(), Keeping(None, 0, None, None)
    small = talking(Script("answer"), adapter(keeping))
    large = talking(Script("answer", model_name="large"), adapter(keeping))

    talk(small, state, "a", "b")
    talk(large, state, "c")
    talk(small, state, "d")

    assert keeping.epochs == [0, 0, 0, 1]


def test_a_generation_travels_with_a_checkpoint() -> None:
    """A restored conversation counts on."""
    state, keeping = ConversationState("talk"), Keeping(None, 0, None)
    agent = talking(Script("answer"), adapter(keeping))
    talk(agent, state, "a", "b")

    again = ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))
    talk(agent, again, "c")

    assert keeping.epochs == [0, 0, 1]


def test_a_condition_is_shown_the_conversations_generation() -> None:
    """Where it says no, the processor is not asked, and the generation stays."""
    seen: list[tuple[int, int]] = []

    def condition(state: Any) -> bool:
        seen.append((state.cache_epoch, state.request_index))
        return len(seen) == 3

    state = ConversationState()
    talk(talking(Script("answer"), adapter(keep(0), condition)), state, "a", "b", "c", "d")

    assert seen == [(0, 1), (0, 1), (0, 1), (1, 1)]
    assert held(state) == ["< c", "> answer", "< d", "> answer"]


@each_stale
@EACH
@pytest.mark.parametrize("later", ["the same", "none in scope", "another agent"])
def test_old_state_of_a_server_stays_off_in_later_turns(entry: str, stale: ModelSettings, later: str) -> None:
    """Or the server would bring back what an edit has removed, also where the later turn has no processor."""
    state = ConversationState()
    given = ModelSettings(**copy.deepcopy(stale), temperature=0.5)
    before = copy.deepcopy(given)
    script = Script("answer")
    editing = talking(script, adapter(keep(0)))
    agent: AnyAgent = editing if later != "another agent" else talking(script)

    talk(editing, state, "a", entry=entry, model_settings=given)
    talk(editing, state, "b", entry=entry, model_settings=given)
    with history_scope(processor=None) if later == "none in scope" else history_scope():
        talk(agent, state, "c", entry=entry, model_settings=given)

    assert [_names_state(settings) for settings in script.settings] == [True, False, False]
    assert [settings.get("temperature") for settings in script.settings] == [0.5, 0.5, 0.5]
    assert script.sent[1:] == [["< b"], ["< c"] if later == "the same" else ["< b", "> answer", "< c"]]
    assert given == before


def _names_state(settings: ModelSettings) -> bool:
    body = settings.get("extra_body")
    ids = ("openai_previous_response_id", "openai_conversation_id")
    return any(settings.get(name) for name in ids) or bool(isinstance(body, dict) and body)


@each_stale
def test_old_state_of_the_models_own_settings_stays_off_too(stale: ModelSettings) -> None:
    """They are overridden for the request, and left as they are."""
    state = ConversationState()
    own = ModelSettings(**copy.deepcopy(stale))
    script = Script("answer", settings=own)

    talk(talking(script, adapter(keep(0))), state, "a", "b")
    talk(talking(script), state, "c")

    assert [_names_state(settings) for settings in script.settings] == [True, False, False]
    assert own == stale


@each_stale
def test_state_of_a_server_stays_on_while_nothing_was_rewritten(stale: ModelSettings) -> None:
    """A conversation alone removes nothing from anybody's settings."""
    state, script = ConversationState(), Script("answer")

    for prompt in "abc":
        talk(talking(script), state, prompt, model_settings=ModelSettings(**stale))

    assert [_names_state(settings) for settings in script.settings] == [True, True, True]


def test_an_automatic_chain_is_left_on_after_a_rewrite() -> None:
    """The host resumes it only from a response that was made after it."""
    state, script = ConversationState(), Script("answer")
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")

    talk(talking(script, adapter(keep(0))), state, "a", "b", "c", model_settings=settings)

    assert [one.get("openai_previous_response_id") for one in script.settings] == ["auto", "auto", "auto"]


def wipe() -> str:
    """Wipe, if it is approved."""
    return "wiped"


@pytest.mark.parametrize("restored", [True, False])
def test_measured_usage_is_known_to_the_turn_that_goes_on(restored: bool) -> None:
    """It counts for the very history it was measured on, with the results that came since; also read back."""
    measured: list[int | None] = []

    def note(ctx: Context) -> Sequence[ModelMessage]:
        measured.append(ctx.measured_tokens)
        return ctx.messages

    state = ConversationState("talk")
    asking = calls("c1", tool="wipe")
    asking.usage = RequestUsage(input_tokens=90, output_tokens=10)
    script = Script("first", asking, "gone")
    agent = talking(script, adapter(note), tools=[Tool(wipe, requires_approval=True)], output_type=OUTPUTS)

    talk(agent, state, "a", "b")
    if restored:
        state = ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))
    talk(agent, state, None, deferred_tool_results=DeferredToolResults(approvals={"c1": True}))

    assert measured == [None, None, 100 + PydanticDialect().estimate(script.requests[-1][-1])]


def test_measured_usage_is_void_for_a_history_that_was_edited() -> None:
    """A conversation that was changed by another hand falls back to the estimate."""
    measured: list[int | None] = []

    def note(ctx: Context) -> Sequence[ModelMessage]:
        measured.append(ctx.measured_tokens)
        return ctx.messages

    state = ConversationState("talk")
    agent = talking(
        Script("first", calls("c1", tool="wipe"), "gone"),
        adapter(note),
        tools=[Tool(wipe, requires_approval=True)],
        output_type=OUTPUTS,
    )
    talk(agent, state, "a", "b")

    text: Any = messages_of(state)[1].parts[0]
    text.content = "edited"
    talk(agent, state, None, deferred_tool_results=DeferredToolResults(approvals={"c1": True}))

    assert measured == [None, None, None]


@EACH
def test_an_edit_of_a_long_conversation_is_kept_with_its_turn(entry: str) -> None:
    """The next turn begins from the edited history, and never from the one before."""
    state, script = ConversationState(), Script("answer")
    agent = talking(script, adapter(keep(2)))

    talk(agent, state, *"abcdef", entry=entry)

    assert script.sent[-1] == ["< d", "> answer", "< e", "> answer", "< f"]
    assert held(state) == ["< d", "> answer", "< e", "> answer", "< f", "> answer"]
    assert lines(script.requests[2]) == ["< a", "> answer", "< b", "> answer", "< c"]
