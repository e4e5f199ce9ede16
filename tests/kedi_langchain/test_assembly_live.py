"""What the callbacks of a compiler are shown and may do on LangChain, and how its options are looked at."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from asking import ASKS, RUNS
from assemblies import compiler, extracted, noting, wishing
from assembling import contract, inputs
from chats import Chat, StreamingChat, adapter, calls, keep, lines, results, turns
from kedi_compile import AssemblyError, HistoryConfigurationError
from kedi_compile.assembly import (
    ContractRegistry,
    Extraction,
    ExtractionRequest,
    LiveRequest,
    RequestCompiler,
    ToolSchema,
)
from kedi_compile.conversation import ConversationState, history_scope
from kedi_langchain import LangChainAdapter, messages_of
from threads import agent, answering, asks, look, says
from ways_in import Look

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
VARIABLE = "OMNIUS_REFERENCE_CONTRACT_MODULES"
SET: contextvars.ContextVar[str] = contextvars.ContextVar("set", default="nothing")
LOOK = ToolSchema("look", "Look around.", {"type": "object", "properties": {}})


def test_a_callback_is_shown_what_the_caller_handed_to_the_run() -> None:
    """The runtime's context, the same object, and the thread: the ledger of one user among many is found by them."""
    seen: list[LiveRequest] = []
    context: Any = {"user": "u1"}
    given = adapter(request_compiler=compiler(noting(seen)))
    made: Any = create_agent(
        StreamingChat(transport=answering("done")), middleware=[given.middleware()], checkpointer=InMemorySaver()
    )

    made.invoke(says("now"), {"configurable": {"thread_id": "t-7"}}, context=context)

    assert seen[0].context is context
    assert seen[0].conversation_id == "t-7"


@EACH_ASK
def test_a_callback_is_shown_the_conversation_that_a_call_is_a_turn_of(ask: Any) -> None:
    """Its name is known to no host: the scope says it, as in the dump."""
    seen: list[LiveRequest] = []
    model = adapter(request_compiler=compiler(noting(seen))).wrap(StreamingChat(transport=answering("done")))

    with history_scope(True, ConversationState("talk-1")):
        ask(model, [HumanMessage("now")])

    assert seen[0].conversation_id == "talk-1"


@EACH_RUN
def test_a_callback_is_shown_the_conversation_that_a_run_is_a_turn_of(run: Any) -> None:
    """At each of its requests."""
    seen: list[LiveRequest] = []
    given = adapter(request_compiler=compiler(noting(seen)))

    with history_scope(True, ConversationState("talk-1")):
        run(agent(answering(calls("c1"), "done"), given), says("now"))

    assert [live.conversation_id for live in seen] == ["talk-1", "talk-1"]


@EACH_RUN
def test_a_callback_is_shown_each_request_behind_its_edit(run: Any) -> None:
    """Exactly these facts: index, model, calls since the user's message and before it, tools, size, and text."""
    seen: list[LiveRequest] = []
    given = adapter(keep(1), request_compiler=compiler(noting(seen)), token_counter=lambda message: 7)

    run(agent(answering(calls("c1"), "done"), given), asks("now"))

    (first, second) = seen
    assert first == LiveRequest(
        request_index=1,
        model_id="streaming:scripted",
        calls=(),
        earlier_calls=(),
        tools=(LOOK,),
        history_tokens=21,
        user_text="now",
        run_id=first.run_id,
    )
    assert second == LiveRequest(
        request_index=2,
        model_id="streaming:scripted",
        calls=("look",),
        earlier_calls=(),
        tools=(LOOK,),
        history_tokens=35,
        user_text="now",
        run_id=first.run_id,
    )


