"""Assembled requests of LangChain models and agents: where each text stands, and that none of them is ever kept.

Failing and cancelled ones are in `test_assembly_failures.py`, what a callback is shown in `test_assembly_live.py`, and
what a checkpointer is given in `test_assembly_durable.py`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel

from asking import ASKS, RUNS, shown
from assemblies import EPOCH, KINDS, SLOT, SUCCESSOR, SYSTEM, compiler, given_by, growing, leaks, phased, steered
from assembling import inputs, ledger, source
from chats import Chat, StreamingChat, Transport, adapter, calls, keep, lines, results, turns
from kedi_compile.assembly import RequestCompiler
from threads import agent, answering, asks, graph, look, says
from ways_in import WAYS

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
OVERLOADED = RuntimeError("overloaded")

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
]


def assembling(request_compiler: RequestCompiler | None = None, *own: Any, **options: Any) -> Any:
    """Return an adapter that assembles."""
    return adapter(*own, request_compiler=request_compiler or compiler(), **options)


def wrapped(transport: Transport, request_compiler: RequestCompiler | None = None, **options: Any) -> Any:
    """Return a wrapped model whose requests are assembled."""
    return assembling(request_compiler, **options).wrap(StreamingChat(transport=transport))


def system_of(transport: Transport, request: int = 0) -> str:
    """Return the system text of a request."""
    first = transport.requests[request][0]
    assert isinstance(first, SystemMessage)
    return str(first.text)


@EACH_ASK
@pytest.mark.parametrize("kind", KINDS)
def test_the_stable_text_stands_in_front_of_a_models_own_system_message(ask: Any, kind: str) -> None:
    """And the late text around the user's text; whatever gives the inputs."""
    transport = answering("done")
    model = wrapped(transport, RequestCompiler(inputs=given_by(kind, steered())))

    ask(model, [SystemMessage("Be brief."), HumanMessage("now")])

    (request,) = transport.requests
    assert shown(request) == [f"< system {SYSTEM}\n\nBe brief.", f"< {EPOCH} | now | {SLOT}"]


@EACH_ASK
def test_a_model_without_a_system_message_gets_one(ask: Any) -> None:
    """The stable text alone."""
    transport = answering("done")

    ask(wrapped(transport), "now")

    assert shown(transport.requests[0]) == [f"< system {SYSTEM}", f"< {EPOCH} | now"]


def test_a_system_message_of_blocks_keeps_them() -> None:
    """The stable text is a block in front of them, so that a cache mark stays where it was."""
    transport = answering("done")
    blocks: list[Any] = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]

    wrapped(transport).invoke([SystemMessage(blocks), HumanMessage("now")])

    assert transport.requests[0][0].content == [{"type": "text", "text": SYSTEM}, *blocks]


@EACH_RUN
def test_the_stable_text_stands_in_front_of_an_agents_system_prompt(run: Any) -> None:
    """The system prompt of an agent is the host's own field."""
    transport = answering("done")

    run(
        agent(transport, assembling(RequestCompiler(inputs=steered())), tools=[], system_prompt="Be brief."),
        says("now"),
    )

    assert shown(transport.requests[0]) == [f"< system {SYSTEM}\n\nBe brief.", f"< {EPOCH} | now | {SLOT}"]


@EACH_RUN
def test_nothing_that_was_assembled_is_kept(run: Any) -> None:
    """Neither in the state, nor in what streams tell of it."""
    transport = answering(calls("c1"), "done")
    given = assembling(compiler(growing(ledger())))

    out = run(agent(transport, given, system_prompt="Be brief."), says("now"))

    assert len(transport.requests) == 2
    assert leaks(out) == []
    assert "RunTails" not in repr(out)
    json.dumps(out, default=lambda message: message.content)


@EACH_RUN
def test_the_next_run_begins_with_what_was_kept(run: Any) -> None:
    """Its frame is a first one again."""
    transport = answering("one", "two")
    built = agent(transport, assembling(), tools=[])
    first = built.invoke(says("first"))

    run(built, {"messages": [*first["messages"], HumanMessage("second")]})

    assert shown(transport.requests[1]) == [f"< system {SYSTEM}", "< first", "> one", f"< {EPOCH} | second"]


@EACH_RUN
def test_tails_stay_and_new_ones_stand_behind_tool_results(run: Any) -> None:
    """What was sent is sent again in its place, byte for byte; the newer frame says that it replaces it."""
    transport = answering(calls("c1"), calls("c2"), "done")

    run(agent(transport, assembling(compiler(growing(ledger())))), says("now"))

    first, second, third = (shown(request)[1:] for request in transport.requests)
    assert first == [f"< {EPOCH} | now"]
    assert second[:3] == [*first, "> call c1", "< result c1"]
    assert second[3].startswith(f"< {SUCCESSOR}\n\n{EPOCH}\n\n# Evidence")
    assert "body 2" in second[3]
    assert third[:6] == [*second, "> call c2", "< result c2"]
    assert third[6].startswith(f"< {SUCCESSOR}")
    assert ("body 2" in third[6], "body 3" in third[6]) == (False, True)


