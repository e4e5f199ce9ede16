"""History processing on LangChain over provider-native tool loops, replayed from cassettes.

LangChain's own chat models run over the vendors' clients against recorded answers, and a request whose body differs
from the recorded one gets none. Each story is recorded through `create_agent` with the middleware; a loop by hand
around a wrapped model then has to send the very same bodies. The story is in `tests/support/harbour.py`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from langchain_core.messages import BaseMessage
from vcr.cassette import Cassette

from chats import Context, adapter, keep, untouched
from harbour import (
    ANTHROPIC_JSON,
    ASK,
    COMPARE,
    COMPARE_LINES,
    COMPARED,
    LANES,
    MOOR,
    MOOR_LINES,
    MOORED,
    NOTED,
    REASONING,
    RUNNING_LINES,
    SECRET,
    SECRET_LINES,
    SERVER_HELD,
    SUMMARY_LINE,
    THOUGHT_LINES,
    replayed,
    signatures,
    thought_over,
)
from harbour_langchain import CASSETTES, Clerk, Office, redact, thoughtful
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorState
from recording import Recall
from recording_langchain import ChatProvider
from spoken import spoken

QUESTIONS = (SECRET, COMPARE, MOOR)
KEPT_ONE = [[*COMPARE_LINES, *MOOR_LINES[:1]], [*COMPARE_LINES, *MOOR_LINES[:3]], [*COMPARE_LINES, *MOOR_LINES]]


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    """Name the folder of this adapter's cassettes."""
    return str(CASSETTES)


@pytest.fixture
def default_cassette_name(request: pytest.FixtureRequest) -> str:
    """Name a cassette by its story and lane."""
    marker = request.node.get_closest_marker("default_cassette")
    return f"{marker.args[0]}-{request.node.callspec.params['provider']}"


@pytest.fixture
async def provider(request: pytest.FixtureRequest, record_mode: str) -> AsyncIterator[ChatProvider]:
    """Open the provider of a lane."""
    mode = request.node.get_closest_marker("vcr").kwargs.get("record_mode", record_mode)
    async with ChatProvider(request.param, recording=mode != "none") as served:
        yield served


@replayed("unedited", *LANES)
async def test_the_host_alone_sends_the_whole_history(provider: ChatProvider, vcr: Cassette) -> None:
    """What the other tests compare with: without the adapter every request carries all that was said."""
    office = Office(provider)
    await office.talk()

    await office.ask(MOOR, MOORED)

    assert spoken(provider.bodies[3]) == [*SECRET_LINES, *COMPARE_LINES, f"user {MOOR}"]
    assert spoken(provider.bodies[5]) == [*SECRET_LINES, *COMPARE_LINES, *MOOR_LINES]
    assert len(vcr) == len(provider.sent) == 6


@pytest.mark.parametrize("no_op", [untouched, lambda ctx: list(ctx.messages), keep(99)], ids=["same", "fresh", "keep"])
@replayed("unedited", *LANES, again=True)
async def test_a_no_op_sends_the_bytes_that_the_host_alone_sends(
    provider: ChatProvider, vcr: Cassette, no_op: Callable[[Context], Sequence[BaseMessage]]
) -> None:
    """A processor that changes nothing leaves every body of the conversation as it is, byte for byte."""
    office = Office(provider)

    for prompt in QUESTIONS:
        await office.ask(prompt, (), adapter(no_op))

    assert provider.sent == [request.body for request in vcr.requests]
    assert vcr.all_played


@replayed("unedited", *LANES, again=True)
async def test_a_wrapped_model_sends_the_same_in_a_no_op(provider: ChatProvider, vcr: Cassette) -> None:
    """A loop by hand, with the chunks of a stream in its history, gets the recorded answers too."""
    clerk = Clerk(provider)

    for prompt in QUESTIONS:
        await clerk.ask(prompt, adapter(lambda ctx: list(ctx.messages)))

    assert vcr.all_played
    assert spoken(provider.bodies[5]) == [*SECRET_LINES, *COMPARE_LINES, *MOOR_LINES]


@replayed("unedited", *LANES, again=True)
async def test_a_false_condition_sends_the_bytes_that_the_host_alone_sends(
    provider: ChatProvider, vcr: Cassette
) -> None:
    """While the condition says no the processor is not run, and nothing of a request changes."""
    asked: list[tuple[int, int]] = []
    office = Office(provider)

    def never(state: HistoryProcessorState) -> bool:
        asked.append((state.request_index, state.cache_epoch))
        return False

    for prompt in QUESTIONS:
        await office.ask(prompt, (), adapter(lambda _ctx: [], never))

    assert asked == [(1, 0), (1, 0), (2, 0), (1, 0), (2, 0), (3, 0)]
    assert provider.sent == [request.body for request in vcr.requests]


