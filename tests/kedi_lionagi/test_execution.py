"""Chat, communicate and run over LionAGI's scripted model: one compilation, and records only of what was answered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi import Branch, iModel
from lionagi.operations.types import ChatParam, RunParam
from lionagi.testing import ErrorResponse

from kedi_compile import ContextBlock, HistoryConfigurationError, TurnCompileError, history_scope
from kedi_lionagi import chat, communicate, run
from turn_lionagi import branch_with, scripted, sent, streamed, talked

pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "f"}}
BLOCKS = (ContextBlock("weather", "Snow."),)


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    """Return everything a stream yields."""
    return [message async for message in stream]


async def by_chat(branch: Branch, instruction: Any, **options: Any) -> None:
    """Ask by `chat`."""
    await chat(branch, instruction, ChatParam(**options), context_blocks=BLOCKS)


async def by_communicate(branch: Branch, instruction: Any, **options: Any) -> None:
    """Ask by `communicate`."""
    await communicate(branch, instruction, ChatParam(**options), context_blocks=BLOCKS)


async def by_run(branch: Branch, instruction: Any, **options: Any) -> None:
    """Ask by `run`."""
    await collected(run(branch, instruction, RunParam(**options), context_blocks=BLOCKS))


Way = Callable[..., Awaitable[None]]
WAYS = pytest.mark.parametrize("way", [by_chat, by_communicate, by_run])


def acted(*answers: str) -> Branch:
    """Return a branch with a call and its result, whose model gives these answers."""
    branch = talked(*answers)
    people = {"sender": branch.id, "recipient": branch.id}
    call = branch.msgs.add_message(action_function="f", action_arguments={"x": 1}, **people)
    branch.msgs.add_message(action_request=call, action_output="found")
    return branch


@WAYS
async def test_all_ways_send_the_same_messages(way: Way) -> None:
    """One payload for all three: policy, blocks, results, tools and format stand where the compiler puts them."""
    branch = acted("Done.")

    await way(branch, "And now?", tool_schemas=[TOOL], response_format={"a": 1})

    assert sent(branch) == [
        [
            {
                "role": "user",
                "content": "Guidance: |-\n  Be terse.\n\n  LIONAGI_CONTEXT_BLOCKS_JSON\n"
                '  [{"content":"Snow.","provider_name":"weather"}]\n'
                "  END_LIONAGI_CONTEXT_BLOCKS_JSON\nInstruction: Hello?",
            },
            {"role": "assistant", "content": "Hi."},
            {
                "role": "user",
                "content": "Instruction: And now?\nContext:\n- function: f\n  arguments:\n    x: 1\n  output: found\n"
                "Tools:\n- type: function\n  function:\n    name: f\n"
                "ResponseFormat: |-\n  Answer with JSON only, in one fenced block, shaped like this example:\n"
                '  ```json\n  {"a":1}\n  ```\n  Escape quotes and control characters inside strings.',
            },
        ]
    ]


async def test_chat_returns_the_answer_and_records_nothing() -> None:
    """The branch is as it was."""
    branch = acted("Done.")

    answer = await chat(branch, "And now?", ChatParam())

    assert answer == "Done."
    assert len(branch.msgs.messages) == 5


async def test_communicate_records_what_was_asked_and_answered() -> None:
    """The instruction that is recorded holds nothing of this one call."""
    branch = scripted("Done.")

    await communicate(
        branch, "And now?", ChatParam(tool_schemas=[TOOL], response_format={"a": 1}), context_blocks=BLOCKS
    )

    instruction, answer = branch.msgs.messages
    assert instruction.content.to_dict() == {"instruction": "And now?"}
    assert answer.content.assistant_response == "Done."


async def test_the_next_turn_reads_what_was_recorded() -> None:
    """The second request begins with the first turn."""
    branch = scripted("One.", "Two.")

    await communicate(branch, "First?", ChatParam())
    await communicate(branch, "Second?", ChatParam())

    assert [message["content"] for message in sent(branch)[1]] == [
        "Instruction: First?",
        "One.",
        "Instruction: Second?",
    ]


async def test_an_instruction_the_branch_holds_is_recorded_once() -> None:
    """It was added before, and left out of the history that it is asked after."""
    branch = talked("Done.")
    order = [record.id for record in branch.msgs.messages]
    held = branch.msgs.add_message(instruction="And now?", sender="user", recipient=branch.id)

    await communicate(branch, held, ChatParam(progression=order))

    assert [message["content"] for message in sent(branch)[0]][2:] == ["Instruction: And now?"]
    assert [type(message).__name__ for message in branch.msgs.messages][3:] == ["Instruction", "AssistantResponse"]


@WAYS
async def test_an_instruction_within_its_own_history_is_refused(way: Way) -> None:
    """It would be sent twice."""
    branch = talked("Done.")
    held = branch.msgs.add_message(instruction="And now?", sender="user", recipient=branch.id)

    with pytest.raises(TurnCompileError, match=f"names the current instruction {held.id}"):
        await way(branch, held)

    assert sent(branch) == []


@WAYS
async def test_a_call_that_fails_records_nothing(way: Way) -> None:
    """The error is the host's, and the branch is as it was."""
    branch = branch_with([ErrorResponse(message="out of beds")])

    with pytest.raises((RuntimeError, ValueError), match="out of beds"):
        await way(branch, "And now?")

    assert len(branch.msgs.messages) == 0