@EACH_RUN
def test_an_unchanged_frame_adds_nothing(run: Any) -> None:
    """A tool loop without news sends one tail, where it stood."""
    transport = answering(calls("c1"), calls("c2"), "done")

    run(agent(transport, assembling()), says("now"))

    assert shown(transport.requests[2])[1:] == [
        f"< {EPOCH} | now",
        "> call c1",
        "< result c1",
        "> call c2",
        "< result c2",
    ]


@EACH_RUN
def test_contracts_follow_the_phase_that_the_tool_calls_show(run: Any) -> None:
    """None is in force before a call was seen, and then each that the calls of this task bring."""
    transport = answering(calls("c1", tool="read"), calls("c2", tool="pytest"), "done")

    def read() -> str:
        """Read."""
        return "read"

    def pytest() -> str:
        """Test."""
        return "passed"

    run(agent(transport, assembling(phased()), tools=[read, pytest]), says("read the tests, please"))

    texts = [system_of(transport, number) for number in range(3)]
    assert [["discovery" in text, "checking" in text] for text in texts] == [
        [False, False],
        [True, False],
        [True, True],
    ]


def test_joined_blocks_of_a_message_stand_apart() -> None:
    """Some servers, and `text`, join them without anything between; no fence and no heading may run into the next."""
    transport = answering("done")

    wrapped(transport, RequestCompiler(inputs=steered())).invoke([HumanMessage("now")])

    assert transport.requests[0][1].text == f"{EPOCH}\n\nnow\n\n{SLOT}"


def test_what_earlier_turns_called_shows_no_phase() -> None:
    """The phase is that of the user's current message."""
    transport = answering("done")

    wrapped(transport, phased()).invoke(
        [HumanMessage("q"), calls("c1", tool="read"), *results("c1"), *turns(1)[1:], HumanMessage("now")]
    )

    assert "discovery" not in system_of(transport)


@EACH_ASK
def test_a_prompt_of_several_blocks_stays_whole(ask: Any) -> None:
    """The late text stands around all of it, and the caller's message is left alone."""
    transport = answering("done")
    image = {"type": "image", "url": "https://harbour.test/a.png"}
    given = HumanMessage([{"type": "text", "text": "look"}, image])

    ask(wrapped(transport, RequestCompiler(inputs=steered())), [given])

    assert transport.requests[0][1].content == [
        {"type": "text", "text": f"{EPOCH}\n\n"},
        {"type": "text", "text": "look"},
        image,
        {"type": "text", "text": f"\n\n{SLOT}"},
    ]
    assert given.content == [{"type": "text", "text": "look"}, image]


@EACH_RUN
def test_the_tools_of_the_agent_are_listed_with_their_digests(run: Any) -> None:
    """The schemas travel once, natively."""
    transport = answering("done")

    run(agent(transport, assembling()), says("now"))

    text = system_of(transport)
    assert [line.partition(", schema sha256 ")[0] for line in text.splitlines() if "- tool" in line] == [
        '- tool "look"'
    ]
    assert len(text.partition("schema sha256 ")[2]) == 64
    assert "Look around" not in text


class Answer(BaseModel):
    """An answer in a form."""

    words: str = "none"


