"""A run in an enabled scope is a turn: it sees the turns before it natively, and leaves its own."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolOutput
from pydantic_ai import messages as m

from agents import ENTRY_POINTS, Script, adapter, asks, calls, keep, lines, run_through, says, turns
from kedi_compile import ConversationError, HistoryConfigurationError, HistoryLaneWarning
from kedi_compile.conversation import ConversationCheckpoint, ConversationState, history_scope
from kedi_pydantic_ai import messages_of
from talks import AnyAgent, held, is_free, look, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


@EACH
def test_a_turn_sees_the_turns_before_it(entry: str) -> None:
    """Complete exchanges come back as native messages, in order, by every entry point."""
    script, state = Script("one", "two", "three"), ConversationState()

    talk(talking(script), state, "first", "second", "third", entry=entry)

    assert script.sent == [
        ["< first"],
        ["< first", "> one", "< second"],
        ["< first", "> one", "< second", "> two", "< third"],
    ]
    assert (state.turns, len(state.lanes), is_free(state)) == (3, 1, True)
    assert held(state) == ["< first", "> one", "< second", "> two", "< third", "> three"]


def test_a_turn_asks_the_model_each_time() -> None:
    """History is no memory of answers: the same prompt is asked again."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script), state, "same", "same")

    assert len(script.requests) == 2
    assert held(state) == ["< same", "> one", "< same", "> two"]


@EACH
def test_tool_calls_and_results_stay_native(entry: str) -> None:
    """A later turn is sent the very calls and results, not a text about them."""
    script, state = Script(calls("c1"), "one", "two"), ConversationState()
    agent = talking(script)
    agent.tool_plain(look)

    talk(agent, state, "first", "second", entry=entry)

    assert script.sent[-1] == ["< first", "> call c1", "< result c1", "> one", "< second"]
    assert script.requests[-1][1:3] == list(messages_of(state)[1:3])


@EACH
def test_a_result_holds_the_conversation_and_its_own_messages_apart(entry: str) -> None:
    """`all_messages` begins with the turns before, `new_messages` with this turn's prompt."""
    state = ConversationState()
    agent = talking(Script("one", "two"))

    with history_scope(True, state):
        run_through(entry, agent, "first")
        finished = run_through(entry, agent, "second")

    assert lines(finished.all_messages) == ["< first", "> one", "< second", "> two"]
    assert lines(finished.new_messages) == ["< second", "> two"]


def test_a_conversation_names_itself_to_the_host() -> None:
    """The host stamps its messages with the conversation's name, unless a run has one of its own."""
    state = ConversationState("talk")
    agent = talking(Script("done"))

    talk(agent, state, "first")
    talk(agent, state, "second", conversation_id="mine")

    assert [message.conversation_id for message in messages_of(state)] == ["talk", "talk", "mine", "mine"]


@EACH
def test_a_disabled_scope_neither_reads_nor_changes_the_conversation(entry: str) -> None:
    """Inside an enabled one too."""
    script, state = Script("one", "two", "three"), ConversationState()
    agent = talking(script)

    with history_scope(True, state):
        run_through(entry, agent, "first")
        with history_scope(False):
            run_through(entry, agent, "aside")
        run_through(entry, agent, "second")

    assert script.sent == [["< first"], ["< aside"], ["< first", "> one", "< second"]]
    assert state.turns == 2


def test_without_a_scope_calls_are_stateless() -> None:
    """An adapter alone remembers nothing."""
    script = Script("one")
    agent = talking(script)

    for prompt in ("first", "second"):
        run_through("run", agent, prompt)

    assert script.sent == [["< first"], ["< second"]]


def test_a_disabled_scope_still_processes_the_tool_loop() -> None:
    """What is disabled is continuity; the run's own history is edited, and shows no outer turn."""
    seen: list[list[str]] = []

    def note(ctx: Any) -> Any:
        seen.append(lines(ctx.messages))
        return ctx.messages

    state = ConversationState()
    agent = talking(Script("one", calls("c1"), "two"), adapter(note))
    agent.tool_plain(look)

    with history_scope(True, state):
        run_through("run", agent, "first")
        with history_scope(False):
            run_through("run", agent, "aside")

    assert seen == [["< first"], ["< aside"], ["< aside", "> call c1", "< result c1"]]


def test_separate_conversations_are_independent() -> None:
    """One agent talks in two of them."""
    script, states = Script("answer"), (ConversationState("a"), ConversationState("b"))
    agent = talking(script)

    for prompt in ("1", "2"):
        for state in states:
            talk(agent, state, f"{state.session_id}{prompt}")

    assert [held(state) for state in states] == [
        ["< a1", "> answer", "< a2", "> answer"],
        ["< b1", "> answer", "< b2", "> answer"],
    ]


