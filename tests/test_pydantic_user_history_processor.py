"""User-defined history processing over provider-native tool loops, replayed from cassettes.

The vendors' own clients run against recorded answers, and a request whose body differs from the recorded one gets
none. Each test builds its whole conversation from the cassette, so every id, signature and reasoning item in it was
issued by whoever answered; `tests/support/recording.py` says who that is. `make record` records all of them again.
The story is in `tests/support/harbour.py`: a skipper asks a harbour office about tides and berths.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelMessage, ToolCallPart
from vcr.cassette import Cassette
from vcr.errors import CannotOverwriteExistingCassetteException

from agents import Context, adapter, keep, noting, untouched
from harbour import (
    ANTHROPIC_JSON,
    ASK,
    CASSETTES,
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
    Harbour,
    held_by,
    redact,
    replayed,
    response_id,
    signatures,
    thought_over,
    thoughtful,
)
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorState
from recording import Provider, Recall
from spoken import spoken


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    """Name the folder of this adapter's cassettes."""
    return str(CASSETTES)


@pytest.fixture
def default_cassette_name(request: pytest.FixtureRequest) -> str:
    """Name a cassette by its story and lane."""
    marker = request.node.get_closest_marker("default_cassette")
    return f"{marker.args[0]}-{request.node.callspec.params['provider']}" if marker else request.node.name


@pytest.fixture
async def provider(request: pytest.FixtureRequest, record_mode: str) -> AsyncIterator[Provider]:
    """Open the provider of a lane."""
    mode = request.node.get_closest_marker("vcr").kwargs.get("record_mode", record_mode)
    async with Provider(request.param, recording=mode != "none") as served:
        yield served


@replayed("unedited", *LANES)
async def test_the_host_alone_sends_the_whole_history(provider: Provider, vcr: Cassette) -> None:
    """What the other tests compare with: without the adapter every request carries all that was said."""
    harbour = Harbour(provider)
    await harbour.talk()

    await harbour.ask(MOOR, MOORED)

    assert spoken(provider.bodies[3]) == [*SECRET_LINES, *COMPARE_LINES, f"user {MOOR}"]
    assert spoken(provider.bodies[5]) == [*SECRET_LINES, *COMPARE_LINES, *MOOR_LINES]
    assert len(vcr) == len(provider.sent) == 6


@pytest.mark.parametrize("no_op", [untouched, lambda ctx: list(ctx.messages), keep(99)], ids=["same", "fresh", "keep"])
@replayed("unedited", *LANES, again=True)
async def test_a_no_op_sends_the_bytes_that_the_host_alone_sends(
    provider: Provider, vcr: Cassette, no_op: Callable[[Context], Sequence[ModelMessage]]
) -> None:
    """A processor that changes nothing leaves every body of the conversation as it is, byte for byte."""
    harbour = Harbour(provider)

    for prompt in (SECRET, COMPARE, MOOR):
        await harbour.ask(prompt, (), adapter(no_op))

    assert provider.sent == [request.body for request in vcr.requests]
    assert vcr.all_played


@replayed("unedited", *LANES, again=True)
async def test_a_false_condition_sends_the_bytes_that_the_host_alone_sends(provider: Provider, vcr: Cassette) -> None:
    """While the condition says no the processor is not run, and nothing of a request changes."""
    asked: list[tuple[int, int]] = []
    harbour = Harbour(provider)

    def never(state: HistoryProcessorState) -> bool:
        asked.append((state.request_index, state.cache_epoch))
        return False

    for prompt in (SECRET, COMPARE, MOOR):
        await harbour.ask(prompt, (), adapter(lambda _ctx: [], never))

    assert asked == [(1, 0), (1, 0), (2, 0), (1, 0), (2, 0), (3, 0)]
    assert provider.sent == [request.body for request in vcr.requests]