def test_structured_output_goes_on_as_before() -> None:
    """The form of a model is a bound tool, that of an agent a tool of the host."""
    call = AIMessage("", tool_calls=[{"name": "Answer", "args": {"words": "yes"}, "id": "c1"}])
    model_side, agent_side = answering(call), answering(call)

    answer = wrapped(model_side).with_structured_output(Answer).invoke("now")
    state = agent(agent_side, assembling(), response_format=ToolStrategy(Answer)).invoke(says("now"))

    assert (answer, state["structured_response"]) == (Answer(words="yes"), Answer(words="yes"))
    assert '- tool "Answer"' in system_of(model_side)
    assert shown(model_side.requests[0])[1:] == shown(agent_side.requests[0])[1:] == [f"< {EPOCH} | now"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_through_a_model_is_assembled(way: Any) -> None:
    """Each of its requests once, whatever the way."""
    call = AIMessage("", tool_calls=[{"name": "Look", "args": {"what": "it"}, "id": "c1"}])
    transport = answering(call)
    model = wrapped(transport)

    way(model, [*turns(1), HumanMessage("now")])

    assert transport.requests
    for request in transport.requests:
        head, *middle, last = shown(request)
        assert head.startswith(f"< system {SYSTEM}")
        assert middle == lines(turns(1))
        assert last in (f"< {EPOCH} | now", f"< {EPOCH} | now too")


@EACH_ASK
def test_a_chain_is_assembled_behind_its_prompt(ask: Any) -> None:
    """What a template makes is the user's text."""
    transport = answering("done")
    chain = (
        ChatPromptTemplate([("system", "Be brief."), ("human", "{it}!")])
        | Chat(transport=transport)
        | StrOutputParser()
    )

    ask(assembling().wrap(chain), {"it": "now"})

    assert shown(transport.requests[0]) == [f"< system {SYSTEM}\n\nBe brief.", f"< {EPOCH} | now!"]


def changing() -> RequestCompiler:
    """Return a compiler whose inputs are others each time they are asked for."""
    asked: list[int] = []

    def give(live: Any) -> Any:
        asked.append(1)
        return inputs(source(f"{len(asked)}.py"))

    return compiler(give)


@pytest.mark.parametrize("ask", [ASKS["invoke"], ASKS["ainvoke"], ASKS["batch"]])
def test_a_retry_of_a_model_gets_the_same_request(ask: Any) -> None:
    """It is assembled once, for all attempts."""
    transport = answering(OVERLOADED, "done")

    ask(wrapped(transport, changing()).with_retry(wait_exponential_jitter=False), "now")

    first, second = map(shown, transport.requests)
    assert first == second


@EACH_ASK
def test_a_fallback_of_a_model_gets_the_same_request(ask: Any) -> None:
    """Also where the whole chain is tried again."""
    broken, transport = answering(OVERLOADED), answering("done")
    models = Chat(transport=broken).with_fallbacks([Chat(transport=transport)])
    chain = RunnableLambda(lambda given: given) | models

    ask(assembling(changing()).wrap(chain), "now")

    assert shown(broken.requests[0]) == shown(transport.requests[0])


@EACH_RUN
@pytest.mark.parametrize("outside", [True, False])
def test_a_retry_or_fallback_of_an_agent_gets_the_same_request(run: Any, outside: bool) -> None:
    """Wherever the middleware that makes it stands."""
    broken, transport = answering(OVERLOADED), answering(OVERLOADED, "done")
    others: list[Any] = [
        ModelRetryMiddleware(max_retries=1, initial_delay=0),
        ModelFallbackMiddleware(Chat(transport=transport)),
    ]
    around, behind = (others, []) if outside else ([], others)

    run(agent(broken, assembling(changing()), outside=around, inside=behind), says("now"))

    requests = [*map(shown, broken.requests), *map(shown, transport.requests)]
    assert len(requests) >= 3
    assert all(request == requests[0] for request in requests)


@EACH_RUN
def test_an_edited_history_is_assembled_as_it_goes_out(run: Any) -> None:
    """The edit is kept, and the tail is not."""
    transport = answering("done")
    built = agent(transport, assembling(None, keep(1)), tools=[])

    run(built, asks("now"))
    state = built.invoke(asks("now"))

    assert shown(transport.requests[0])[1:] == ["< question 3", "> answer 3", f"< {EPOCH} | now"]
    assert lines(state["messages"]) == ["< question 3", "> answer 3", "< now", "> done"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_node_of_a_graph_is_assembled(is_async: bool) -> None:
    """Each of its calls is a run of one request, and its state keeps nothing."""
    transport = answering("one", "two")
    built = graph(transport, assembling(None, keep(1)))
    run = RUNS["ainvoke" if is_async else "invoke"]

    state = run(built, asks("now"))
    after = run(built, {"messages": [*state["messages"], HumanMessage("more", id="more")]})

    assert shown(transport.requests[1]) == [f"< system {SYSTEM}", "< now", "> one", f"< {EPOCH} | more"]
    assert leaks(after) == []


def test_runs_of_one_adapter_share_no_tails() -> None:
    """Twenty at a time, each with its own tool loop."""
    transports = {n: answering(calls("c1"), calls("c2"), "done") for n in range(20)}
    shared = assembling(RequestCompiler(inputs=lambda live: inputs(source(f"{live.user_text}.py"))))
    middleware = shared.middleware()

    async def main() -> None:
        agents: list[tuple[int, Any]] = [
            (n, create_agent(Chat(transport=transport), [look], middleware=[middleware]))
            for n, transport in transports.items()
        ]
        await asyncio.gather(*(one.ainvoke(says(f"run {n}")) for n, one in agents))

    asyncio.run(main())

    for n, transport in transports.items():
        first, _, last = (shown(request)[1:] for request in transport.requests)
        assert f'## "run {n}.py"' in first[0]
        assert last == [first[0], "> call c1", "< result c1", "> call c2", "< result c2"]