def test_two_agents_share_a_conversation_lane_if_all_agrees() -> None:
    """The lane is the adapter's kind, the model and the contracts, not the agent."""
    state = ConversationState()
    talk(talking(Script("one")), state, "first")

    talk(talking(Script("two"), adapter()), state, "second")

    assert held(state) == ["< first", "> one", "< second", "> two"]
    assert len(state.lanes) == 1


def test_a_static_system_prompt_is_not_doubled() -> None:
    """It stands where it stood in the first turn."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script, system_prompt="Be brief."), state, "first", "second")

    assert script.sent[1] == ["< system Be brief. | first", "> one", "< second"]


def test_a_dynamic_system_prompt_is_renewed_in_its_place() -> None:
    """Each turn is sent what it says now, once."""
    script, state = Script("one", "two"), ConversationState()
    agent = talking(script)
    times: list[int] = []

    @agent.system_prompt(dynamic=True)
    def now() -> str:
        times.append(1)
        return f"It is {len(times)}."

    talk(agent, state, "first", "second")

    assert script.sent == [["< system It is 1. | first"], ["< system It is 2. | first", "> one", "< second"]]


def test_instructions_are_those_of_the_run() -> None:
    """They are the host's to send, and no part of what is kept."""
    script, state = Script("one", "two"), ConversationState()
    agent = talking(script)

    talk(agent, state, "first", instructions="Be brief.")
    talk(agent, state, "second", instructions="Be long.")

    current = [request[-1] for request in script.requests]
    assert [getattr(message, "instructions", None) for message in current] == ["Be brief.", "Be long."]
    assert len(state.lanes) == 1


def test_a_given_history_begins_a_conversation() -> None:
    """What the caller hands over is part of the first turn."""
    script, state = Script("one", "two"), ConversationState()
    agent = talking(script)

    talk(agent, state, "first", message_history=turns(1))
    talk(agent, state, "second")

    assert script.sent[1] == ["< question 1", "> answer 1", "< first", "> one", "< second"]


def test_a_given_history_beside_a_conversation_that_has_one_is_refused() -> None:
    """Nothing is sent, and the conversation is as it was."""
    script, state = Script("one", "two"), ConversationState()
    agent = talking(script)
    talk(agent, state, "first")

    with pytest.raises(HistoryConfigurationError) as caught:
        talk(agent, state, "second", message_history=turns(1))

    assert str(caught.value) == (
        "This run was given 2 messages of history inside a conversation that has 1 turns of its own; leave "
        "`message_history` out, or use `history_scope(enabled=False)`"
    )
    assert (len(script.requests), state.turns, is_free(state)) == (1, 1, True)
    with history_scope(True, state), history_scope(False):
        run_through("run", agent, "aside", message_history=turns(1))
    assert script.sent[-1] == ["< question 1", "> answer 1", "< aside"]


@EACH
def test_deferred_calls_are_answered_by_a_later_turn(entry: str) -> None:
    """A turn that ends with calls to approve is complete; the next one resumes them."""
    script, state = Script(calls("c1", tool="wipe"), "gone", "more"), ConversationState()
    wiped: list[bool] = []
    agent: AnyAgent = talking(script, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def wipe() -> str:
        wiped.append(True)
        return "wiped"

    with history_scope(True, state):
        asked = run_through(entry, agent, "clean up")
        assert isinstance(asked.output, DeferredToolRequests)
        assert wiped == []
        run_through(entry, agent, None, deferred_tool_results=DeferredToolResults(approvals={"c1": True}))
        run_through(entry, agent, "thanks")

    assert wiped == [True]
    assert script.sent[1:] == [
        ["< clean up", "> call c1", "< result c1"],
        ["< clean up", "> call c1", "< result c1", "> gone", "< thanks"],
    ]
    assert state.turns == 3


def test_answers_under_other_inputs_than_the_calls_are_refused() -> None:
    """Calls of one lane cannot be answered in another, where they were never made."""
    script, state = Script(calls("c1", tool="wipe"), "gone"), ConversationState()
    agent: AnyAgent = talking(script, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def wipe() -> str:
        return "wiped"

    results = DeferredToolResults(approvals={"c1": True})
    talk(agent, state, "clean up")

    with (
        pytest.warns(HistoryLaneWarning),
        pytest.raises(ConversationError, match="answers tool calls of the conversation under another model"),
    ):
        talk(agent, state, None, deferred_tool_results=results, model=Script(model_name="other").model)

    assert (state.turns, is_free(state), len(script.requests)) == (1, True, 1)
    talk(agent, state, None, deferred_tool_results=results)
    assert held(state) == ["< clean up", "> call c1", "< result c1", "> gone"]


def test_a_turn_that_ends_with_an_output_tool_is_complete() -> None:
    """The next turn is sent its call and its result."""
    answers = (calls(f"c{number}", tool="final", response=number) for number in (1, 2))
    script, state = Script(*answers), ConversationState()
    agent: AnyAgent = talking(script, output_type=ToolOutput(int, name="final"))

    talk(agent, state, "first", "second")

    assert script.sent[1] == ["< first", "> call c1", "< result c1 | second"]
    assert state.turns == 2


def test_a_restored_conversation_goes_on_natively() -> None:
    """Messages that were read back are sent as they were."""
    script, state = Script(calls("c1"), "one", "two"), ConversationState("talk")
    agent = talking(script, system_prompt="Be brief.")
    agent.tool_plain(look)
    talk(agent, state, "first")

    again = ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))
    talk(agent, again, "second")

    assert script.sent[-1] == ["< system Be brief. | first", "> call c1", "< result c1", "> one", "< second"]
    assert (state.turns, again.turns) == (1, 2)