@replayed("unedited", *LANES, again=True)
async def test_a_refused_edit_sends_nothing(provider: Provider, vcr: Cassette) -> None:
    """Of the recorded answers none is asked for when the first edit is already refused."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        await Harbour(provider).ask(SECRET, (), adapter(lambda _ctx: []))

    assert caught.value.rule == "empty_result"
    assert provider.sent == []
    assert (vcr.play_count, len(vcr)) == (0, 6)


@replayed("unedited", *LANES, again=True)
async def test_a_slice_through_a_tool_exchange_is_refused_before_transport(provider: Provider, vcr: Cassette) -> None:
    """The last three messages begin with tool results whose calls are cut off; the next request is never sent."""
    harbour = Harbour(provider)
    await harbour.talk()
    before = list(harbour.history)

    with pytest.raises(HistoryProcessingValidationError) as caught:
        await harbour.ask(MOOR, (), adapter(lambda ctx: list(ctx.messages)[-3:]))

    assert [violation.rule for violation in caught.value.violations] == [
        "split_group",
        "orphan_tool_result",
        "orphan_tool_result",
        "turn_order",
    ]
    assert harbour.history == before
    assert (vcr.play_count, len(provider.sent)) == (3, 3)


@replayed("unedited", *LANES, again=True)
async def test_origins_name_the_recorded_calls(provider: Provider) -> None:
    """A later run reads which tools the earlier turns called, with the ids that the provider gave the calls."""
    seen: list[list[tuple[str, str | None, str | None]]] = []
    carrying = adapter(
        noting(seen, lambda ctx: [(o.kind, o.tool_name, o.tool_call_id) for g in ctx.groups for o in g.origins])
    )
    harbour = Harbour(provider)
    for prompt in (SECRET, COMPARE, MOOR):
        await harbour.ask(prompt, (), carrying)

    first, second = (part.tool_call_id for part in harbour.history[3].parts if isinstance(part, ToolCallPart))

    assert [origin for origin in seen[3] if origin[1]] == [
        ("tool-call", "tide", first),
        ("tool-call", "tide", second),
        ("tool-result", "tide", first),
        ("tool-result", "tide", second),
    ]


@replayed("unedited", *LANES, again=True)
async def test_measured_tokens_are_the_providers_own(provider: Provider) -> None:
    """Within a tool loop the provider's count of the last answer is known, and the new results are added to it."""
    seen: list[tuple[int | None, int]] = []
    measuring = adapter(noting(seen, lambda ctx: (ctx.measured_tokens, ctx.entries[-1].estimated_tokens)))
    harbour = Harbour(provider)
    await harbour.talk()
    await harbour.ask(MOOR, (), measuring)

    reported = [m.usage.input_tokens + m.usage.output_tokens for m in harbour.history if m.kind == "response"]

    assert [measured for measured, _ in seen] == [None, reported[3] + seen[1][1], reported[4] + seen[2][1]]


@replayed("unedited", *LANES, again=True)
async def test_a_request_with_another_body_gets_no_answer(provider: Provider, vcr: Cassette) -> None:
    """Bodies are matched: a cassette answers only the requests that were recorded."""
    # The Anthropic client passes it on as a connection error, the OpenAI client as it is.
    with pytest.raises((CannotOverwriteExistingCassetteException, ModelAPIError)):
        await Harbour(provider).ask(SECRET.replace("saffron", "ginger"), ())

    assert len(provider.sent) == 1
    assert vcr.play_count == 0


@replayed("recent-groups", *LANES)
async def test_recent_groups_are_kept_before_every_request_of_a_loop(provider: Provider, vcr: Cassette) -> None:
    """The dropped turn is in none of the three requests, the parallel exchange before the question in all."""
    steps: list[tuple[int, int]] = []
    harbour = Harbour(provider)
    await harbour.talk()

    def keep_one(ctx: Context) -> list[ModelMessage]:
        steps.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    finished = await harbour.ask(MOOR, MOORED, adapter(keep_one))

    assert [spoken(body) for body in provider.bodies[3:]] == [
        [*COMPARE_LINES, *MOOR_LINES[:1]],
        [*COMPARE_LINES, *MOOR_LINES[:3]],
        [*COMPARE_LINES, *MOOR_LINES],
    ]
    assert steps == [(1, 0), (2, 1), (3, 1)]
    assert "saffron" not in repr(finished.all_messages)
    assert len(finished.new_messages) == 6
    assert len(vcr) == len(provider.sent) == 6


