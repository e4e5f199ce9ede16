"""The dump of a LangChain model's or agent's requests: one line each, whatever became of it.

What is in a refused or cancelled one is also in `test_assembly_failures.py`, where the lines go in
`test_recording_kept.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRetryMiddleware
from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage

from asking import ASKS, RUNS
from assemblies import Dumps, compiler, phased, steered
from assembling import inputs
from chats import Answer, Chat, Context, Partial, StreamingChat, adapter, asked, calls, keep
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.assembly import Acknowledgement, RequestCompiler
from kedi_compile.dump.schema import GroupDump, HistoryDump, UsageDump
from threads import Gate, agent, answering, asks, graph, says
from ways_in import NEEDS_STREAM, WAYS

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
OVERLOADED = RuntimeError("overloaded")

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
]


def wrapped(*answers: Answer, processor: Any = None, **options: Any) -> Any:
    """Return a wrapped model whose requests are written down."""
    return adapter(processor, **options).wrap(StreamingChat(transport=answering(*answers)))


@EACH_RUN
def test_each_request_of_a_run_is_one_line(run: Any) -> None:
    """With its place in the run, and who made it."""
    dumps = Dumps()

    run(agent(answering(calls("c1"), "done"), adapter(dump=dumps)), says("now"))

    assert dumps.outcomes == ["answered", "answered"]
    assert [dump.request_index for dump in dumps] == [1, 2]
    assert {(dump.adapter, dump.model_id, dump.conversation_id, dump.lane) for dump in dumps} == {
        ("langchain", "streaming:scripted", None, None)
    }
    assert len({dump.run_id for dump in dumps}) == 1
    assert len({dump.request_id for dump in dumps}) == 2
    assert all(dump.duration is not None and dump.duration >= 0 for dump in dumps)


@EACH_ASK
def test_a_dump_alone_looks_at_no_history(ask: Any) -> None:
    """Without a processor nobody processes it."""
    dumps = Dumps()

    ask(wrapped("done", dump=dumps), asked())

    assert (dumps.only.outcome, dumps.only.request_index) == ("answered", 1)
    assert (dumps.only.history, dumps.only.assembly) == (HistoryDump(outcome="not_processed"), None)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_through_a_model_is_written_down(name: str) -> None:
    """One line for each of its requests; the end of the host's newest events cannot be followed."""
    transport = answering(AIMessage("", tool_calls=[{"name": "Look", "args": {"what": "it"}, "id": "c1"}]))
    dumps = Dumps()

    WAYS[name](adapter(request_compiler=compiler(), dump=dumps).wrap(StreamingChat(transport=transport)), asked())

    assert len(dumps) == len(transport.requests)
    assert set(dumps.outcomes) == {"sent" if name in NEEDS_STREAM else "answered"}
    assert all(dump.assembly is not None for dump in dumps)


def of_group(one: GroupDump) -> tuple[Any, ...]:
    """Return what a test looks at of a group."""
    return one.start, one.end, one.closed, one.protected_reasons, one.decision


EDIT = [
    (0, 2, True, (), "dropped"),
    (2, 4, True, ("signed_reasoning",), "kept"),
    (4, 6, True, (), "kept"),
    (6, 7, False, ("current_request",), "kept"),
]


def signed() -> list[Any]:
    """Return three exchanges, the second with signed reasoning, and a question."""
    messages = asked()
    messages[3] = AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}])
    return messages


@EACH_ASK
def test_the_edit_of_the_request_is_told_group_by_group(ask: Any) -> None:
    """What was dropped and what was protected, from where on, and the generations."""
    dumps = Dumps()

    ask(wrapped("done", processor=keep(1), dump=dumps), signed())

    told = dumps.only.history
    assert list(map(of_group, told.groups)) == EDIT
    assert (told.outcome, told.first_change, told.generation_before, told.generation_after) == ("edited", 0, 0, 1)
    assert (told.tokens_before or 0) > (told.tokens_after or 0) > 0
    assert told.continuation != ()


@EACH_RUN
def test_the_next_request_is_told_of_its_own_edit(run: Any) -> None:
    """The generation goes on from that of the one before."""
    dumps = Dumps()

    run(agent(answering(calls("c1"), "done"), adapter(keep(1), dump=dumps)), {"messages": signed()})

    found = [(dump.history.outcome, dump.history.generation_before, dump.history.generation_after) for dump in dumps]
    assert found == [("edited", 0, 1), ("unchanged", 1, 1)]
    assert list(map(of_group, dumps[0].history.groups)) == EDIT


def split(ctx: Context) -> Any:
    """Break a group in two."""
    return ctx.messages[1:]