@WAYS
async def test_a_turn_that_is_refused_sends_nothing(way: Way) -> None:
    """The compiler speaks before the model is asked."""
    branch = scripted("Done.")
    for _ in range(2):
        branch.msgs.add_message(instruction="Hello?", sender="user", recipient=branch.id)

    with pytest.raises(TurnCompileError, match="Consecutive instructions"):
        await way(branch, "And now?")

    assert sent(branch) == []
    assert len(branch.msgs.messages) == 2


@WAYS
@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")
async def test_a_processor_in_scope_is_refused_before_anything_is_sent(way: Way) -> None:
    """This adapter runs none, so its capability is not declared; outside of the scope nothing is in the way."""
    branch = talked("Hello.")

    with history_scope(processor=lambda ctx: ctx.keep_recent_groups(1)):
        with pytest.raises(HistoryConfigurationError, match="cannot run a history processor"):
            await way(branch, "And now?")
        with history_scope(processor=None):
            await way(branch, "And now?")

    assert len(sent(branch)) == 1


@WAYS
async def test_the_providers_arguments_are_passed_on(way: Way) -> None:
    """`imodel_kw` reaches the call beside the messages."""
    branch = scripted("Done.")

    await way(branch, "And now?", imodel_kw={"temperature": 0.5})

    (call,) = branch.chat_model.endpoint.calls
    assert call.payload["temperature"] == 0.5


@WAYS
async def test_a_model_of_the_parameters_comes_first(way: Way) -> None:
    """The branch's own model is not asked, and stays the branch's."""
    branch, other = scripted("Mine."), scripted("Other.")
    own = branch.chat_model

    await way(branch, "And now?", imodel=other.chat_model)

    assert (len(sent(branch)), len(sent(other))) == (0, 1)
    assert branch.chat_model is own


class Noting:
    """A model that keeps the arguments of its call."""

    def __init__(self, model: iModel) -> None:
        self._model = model
        self.is_cli = False
        self.arguments: dict[str, Any] = {}

    async def invoke(self, **arguments: Any) -> Any:
        self.arguments = arguments
        return await self._model.invoke(**arguments)


@pytest.mark.parametrize("asked", [True, False])
async def test_the_token_note_is_passed_on_when_it_is_asked_for(asked: bool) -> None:
    """`include_token_usage_to_model` goes with the call as the parameters have it, and is no part of the turn."""
    branch = scripted("Done.")
    model = Noting(branch.chat_model)

    await chat(branch, "And now?", ChatParam(imodel=model, include_token_usage_to_model=asked))

    assert model.arguments["include_token_usage_to_model"] is asked