@replayed("replaced-group", *LANES)
async def test_replaced_groups_are_sent_as_their_summary(provider: Provider, vcr: Cassette) -> None:
    """A redacted turn goes out as its summary, at its place, in every request after it."""
    harbour = Harbour(provider)
    await harbour.talk()

    finished = await harbour.ask(MOOR, MOORED, adapter(redact))

    assert [spoken(body) for body in provider.bodies[3:]] == [
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES[:1]],
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES[:3]],
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES],
    ]
    assert all(b"saffron" not in body for body in provider.sent[3:])
    assert "saffron" not in repr(finished.all_messages)
    assert len(vcr) == len(provider.sent) == 6


@replayed("two-rewrites", ANTHROPIC_JSON)
async def test_two_rewrites_in_one_run_advance_the_generation_twice(provider: Provider) -> None:
    """Each rewrite is a generation of its own; a request without one goes on with what there is."""
    epochs: list[int] = []
    harbour = Harbour(provider)
    await harbour.talk()

    def drop_the_oldest(ctx: Context) -> list[ModelMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(max(0, 2 - ctx.request_index))

    await harbour.ask(MOOR, MOORED, adapter(drop_the_oldest))

    assert epochs == [0, 1, 2]
    assert [spoken(body) for body in provider.bodies[3:]] == [
        [*COMPARE_LINES, *MOOR_LINES[:1]],
        MOOR_LINES[:3],
        MOOR_LINES,
    ]


@replayed("signed-reasoning", *REASONING)
async def test_signed_reasoning_protects_its_group(provider: Provider) -> None:
    """Asked to keep nothing, the processor keeps the reasoned turn whole, signature and all, and drops the other."""
    harbour = Harbour(provider)
    await harbour.ask(SECRET, NOTED)
    await harbour.ask(COMPARE, thought_over(COMPARED), **thoughtful(provider))
    issued = signatures(provider.bodies[2])

    await harbour.ask(MOOR, thought_over(MOORED), adapter(keep(0)), **thoughtful(provider))

    assert len(issued) == 1
    assert [spoken(body) for body in provider.bodies[3:]] == [
        [*THOUGHT_LINES, *RUNNING_LINES[:1]],
        [*THOUGHT_LINES, *RUNNING_LINES[:4]],
        [*THOUGHT_LINES, *RUNNING_LINES],
    ]
    assert [signatures(body)[:1] for body in provider.bodies[3:]] == [issued, issued, issued]


@replayed("open-cycle", *REASONING)
async def test_an_open_cycle_keeps_its_reasoning_when_closed_ones_may_go(provider: Provider) -> None:
    """With `open_cycle` the closed reasoned turn is dropped, and the running loop returns its own reasoning."""
    harbour = Harbour(provider)
    await harbour.ask(COMPARE, thought_over(COMPARED), **thoughtful(provider))

    editing = adapter(keep(0), reasoning_protection="open_cycle")
    await harbour.ask(MOOR, thought_over(MOORED), editing, **thoughtful(provider))

    assert [spoken(body) for body in provider.bodies[2:]] == [RUNNING_LINES[:1], RUNNING_LINES[:4], RUNNING_LINES]
    assert len(signatures(provider.bodies[3])) == 1
    assert signatures(provider.bodies[3]) == signatures(provider.bodies[4]) != signatures(provider.bodies[1])


@replayed("bound-refused", ANTHROPIC_JSON)
async def test_an_edit_before_bound_reasoning_is_refused(provider: Provider) -> None:
    """On a model that binds reasoning to its prefix the edit would make the provider refuse the next request."""
    model = provider.model("claude-sonnet-5-5")
    harbour = Harbour(provider)
    await harbour.ask(SECRET, NOTED, model=model)
    await harbour.ask(COMPARE, thought_over(COMPARED), model=model)

    with pytest.raises(HistoryProcessingValidationError) as caught:
        await harbour.ask(MOOR, (), adapter(keep(0)), model=model)

    (violation,) = caught.value.violations
    assert (violation.rule, violation.entries) == ("bound_reasoning", (3,))
    assert len(provider.sent) == 3


@replayed("bound-stripped", ANTHROPIC_JSON)
async def test_bound_reasoning_can_be_stripped_instead(provider: Provider) -> None:
    """With `strip` the kept turn goes out without the reasoning that the edit has made invalid."""
    model = provider.model("claude-sonnet-5-5")
    harbour = Harbour(provider)
    await harbour.ask(SECRET, NOTED, model=model)
    await harbour.ask(COMPARE, thought_over(COMPARED), model=model)

    await harbour.ask(MOOR, MOORED, adapter(redact, bound_reasoning="strip"), model=model)

    assert spoken(provider.bodies[2]) == [*SECRET_LINES, *THOUGHT_LINES]
    assert [spoken(body) for body in provider.bodies[3:]] == [
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES[:1]],
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES[:3]],
        [SUMMARY_LINE, *COMPARE_LINES, *MOOR_LINES],
    ]


