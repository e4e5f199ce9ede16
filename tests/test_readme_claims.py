"""What the README says in sentences, measured on the host's public API.

Each test is one sentence: of Pydantic AI's own ways, and of what a processor meets from one request to the next. A
newer host that turns one red calls for a correction of that sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from kedi_compile import HistoryProcessingValidationError

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


async def test_a_lone_user_text_joins_the_question_behind_it() -> None:
    """The function sees its own edit: what it replaces at the second request is the text with that question."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(first_group_by(lambda ctx: [ctx.text_message("SUMMARY")]))])
    agent.tool_plain(look)

    await agent.run("now", message_history=turns(2))

    assert script.sent == [
        ["< SUMMARY | question 2", "> answer 2", "< now"],
        ["< SUMMARY | now", "> call c1", "< result c1"],
    ]


async def test_a_summary_is_a_closed_group_of_its_own() -> None:
    """To replace the summary by the same summary changes nothing."""
    seen: list[bool] = []
    script = Script(calls("c1"), "done")
    summarize = first_group_by(lambda ctx: ctx.summary_messages("SUMMARY"))

    def processor(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(ctx.groups[0].closed)
        return summarize(ctx)

    agent = Agent(script.model, capabilities=[adapter(processor)])
    agent.tool_plain(look)

    await agent.run("now", message_history=turns(2))

    summary_and_question_2 = ["< SUMMARY", "> Noted.", "< question 2", "> answer 2", "< now"]
    assert script.sent == [summary_and_question_2, [*summary_and_question_2, "> call c1", "< result c1"]]
    assert seen == [True, True]


async def test_a_tool_result_cannot_be_shortened_but_its_group_replaced() -> None:
    """A copy with less in it is refused, a text for the whole group is not."""
    script = Script("done")

    def shorten(ctx: Context) -> Sequence[ModelMessage]:
        question, call, _, *rest = ctx.messages
        return [question, call, results("c1", content="se"), *rest]

    with pytest.raises(HistoryProcessingValidationError):
        await Agent(script.model, capabilities=[adapter(shorten)]).run("now", message_history=EXCHANGE)
    replace = first_group_by(lambda ctx: ctx.summary_messages("It saw."))
    await Agent(script.model, capabilities=[adapter(replace)]).run("now", message_history=EXCHANGE)

    assert script.sent == [["< It saw.", "> Noted.", "< now"]]


async def test_a_slice_that_falls_between_groups_is_accepted() -> None:
    """By good luck: with one more tool call it would cut through a group."""
    script = Script("done")

    await Agent(script.model, capabilities=[adapter(lambda ctx: list(ctx.messages)[-3:])]).run(
        "now", message_history=turns(2)
    )

    assert script.sent == [["< question 2", "> answer 2", "< now"]]


async def test_measured_tokens_are_none_in_the_first_request_of_every_run() -> None:
    """An agent without tools never has them; with a tool loop they are there from the second request on."""
    seen: list[tuple[int, bool]] = []
    agent = Agent(
        Script("one", calls("c1"), "two").model,
        capabilities=[adapter(noting(seen, lambda ctx: (ctx.request_index, ctx.measured_tokens is None)))],
    )
    agent.tool_plain(look)

    first = await agent.run("first")
    await agent.run("second", message_history=first.all_messages())

    assert seen == [(1, True), (1, True), (2, False)]


async def test_a_protected_group_that_an_edit_passes_over_is_sent() -> None:
    """To look at eligible groups only is no way to keep a secret."""
    script = Script("noted", "done")

    def careless(ctx: Context) -> Sequence[ModelMessage]:
        bad = [group for group in ctx.groups if group.eligible]
        return ctx.replace_groups(bad, *ctx.summary_messages("gone")) if bad else list(ctx.messages)

    agent = Agent(script.model, capabilities=[adapter(careless)], system_prompt="Be brief.")
    first = await agent.run("secret")
    await agent.run("now", message_history=first.all_messages())

    assert script.sent[1] == ["< system Be brief. | secret", "> noted", "< now"]


def first_group_by(make: Callable[[Context], Sequence[ModelMessage]]) -> Callable[[Context], Sequence[ModelMessage]]:
    """Return a processor that puts something in the place of the first group, while that is not the only one."""
    return lambda ctx: ctx.replace_groups(ctx.groups[0], *make(ctx)) if len(ctx.groups) > 1 else list(ctx.messages)