@replayed("unedited", *LANES, again=True)
async def test_a_slice_through_a_tool_exchange_is_refused_before_transport(
    provider: ChatProvider, vcr: Cassette
) -> None:
    """The last three messages begin with a tool result whose call is cut off; the next request is never sent."""
    office = Office(provider)
    await office.talk()
    before = list(office.history)

    with pytest.raises(HistoryProcessingValidationError) as caught:
        await office.ask(MOOR, (), adapter(lambda ctx: list(ctx.messages)[-3:]))

    assert [violation.rule for violation in caught.value.violations] == [
        "split_group",
        "orphan_tool_result",
        "turn_order",
    ]
    assert office.history[:-1] == before
    assert (vcr.play_count, len(provider.sent)) == (3, 3)


@replayed("unedited", *LANES, again=True)
async def test_a_refused_edit_of_a_wrapped_model_sends_nothing(provider: ChatProvider, vcr: Cassette) -> None:
    """Of the recorded answers none is asked for when the first edit is already refused."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        await Clerk(provider).ask(SECRET, adapter(lambda _ctx: []))

    assert caught.value.rule == "empty_result"
    assert (vcr.play_count, provider.sent) == (0, [])


@replayed("unedited", *LANES, again=True)
async def test_a_request_with_another_body_gets_no_answer(provider: ChatProvider, vcr: Cassette) -> None:
    """Bodies are matched: a cassette answers only the requests that were recorded."""
    with pytest.raises(Exception, match=r"cassette|Connection error"):
        await Office(provider).ask(SECRET.replace("saffron", "ginger"), ())

    assert len(provider.sent) == 1
    assert vcr.play_count == 0


@replayed("recent-groups", *LANES)
async def test_recent_groups_are_kept_before_every_request_of_a_loop(provider: ChatProvider, vcr: Cassette) -> None:
    """The dropped turn is in none of the three requests and not in the thread; the parallel exchange is in all."""
    steps: list[tuple[int, int]] = []
    office = Office(provider)
    await office.talk()

    def keep_one(ctx: Context) -> list[BaseMessage]:
        steps.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    await office.ask(MOOR, MOORED, adapter(keep_one))

    assert [spoken(body) for body in provider.bodies[3:]] == KEPT_ONE
    assert steps == [(1, 0), (2, 1), (3, 1)]
    assert " ".join(message.type for message in office.history) == "human ai tool tool ai human ai tool ai tool ai"
    assert "saffron" not in repr(office.history)
    assert len(vcr) == len(provider.sent) == 6


@replayed("recent-groups", *LANES, again=True)
async def test_a_wrapped_model_keeps_recent_groups_before_every_request(provider: ChatProvider, vcr: Cassette) -> None:
    """The bodies are the agent's, though the loop hands the whole history in each time and keeps it."""
    clerk = Clerk(provider)
    await clerk.ask(SECRET)
    await clerk.ask(COMPARE)

    await clerk.ask(MOOR, adapter(keep(1)))

    assert [spoken(body) for body in provider.bodies[3:]] == KEPT_ONE
    assert vcr.all_played
    assert "saffron" in repr(clerk.history)


@replayed("replaced-group", *LANES)
async def test_replaced_groups_are_sent_as_their_summary(provider: ChatProvider) -> None:
    """A redacted turn goes out as its summary, at its place, in every request after it."""
    office = Office(provider)
    await office.talk()

    await office.ask(MOOR, MOORED, adapter(redact))

    assert [spoken(body) for body in provider.bodies[3:]] == [[SUMMARY_LINE, *lines] for lines in KEPT_ONE]
    assert all(b"saffron" not in body for body in provider.sent[3:])
    assert "saffron" not in repr(office.history)


@replayed("signed-reasoning", *REASONING)
async def test_signed_reasoning_protects_its_group(provider: ChatProvider) -> None:
    """Asked to keep nothing, the processor keeps the reasoned turn whole, signature and all, and drops the other."""
    model = thoughtful(provider)
    office = Office(provider)
    await office.ask(SECRET, NOTED)
    await office.ask(COMPARE, thought_over(COMPARED), model=model)
    issued = signatures(provider.bodies[2])

    await office.ask(MOOR, thought_over(MOORED), adapter(keep(0)), model=model)

    assert len(issued) == 1
    assert [spoken(body) for body in provider.bodies[3:]] == [
        [*THOUGHT_LINES, *RUNNING_LINES[:1]],
        [*THOUGHT_LINES, *RUNNING_LINES[:4]],
        [*THOUGHT_LINES, *RUNNING_LINES],
    ]
    assert [signatures(body)[:1] for body in provider.bodies[3:]] == [issued, issued, issued]


@replayed("signed-reasoning", *REASONING, again=True)
async def test_a_wrapped_model_protects_signed_reasoning_too(provider: ChatProvider, vcr: Cassette) -> None:
    """The signed blocks of a stream are in the chunks of the history, and come back as they were issued."""
    model = thoughtful(provider)
    clerk = Clerk(provider)
    await clerk.ask(SECRET)
    await clerk.ask(COMPARE, model=model)

    await clerk.ask(MOOR, adapter(keep(0)), model=model)

    assert vcr.all_played
    assert spoken(provider.bodies[5]) == [*THOUGHT_LINES, *RUNNING_LINES]