@EACH_RUN
def test_a_refused_edit_is_told_with_what_it_breaks(run: Any) -> None:
    """Nothing was sent, and nothing was assembled."""
    dumps = Dumps()

    with pytest.raises(HistoryProcessingValidationError):
        run(agent(answering("never"), adapter(split, dump=dumps, request_compiler=compiler())), asks("now"))

    assert (dumps.only.outcome, dumps.only.history.outcome) == ("refused", "refused")
    assert [text.partition(":")[0] for text in dumps.only.history.violations] == ["split_group", "turn_order"]
    assert (dumps.only.error or "").startswith("HistoryProcessingValidationError: ")
    assert dumps.only.assembly is None


@EACH_RUN
def test_a_failed_request_is_told_with_its_error(run: Any) -> None:
    """And with the edit, which was not kept."""
    dumps = Dumps()

    with pytest.raises(RuntimeError, match="overloaded"):
        run(agent(answering(OVERLOADED), adapter(keep(1), dump=dumps)), asks("now"))

    assert (dumps.only.outcome, dumps.only.history.outcome) == ("failed", "edited")
    assert (dumps.only.error, dumps.only.usage) == ("RuntimeError: overloaded", UsageDump())


@pytest.mark.parametrize("ask", [ASKS["stream"], ASKS["astream"]])
def test_an_answer_that_breaks_off_is_a_failure(ask: Any) -> None:
    """Also in a stream."""
    dumps = Dumps()

    def fail() -> None:
        raise OVERLOADED

    with pytest.raises(RuntimeError, match="overloaded"):
        ask(wrapped(Partial("par", fail), dump=dumps), "now")

    assert dumps.outcomes == ["failed"]


@EACH_RUN
def test_the_usage_is_the_providers(run: Any) -> None:
    """With what it read from its cache and wrote into it."""
    dumps = Dumps()

    run(agent(answering(billed()), adapter(dump=dumps)), says("now"))

    assert dumps.only.usage == UsageDump(input=60, output=40, cache_read=30, cache_write=20)


@EACH_ASK
def test_the_usage_of_a_models_answer_is_the_providers(ask: Any) -> None:
    """Also where the answer is streamed."""
    dumps = Dumps()

    ask(wrapped(billed(), dump=dumps), "now")

    assert dumps.only.usage == UsageDump(input=60, output=40, cache_read=30, cache_write=20)


def billed() -> AIMessage:
    """Return an answer with all that a provider reports."""
    answer = AIMessage("done")
    answer.usage_metadata = {
        "input_tokens": 60,
        "output_tokens": 40,
        "total_tokens": 100,
        "input_token_details": {"cache_read": 30, "cache_creation": 20},
    }
    return answer


@EACH_RUN
def test_the_assembly_is_told_with_what_was_sent(run: Any) -> None:
    """A contract is in force where its body was in the system message that a model was handed."""
    dumps = Dumps()

    def read() -> str:
        """Read."""
        return "read"

    transport = answering(calls("c1", tool="read"), "done")
    run(agent(transport, adapter(request_compiler=phased(), dump=dumps), tools=[read]), says("now"))

    told = [dump.assembly for dump in dumps]
    assert [[(one.id, one.in_force) for one in each.contracts] for each in told if each] == [
        [],
        [("discovery", True)],
    ]
    assert [each.contracts_changed for each in told if each] == [False, True]
    assert [[(tail.number, tail.new) for tail in each.tails] for each in told if each] == [[(1, True)], [(1, False)]]
    assert [each.phase for each in told if each] == [None, "explore"]


class Instead(AgentMiddleware[Any, Any]):
    """Answers from a cache, behind the adapter's own middleware."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return ModelResponse(result=[AIMessage("from a cache")])

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return ModelResponse(result=[AIMessage("from a cache")])


class OwnSystem(AgentMiddleware[Any, Any]):
    """Sends a system message of its own, behind the adapter's own middleware."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(system_message=None))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(system_message=None))


@EACH_RUN
@pytest.mark.parametrize("behind", [Instead(), OwnSystem()], ids=["answers", "changes"])
def test_a_contract_that_was_not_sent_is_not_in_force(run: Any, behind: Any) -> None:
    """Because another middleware answers, or sends something else."""
    dumps = Dumps()
    used = RequestCompiler(phased().contracts, inputs=inputs(calls=("read",)), tool_phases={"read": "explore"})

    run(agent(answering("done"), adapter(request_compiler=used, dump=dumps), inside=[behind]), says("now"))

    assert dumps.only.assembly is not None
    assert [(one.id, one.in_force) for one in dumps.only.assembly.contracts] == [("discovery", False)]


