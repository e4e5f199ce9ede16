"""What the README says of Pydantic AI's own ways, measured on the host's public API.

Each test is one sentence of the section on how the package sits beside them. A newer host that turns one red calls for
a correction of that sentence.
"""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIResponsesModelSettings

from agents import Context, Script, adapter, asks, calls, keep, lines, noting, results, says, turns

EXCHANGE: list[ModelMessage] = [asks("question"), calls("c1"), results("c1"), says("answer")]


def last(n: int) -> ProcessHistory[None]:
    """Keep the last `n` messages, whatever they are."""
    return ProcessHistory(lambda messages: messages[-n:])


async def test_a_slice_that_cuts_off_a_call_loses_its_result_silently() -> None:
    """The host drops the result that has lost its call, and sends the rest."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[last(3)])

    result = await agent.run("now", message_history=EXCHANGE)

    assert script.sent == [["> answer", "< now"]]
    assert lines(result.all_messages()) == ["< result c1", "> answer", "< now", "> done"]


async def test_a_slice_that_cuts_off_a_result_gets_an_invented_one() -> None:
    """The host answers the call in the tool's place."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[ProcessHistory(lambda messages: [*messages[:2], *messages[-1:]])])

    await agent.run("now", message_history=EXCHANGE)

    assert script.sent == [["< question", "> call c1", "< result c1 | now"]]


async def test_a_window_of_one_sends_an_empty_request_in_a_tool_loop() -> None:
    """The last message of a loop is a result; without its call it goes too, and the question is long gone."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[last(1)])
    agent.tool_plain(look)

    await agent.run("now")

    assert script.sent[1] == ["< "]


async def test_an_edit_of_process_history_outlives_the_request_that_failed() -> None:
    """Nothing was answered, and the run's messages have lost their beginning all the same."""
    agent = Agent(Script(ModelHTTPError(500, "scripted")).model, capabilities=[last(1)])

    with capture_run_messages() as captured, pytest.raises(ModelHTTPError):
        await agent.run("now", message_history=turns(1))

    assert lines(captured) == ["< now"]


async def test_an_edit_of_the_adapter_does_not() -> None:
    """The messages are what they were without it."""
    agent = Agent(Script(ModelHTTPError(500, "scripted")).model, capabilities=[adapter(keep(0))])

    with capture_run_messages() as captured, pytest.raises(ModelHTTPError):
        await agent.run("now", message_history=turns(1))

    assert lines(captured) == ["< question 1", "> answer 1", "< now"]


async def test_a_conversation_store_keeps_the_unedited_log() -> None:
    """The run's own messages are edited; what the store gives back for the next turn is not."""
    store = InMemoryConversationStore()
    agent = Agent(Script("one", "two").model, capabilities=[adapter(keep(0))])
    await store.save(await agent.run("first", conversation=Conversation(conversation_id="c")))
    loaded = await store.load("c")
    assert loaded is not None

    result = await agent.run("second", conversation=loaded)
    await store.save(result)

    again = await store.load("c")
    assert again is not None
    assert lines(result.all_messages()) == ["< second", "> two"]
    assert lines(again.messages) == ["< first", "> one", "< second", "> two"]


async def test_appending_new_messages_to_the_old_list_brings_back_what_was_removed() -> None:
    """`all_messages()` is what to carry forward."""
    old = turns(1)
    agent = Agent(Script("done").model, capabilities=[adapter(keep(0))])

    result = await agent.run("now", message_history=old)

    assert lines([*old, *result.new_messages()]) == ["< question 1", "> answer 1", "< now", "> done"]
    assert lines(result.all_messages()) == ["< now", "> done"]


def look() -> str:
    """Return what there is to see."""
    return "seen"


@pytest.mark.parametrize(("option", "reasons"), [("system_prompt", {"system"}), ("instructions", set())])
async def test_a_system_prompt_protects_the_first_group_and_instructions_do_not(
    option: Literal["system_prompt", "instructions"], reasons: set[str]
) -> None:
    """The host keeps a system prompt in the message of the first question, instructions in none."""
    seen: list[frozenset[str]] = []
    agent = Agent(
        Script("done").model,
        capabilities=[adapter(noting(seen, first_reasons))],
        system_prompt="Be brief." if option == "system_prompt" else (),
        instructions="Be brief." if option == "instructions" else None,
    )
    first = await agent.run("first")

    await agent.run("second", message_history=first.all_messages())

    assert seen[1] == reasons


async def test_an_old_conversation_is_left_out_of_one_run_only() -> None:
    """What a run knows ends with it: a later run that is given the id sends it again."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(0))])
    settings = OpenAIResponsesModelSettings(openai_conversation_id="conv_1")
    edited = await agent.run("one", message_history=turns(1), model_settings=settings)
    await agent.run("two", message_history=edited.all_messages()[:-2], model_settings=settings)

    assert script.settings == [{}, {"openai_conversation_id": "conv_1"}]
    assert settings == {"openai_conversation_id": "conv_1"}


def first_reasons(ctx: Context) -> frozenset[str]:
    """Read why the first group is protected."""
    return ctx.groups[0].protected_reasons