@replayed("open-cycle", *REASONING)
async def test_an_open_cycle_keeps_its_reasoning_when_closed_ones_may_go(provider: ChatProvider) -> None:
    """With `open_cycle` the closed reasoned turn is dropped, and the running loop returns its own reasoning."""
    model = thoughtful(provider)
    office = Office(provider)
    await office.ask(COMPARE, thought_over(COMPARED), model=model)

    editing = adapter(keep(0), reasoning_protection="open_cycle")
    await office.ask(MOOR, thought_over(MOORED), editing, model=model)

    assert [spoken(body) for body in provider.bodies[2:]] == [RUNNING_LINES[:1], RUNNING_LINES[:4], RUNNING_LINES]
    assert len(signatures(provider.bodies[3])) == 1
    assert signatures(provider.bodies[3]) == signatures(provider.bodies[4]) != signatures(provider.bodies[1])


@replayed("bound-refused", ANTHROPIC_JSON)
async def test_an_edit_before_bound_reasoning_is_refused(provider: ChatProvider) -> None:
    """On a model that binds reasoning to its prefix the edit would make the provider refuse the next request."""
    model = provider.chat("claude-sonnet-5-5")
    office = Office(provider)
    await office.ask(SECRET, NOTED, model=model)
    await office.ask(COMPARE, thought_over(COMPARED), model=model)

    with pytest.raises(HistoryProcessingValidationError) as caught:
        await office.ask(MOOR, (), adapter(keep(0)), model=model)

    (violation,) = caught.value.violations
    assert (violation.rule, violation.entries) == ("bound_reasoning", (3,))
    assert len(provider.sent) == 3


@replayed("held-response", *SERVER_HELD)
async def test_an_automatic_chain_brings_its_text_back_to_the_host_alone(provider: ChatProvider) -> None:
    """Why the next test is needed: the server adds what the request itself no longer says."""
    model = provider.chat(use_previous_response_id=True)
    office = Office(provider)
    await office.ask(SECRET, NOTED, model=model)
    told = office.history[-1].response_metadata["id"]

    said = await office.ask(ASK, [Recall("saffron")], model=model)

    assert "saffron" in said
    assert [body.get("previous_response_id") for body in provider.bodies] == [None, told]
    assert spoken(provider.bodies[1]) == [f"user {ASK}"]


@replayed("held-response-edited", *SERVER_HELD)
async def test_removed_text_does_not_come_back_by_an_automatic_chain(provider: ChatProvider) -> None:
    """The edited request names no response, the next ones the answers to it, so nothing removed is behind them."""
    model = provider.chat(use_previous_response_id=True)
    office = Office(provider)
    await office.ask(SECRET, NOTED, model=model)

    said = await office.ask(MOOR, [*MOORED[:2], Recall("saffron")], adapter(keep(0)), model=model)

    answers = [message.response_metadata["id"] for message in office.history if message.type == "ai"]
    assert "saffron" not in said
    assert [body.get("previous_response_id") for body in provider.bodies] == [None, None, answers[0], answers[1]]
    assert [spoken(body) for body in provider.bodies[1:]] == [MOOR_LINES[:1], MOOR_LINES[2:3], MOOR_LINES[4:]]


@replayed("held-conversation-edited", *SERVER_HELD)
async def test_removed_text_does_not_come_back_by_a_conversation(provider: ChatProvider) -> None:
    """After an edit no request of the thread belongs to the old conversation; the caller's model still names it."""
    id_ = (await provider.openai().conversations.create()).id
    model = provider.chat(model_kwargs={"conversation": id_})
    office = Office(provider)
    await office.ask(SECRET, NOTED, model=model)

    said = await office.ask(MOOR, [*MOORED[:2], Recall("saffron")], adapter(keep(0)), model=model)

    assert "saffron" not in said
    assert [body.get("conversation") for body in provider.bodies] == [id_, None, None, None]
    assert [spoken(body) for body in provider.bodies[1:]] == [MOOR_LINES[:1], MOOR_LINES[:3], MOOR_LINES]
    assert model.model_dump()["model_kwargs"] == {"conversation": id_}


@replayed("held-response-bound", *SERVER_HELD)
async def test_removed_text_does_not_come_back_by_a_bound_response_id(provider: ChatProvider) -> None:
    """An id that was bound to a wrapped model is left out of its edited request."""
    clerk = Clerk(provider)
    provider.script(*NOTED, Recall("saffron"))
    await clerk.ask(SECRET)
    told = clerk.history[-1].response_metadata["id"]
    bound = adapter(keep(0)).wrap(provider.chat().bind(previous_response_id=told))

    answer = await bound.ainvoke([*clerk.history, ("user", ASK)])

    assert "saffron" not in answer.text
    assert "previous_response_id" not in json.dumps(provider.bodies)