@EACH_ASK
def test_a_callback_is_shown_each_request_of_a_model(ask: Any) -> None:
    """Each is a run of its own, with the tools that are bound."""
    seen: list[LiveRequest] = []
    given = adapter(request_compiler=compiler(noting(seen)), token_counter=lambda message: 7)
    model = given.wrap(StreamingChat(transport=answering("done"))).bind_tools([Look])
    history = [HumanMessage("q"), calls("c0", tool="read"), *results("c0"), *turns(1)[1:], HumanMessage("now")]

    ask(model, [SystemMessage("Be brief."), *history, calls("c1"), *results("c1")])

    function = convert_to_openai_tool(Look)["function"]
    assert seen == [
        LiveRequest(
            request_index=1,
            model_id="streaming:scripted",
            calls=("look",),
            earlier_calls=("read",),
            tools=(ToolSchema("Look", "Look at something.", function["parameters"]),),
            history_tokens=8 * 7,
            user_text="now",
        )
    ]


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ({"type": "web_search_20250305", "name": "web_search"}, ("web_search", "", None)),
        ({"type": "file_search", "vector_store_ids": ["v"]}, ("file_search", "", None)),
        ({"google_search": {}}, ("google_search", "", None)),
        ({"name": "read", "description": "Read.", "input_schema": {"a": 1}}, ("read", "Read.", {"a": 1})),
        ({"type": "function", "function": {"name": "read", "parameters": {"a": 1}}}, ("read", "", {"a": 1})),
    ],
)
def test_a_tool_of_any_form_is_listed(tool: dict[str, Any], schema: tuple[str, str, Any]) -> None:
    """One that the provider runs goes by its name or kind, with all that it says of itself."""
    seen: list[LiveRequest] = []
    model = adapter(request_compiler=compiler(noting(seen))).wrap(Chat(transport=answering("done")))

    model.bind(tools=[tool]).invoke("now")

    name, description, parameters = schema
    assert seen[0].tools == (ToolSchema(name, description, tool if parameters is None else parameters),)


def test_tools_of_one_kind_that_a_provider_runs_are_numbered() -> None:
    """A model may be bound to two servers, and the inputs give each tool once."""
    seen: list[LiveRequest] = []
    servers = [{"type": "mcp", "server_label": label} for label in ("files", "mail")]
    model = adapter(request_compiler=compiler(noting(seen))).wrap(Chat(transport=answering("done")))

    model.bind(tools=servers).invoke("now")

    assert seen[0].tools == (ToolSchema("mcp", "", servers[0]), ToolSchema("mcp 2", "", servers[1]))


def extract(wish: ExtractionRequest) -> Extraction:
    """Extract, and set a context variable."""
    assert (wish.source.path, wish.reason) == ("a.py", "requested")
    SET.set("by the extraction")
    return extracted()


async def extract_async(wish: ExtractionRequest) -> Extraction:
    """Extract a moment later."""
    await asyncio.sleep(0)
    return extract(wish)