@EACH_RUN
def test_steering_is_told_from_its_beginning_to_its_end(run: Any) -> None:
    """By the structured acknowledgement, which a tool may make."""
    dumps, given = Dumps(), steered()

    def look() -> str:
        """Look around."""
        given.frame.acknowledge(Acknowledgement("s1", "the agent"))
        return "done"

    used = adapter(request_compiler=RequestCompiler(inputs=given), dump=dumps)
    run(agent(answering(calls("c1"), "done"), used, tools=[look]), says("now"))

    told = [dump.assembly for dump in dumps]
    assert [[(one.id, one.state, one.by) for one in each.steering] for each in told if each] == [
        [("s1", "active", None)],
        [("s1", "acknowledged", "the agent")],
    ]


@pytest.mark.parametrize("ask", [ASKS["invoke"], ASKS["ainvoke"], ASKS["batch"]])
def test_each_attempt_at_a_models_request_is_a_line(ask: Any) -> None:
    """A retry says that its edit is the earlier attempt's."""
    dumps = Dumps()
    model = wrapped(OVERLOADED, "done", processor=keep(1), dump=dumps, request_compiler=compiler())

    ask(model.with_retry(wait_exponential_jitter=False), asked())

    assert dumps.outcomes == ["failed", "answered"]
    assert [dump.history.outcome for dump in dumps] == ["edited", "edited"]
    assert [dump.history.notes for dump in dumps] == [(), ("This is the edit of an earlier attempt at the request",)]
    first, second = (dump.assembly for dump in dumps)
    assert first == second


@EACH_RUN
@pytest.mark.parametrize("outside", [True, False])
def test_attempts_of_an_agents_middleware_are_told_where_the_adapter_sees_them(run: Any, outside: bool) -> None:
    """Those around the adapter's own are lines each; those behind it are one request."""
    dumps = Dumps()
    others: list[Any] = [
        ModelRetryMiddleware(max_retries=1, initial_delay=0),
        ModelFallbackMiddleware(Chat(transport=answering("done"))),
    ]
    around, behind = (others, []) if outside else ([], others)

    used = adapter(keep(1), dump=dumps, request_compiler=compiler())
    run(agent(answering(OVERLOADED), used, outside=around, inside=behind), asks("now"))

    assert dumps.outcomes[-1] == "answered"
    assert (len(dumps) > 1) is outside
    assert {dump.request_index for dump in dumps} == {1}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_node_of_a_graph_is_written_down(is_async: bool) -> None:
    """Each of its calls."""
    dumps = Dumps()

    RUNS["ainvoke" if is_async else "invoke"](graph(answering("done"), adapter(keep(1), dump=dumps)), asks("now"))

    assert (dumps.only.outcome, dumps.only.history.outcome) == ("answered", "edited")


def leave(model: Any) -> None:
    """Read a part of a stream and go."""
    for _ in model.stream("now"):
        break


def close(model: Any) -> None:
    """Close a stream in the middle."""
    stream = model.stream("now")
    next(stream)
    stream.close()


def throw(model: Any) -> None:
    """Raise where a stream is read."""
    with suppress(LookupError):
        for _ in model.stream("now"):
            raise LookupError


@pytest.mark.parametrize("options", [{}, {"request_compiler": compiler()}], ids=["dump", "assembled"])
@pytest.mark.parametrize("act", [leave, close, throw])
def test_an_abandoned_stream_is_one_line(act: Callable[[Any], None], options: dict[str, Any]) -> None:
    """It was no failure, and no whole answer came."""
    dumps = Dumps()
    act(wrapped("one two three", dump=dumps, **options))

    assert dumps.outcomes == ["cancelled"]


async def aclose(model: Any) -> None:
    """Close a stream in the middle."""
    stream = model.astream("now")
    await anext(stream)
    await stream.aclose()


async def cancel(model: Any) -> None:
    """Cancel the task that reads."""
    async for _ in model.astream("now"):
        asyncio.current_task().cancel()  # type: ignore[union-attr]  # there is one


@pytest.mark.parametrize("act", [aclose, cancel])
async def test_an_abandoned_asynchronous_stream_is_one_line(act: Callable[[Any], Awaitable[None]]) -> None:
    """The same."""
    dumps = Dumps()
    task = asyncio.ensure_future(act(wrapped(Partial("par", Gate().wait), dump=dumps)))
    await asyncio.wait([task])

    assert task.cancelled() is (act is cancel)
    assert dumps.outcomes == ["cancelled"]


def test_a_batch_with_a_failing_input_tells_them_apart() -> None:
    """Each of its requests is a line of its own."""
    dumps = Dumps()
    model = adapter(dump=dumps).wrap(Chat(transport=answering(OVERLOADED, "done")))

    out = model.batch(["one", "two"], {"max_concurrency": 1}, return_exceptions=True)

    assert [type(one) for one in out] == [RuntimeError, AIMessage]
    assert dumps.outcomes == ["failed", "answered"]