@replayed("held-response", *SERVER_HELD)
async def test_a_stored_response_brings_its_text_back_to_the_host_alone(provider: Provider) -> None:
    """Why the next test is needed: the server adds what the request itself no longer says."""
    harbour = Harbour(provider)
    told = await harbour.ask(SECRET, NOTED, settings=held_by("auto"))

    asked = await harbour.ask(ASK, [Recall("saffron")], settings=held_by(response_id(told)))

    assert "saffron" in asked.output
    assert provider.bodies[1]["previous_response_id"] == response_id(told)
    assert spoken(provider.bodies[1]) == [f"user {ASK}"]


@replayed("held-response-edited", *SERVER_HELD)
async def test_removed_text_does_not_come_back_by_a_fixed_response_id(provider: Provider) -> None:
    """After an edit the old response is not named, so the model cannot know the word; the settings stay as given."""
    harbour = Harbour(provider)
    told = await harbour.ask(SECRET, NOTED, settings=held_by("auto"))
    settings = held_by(response_id(told))

    asked = await harbour.ask(ASK, [Recall("saffron")], adapter(keep(0)), settings=settings)

    assert "saffron" not in asked.output
    assert provider.bodies[1].get("previous_response_id") is None
    assert spoken(provider.bodies[1]) == [f"user {ASK}"]
    assert settings == {"openai_previous_response_id": response_id(told)}


@replayed("held-conversation", *SERVER_HELD)
async def test_a_conversation_brings_its_text_back_to_the_host_alone(provider: Provider) -> None:
    """The same for a conversation that the server owns."""
    settings = held_by((await provider.openai().conversations.create()).id)
    harbour = Harbour(provider)
    await harbour.ask(SECRET, NOTED, settings=settings)

    asked = await harbour.ask(ASK, [Recall("saffron")], settings=settings)

    assert "saffron" in asked.output
    assert spoken(provider.bodies[1]) == [f"user {ASK}"]


@replayed("held-conversation-edited", *SERVER_HELD)
async def test_removed_text_does_not_come_back_by_a_conversation(provider: Provider) -> None:
    """After an edit no request of the run belongs to the old conversation, the later ones of a loop included."""
    settings = held_by((await provider.openai().conversations.create()).id)
    harbour = Harbour(provider)
    await harbour.ask(SECRET, NOTED, settings=settings)

    asked = await harbour.ask(MOOR, [*MOORED[:2], Recall("saffron")], adapter(keep(0)), settings=settings)

    assert "saffron" not in asked.output
    assert [body.get("conversation") for body in provider.bodies] == [settings["openai_conversation_id"], *[None] * 3]
    assert [spoken(body) for body in provider.bodies[1:]] == [MOOR_LINES[:1], MOOR_LINES[:3], MOOR_LINES]


@replayed("automatic-chain", *SERVER_HELD)
async def test_an_automatic_chain_resumes_from_a_response_made_after_the_edit(provider: Provider) -> None:
    """The edited request names no response, the next one the answer to it, so nothing removed is behind it."""
    settings = held_by("auto")
    harbour = Harbour(provider)
    told = await harbour.ask(SECRET, NOTED, settings=settings)

    asked = await harbour.ask(MOOR, [*MOORED[:2], Recall("saffron")], adapter(keep(0)), settings=settings)

    answers = [message.provider_response_id for message in asked.all_messages if message.kind == "response"]
    assert [body.get("previous_response_id") for body in provider.bodies] == [None, None, answers[0], answers[1]]
    assert response_id(told) not in answers
    assert "saffron" not in asked.output