async def test_run_yields_messages_as_they_are_complete() -> None:
    """Text before a call, the call, its result, and the text behind it."""
    branch = streamed(
        {"type": "thinking", "content": "hm"},
        {"type": "text", "content": "Let me "},
        {"type": "text", "content": "look."},
        {"type": "tool_use", "tool_name": "f", "tool_id": "t1", "tool_input": {"x": 1}},
        {"type": "tool_result", "tool_id": "t1", "tool_output": "found"},
        {"type": "text", "content": "Done."},
    )

    messages = await collected(run(branch, "And now?", RunParam()))

    assert [type(message).__name__ for message in messages] == [
        *("AssistantResponse", "ActionRequest", "ActionResponse", "AssistantResponse")
    ]
    assert [message.id for message in branch.msgs.messages][1:] == [message.id for message in messages]


async def test_a_stream_that_is_left_early_records_nothing() -> None:
    """Half an answer is none."""
    branch = streamed(
        {"type": "tool_use", "tool_name": "f", "tool_id": "t1", "tool_input": {}}, {"type": "text", "content": "Done."}
    )

    stream = run(branch, "And now?", RunParam())
    await anext(stream)
    await stream.aclose()

    assert len(branch.msgs.messages) == 0


async def test_an_error_in_the_stream_records_nothing() -> None:
    """The provider's word is in the error."""
    branch = streamed({"type": "text", "content": "Let me"}, {"type": "error", "content": "out of beds"})

    with pytest.raises((RuntimeError, ValueError), match="out of beds"):
        await collected(run(branch, "And now?", RunParam()))

    assert len(branch.msgs.messages) == 0


async def test_a_stream_ends_at_its_deadline() -> None:
    """A deadline that is over when the stream begins lets nothing through."""
    branch = scripted("Done.")

    with pytest.raises(TimeoutError):
        await collected(run(branch, "And now?", RunParam(), deadline=0))

    assert len(branch.msgs.messages) == 0


async def test_the_time_a_consumer_takes_counts_for_the_deadline() -> None:
    """Chunks that are there at once do not outrun it."""
    branch = streamed(
        {"type": "tool_use", "tool_name": "f", "tool_id": "t1", "tool_input": {}}, {"type": "text", "content": "Done."}
    )
    stream = run(branch, "And now?", RunParam(), deadline=0.5)

    await anext(stream)
    await asyncio.sleep(0.6)
    with pytest.raises(TimeoutError):
        await anext(stream)

    assert len(branch.msgs.messages) == 0


async def test_a_stream_within_its_deadline_is_whole() -> None:
    """The deadline changes nothing of it."""
    branch = scripted("Done.")

    (answer,) = await collected(run(branch, "And now?", RunParam(), deadline=60))

    assert answer.content.assistant_response == "Done."


async def test_run_needs_a_cli_model() -> None:
    """An API model has no stream of messages."""
    branch = scripted("Done.")
    api = iModel(provider="openai", model="gpt-4.1-mini", api_key="none")

    with pytest.raises(TurnCompileError, match="`run` needs a CLI model"):
        await collected(run(branch, "And now?", RunParam(imodel=api)))


async def test_a_persisted_stream_is_refused() -> None:
    """It is not done in silence without it."""
    with pytest.raises(TurnCompileError, match="`stream_persist` is not supported"):
        await collected(run(scripted("Done."), "And now?", RunParam(stream_persist=True)))


async def test_a_snapshot_waits_for_whoever_changes_the_branch() -> None:
    """What is added while the branch is locked is read."""
    branch = talked("Done.")
    async with branch.msgs.messages:
        asking = asyncio.create_task(chat(branch, "And now?", ChatParam()))
        await asyncio.sleep(0)
        branch.msgs.messages.progression.clear()
    await asking

    assert [message["content"] for message in sent(branch)[0]] == ["Guidance: Be terse.\nInstruction: And now?"]


@pytest.mark.parametrize("way", [by_communicate, by_run])
async def test_turns_side_by_side_are_recorded_one_after_the_other(way: Way) -> None:
    """Question and answer stand next to each other, and the next turn can be compiled."""
    branch = scripted("A.", "B.", "C.")

    await asyncio.gather(way(branch, "First?"), way(branch, "Second?"))
    await way(branch, "Third?")

    kinds = [type(message).__name__ for message in branch.msgs.messages]
    assert kinds == ["Instruction", "AssistantResponse"] * 3