@EACH
def test_an_edit_is_what_later_turns_see(entry: str) -> None:
    """What a processor removed in one turn stays away in all later ones."""
    script, state = Script("1", "2", "3", "4"), ConversationState()
    plain, editing = talking(script), talking(script, adapter(keep(1)))

    talk(plain, state, "a", "b", entry=entry)
    talk(editing, state, "c", entry=entry)
    talk(plain, state, "d", entry=entry)

    assert script.sent[2:] == [["< b", "> 2", "< c"], ["< b", "> 2", "< c", "> 3", "< d"]]


def test_a_file_in_a_prompt_stays_what_it_is() -> None:
    """Through a checkpoint too."""
    state = ConversationState("talk")
    script = Script("one", "two")
    agent: Agent[Any, Any] = talking(script)
    image = m.BinaryContent(b"\x89PNG", media_type="image/png")
    with history_scope(True, state):
        run_through("run", agent, ["look at", image])  # type: ignore[arg-type]  # the host takes a list as well

    again = ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))
    talk(agent, again, "and now?")

    (part,) = script.requests[-1][0].parts
    assert isinstance(part, m.UserPromptPart)
    assert [getattr(item, "data", item) for item in part.content] == ["look at", b"\x89PNG"]


def test_what_cannot_be_carried_by_a_checkpoint_is_told_when_one_is_made() -> None:
    """The conversation itself goes on."""
    state = ConversationState()
    agent = talking(Script(calls("c1"), "one", "two"))

    @agent.tool_plain(name="look")
    def stare() -> Any:
        return {"distance": float("nan")}

    talk(agent, state, "first", "second")

    with pytest.raises(ConversationError, match="Message 2 of the turn cannot be stored"):
        state.checkpoint()


def test_a_dynamic_prompt_function_may_look_at_the_run() -> None:
    """It is called as the host calls it, with the run's dependencies."""
    script, state = Script("one", "two"), ConversationState()
    agent: AnyAgent = Agent(script.model, deps_type=str, capabilities=[adapter()])

    @agent.system_prompt(dynamic=True)
    def whose(ctx: RunContext[str]) -> str:
        return f"For {ctx.deps}."

    talk(agent, state, "first", deps="ann")
    talk(agent, state, "second", deps="bob")

    assert script.sent[1] == ["< system For bob. | first", "> one", "< second"]


def test_a_conversation_does_not_mind_what_the_caller_does_to_its_lists() -> None:
    """The lists of a result are the caller's own."""
    state = ConversationState()
    agent = talking(Script("one", "two"))
    with history_scope(True, state):
        finished = run_through("run", agent, "first")
    finished.all_messages.append(asks("injected"))
    finished.new_messages.append(says("injected"))

    talk(agent, state, "second")

    assert held(state) == ["< first", "> one", "< second", "> two"]


def test_the_messages_of_a_conversation_can_be_read_and_taken_along() -> None:
    """They are the host's own; another conversation may begin with them, under another model too."""
    state, later = ConversationState(), ConversationState()
    talk(talking(Script("one")), state, "first")
    script = Script("two", model_name="another")

    taken = messages_of(state)
    talk(talking(script), later, "second", message_history=taken)

    assert lines(taken) == ["< first", "> one"]
    assert script.sent == [["< first", "> one", "< second"]]
    assert messages_of(later, later.lanes[0]) == messages_of(later)
    assert messages_of(ConversationState()) == []