@EACH_RUN
@pytest.mark.parametrize("extraction", [extract, extract_async])
def test_an_extraction_is_sent_in_place_of_the_body(run: Any, extraction: Callable[[Any], Any]) -> None:
    """It is asked for once, and its context variables stay its own."""
    found: list[str] = []

    def answer() -> None:
        found.append(SET.get())

    transport = answering(answer)
    run(agent(transport, adapter(request_compiler=wishing(extraction)), tools=[]), says("now"))

    sent = str(transport.requests[0])
    assert ("It sets x." in sent, "x = 1" in sent) == (True, False)
    assert found == ["nothing"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("callback", ["inputs", "extraction"])
def test_an_agent_in_a_callback_is_no_part_of_the_conversation(is_async: bool, callback: str) -> None:
    """It sees none of the turns, and leaves none."""
    inner, transport, state = answering("inner answer"), answering("one", "two"), ConversationState()
    reader = agent(inner, adapter(), tools=[])

    async def extraction(wish: ExtractionRequest) -> Extraction:
        return extracted(str((await reader.ainvoke(says("read this")))["messages"][-1].text))

    async def give(live: LiveRequest) -> Any:
        await reader.ainvoke(says("what applies?"))
        return inputs()

    used = wishing(extraction) if callback == "extraction" else RequestCompiler(inputs=give)
    built = agent(transport, adapter(request_compiler=used), tools=[])
    run = RUNS["ainvoke" if is_async else "invoke"]
    with history_scope(True, state):
        run(built, says("first"))
        run(built, says("second"))

    assert all(len(sent) == 1 for sent in inner.sent)
    assert inner.sent
    assert (state.turns, lines(messages_of(state))) == (2, ["< first", "> one", "< second", "> two"])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("callback", ["inputs", "extraction"])
def test_a_callback_may_not_call_the_adapter_it_belongs_to(is_async: bool, callback: str) -> None:
    """That would ask it again, and again."""
    transport = answering("done")
    models: list[Any] = []

    def call(_: object) -> Any:
        models[0].invoke("inner")

    async def call_async(_: object) -> Any:
        await models[0].ainvoke("inner")

    given = call_async if is_async else call
    used = wishing(given) if callback == "extraction" else RequestCompiler(inputs=given)
    models.append(adapter(request_compiler=used).wrap(Chat(transport=transport)))

    with pytest.raises(AssemblyError, match=f"`{callback}` raised HistoryProcessingError: A history callback called"):
        ASKS["ainvoke" if is_async else "invoke"](models[0], "now")
    assert transport.requests == []


BAD_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no compiler": ({"request_compiler": inputs()}, "`request_compiler` is RequestInputs; give a RequestCompiler"),
    "no inputs": (
        {"request_compiler": RequestCompiler()},
        "`request_compiler` has no `inputs`; give a RequestCompiler",
    ),
    "the class": ({"request_compiler": RequestCompiler}, "`request_compiler` is the class RequestCompiler; give"),
    "dump": ({"dump": 3}, "`dump` is 3; it must be a path, a `DumpFile`, or a callable"),
    "async dump": ({"dump": extract_async}, "`dump` is .*, which is async"),
    "dump_errors": ({"dump_errors": "ignore"}, '`dump_errors` is \'ignore\'; it must be "warn" or "raise"'),
    "dump_errors alone": ({"dump_errors": None}, '`dump_errors` is None; it must be "warn" or "raise"'),
    "redact": ({"redact": 3}, "`redact`"),
    "redact in a list": ({"redact": [str.upper, "x"]}, "Redaction 2 is 'x'; it must be a callable"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_an_option_of_another_type_is_refused(name: str) -> None:
    """Where the adapter is made, and not at the first request."""
    options, message = BAD_OPTIONS[name]
    with pytest.raises(HistoryConfigurationError, match=message):
        LangChainAdapter(**options)


def sent_by(given: LangChainAdapter) -> str:
    """Return the stable text that an adapter sends."""
    transport = answering("done")
    given.wrap(Chat(transport=transport)).invoke("now")
    return str(transport.requests[0][0].text)


def test_the_operators_modules_are_read_when_the_adapter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is made before, or after, has none of them."""
    used = RequestCompiler(ContractRegistry([contract("release"), contract("security")]), inputs=inputs())
    monkeypatch.setenv(VARIABLE, " release , ")
    made = adapter(request_compiler=used)
    monkeypatch.delenv(VARIABLE)

    assert "Rules of release." in sent_by(made)
    assert "Rules of security." not in sent_by(made)
    assert "Rules of" not in sent_by(adapter(request_compiler=used))


def test_an_unknown_module_of_the_operator_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo must not silently send less."""
    used = RequestCompiler(ContractRegistry([contract("release"), contract("security")]), inputs=inputs())
    monkeypatch.setenv(VARIABLE, "relaese")

    with pytest.raises(AssemblyError) as caught:
        adapter(request_compiler=used)

    assert str(caught.value) == (
        f"There is no contract 'relaese' (from the operator ({VARIABLE})); known are release, security"
    )


def test_the_operators_modules_say_nothing_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no contracts to name."""
    monkeypatch.setenv(VARIABLE, "release")

    assert not adapter().is_active


def awaitable_inputs(live: LiveRequest) -> Awaitable[Any]:
    """Return something to await, from a function that looks synchronous."""

    async def give() -> Any:
        return inputs()

    return give()


@EACH_ASK
def test_a_callback_that_returns_an_awaitable_is_awaited(ask: Any) -> None:
    """Whatever it looks like from outside."""
    transport = answering("done")

    ask(adapter(request_compiler=compiler(awaitable_inputs)).wrap(Chat(transport=transport)), "now")

    assert len(transport.requests) == 1


def test_the_tool_of_an_agent_is_the_one_that_is_listed() -> None:
    """The schema is what the host's own conversion makes of it."""
    assert convert_to_openai_tool(look)["function"] == {
        "name": LOOK.name,
        "description": LOOK.description,
        "parameters": LOOK.parameters,
    }
