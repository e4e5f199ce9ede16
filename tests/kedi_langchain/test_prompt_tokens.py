"""The newest prompt: what was meant for the interface never reaches a model, nor what is kept.

What `user_prompt_submit` makes of a prompt is in `test_prompt.py`, which words are tokens in
`kedi_compile/assembly/test_ui_tokens.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from asking import ASKS, RUNS, shown
from assemblies import EPOCH, Dumps, compiler, noting
from chats import Chat, StreamingChat, Transport, adapter, calls, lines
from kedi_compile import AssemblyError
from kedi_compile.assembly import LiveRequest
from kedi_compile.conversation import ConversationState, history_scope
from kedi_langchain import messages_of
from threads import THREAD, agent, answering, says

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
IMAGE = {"type": "image", "url": "https://harbour.test/a.png"}


def text(words: str, **fields: Any) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words, **fields}


def wrapped(transport: Transport, **options: Any) -> Any:
    """Return a wrapped model whose adapter has a compiler."""
    return adapter(**{"request_compiler": compiler(), **options}).wrap(StreamingChat(transport=transport))


PROMPTS = pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("fix it /nothink", "fix it"),
        ("/think\nfix it", "fix it"),
        ("say `/nothink` to me", "say `/nothink` to me"),
        ("what does /nothink do?", "what does `/nothink` do?"),
        ("read docs/nothink", "read docs/nothink"),
        ("```\n/nothink\n```", "```\n/nothink\n```"),
        ("  ", "  "),
    ],
)


@EACH_RUN
@PROMPTS
def test_tokens_of_an_interface_are_taken_out_of_a_prompt(run: Any, given: str, cleaned: str) -> None:
    """Quoted ones stay; the cleaned prompt is what is sent and what is kept, under its own id."""
    transport = answering("done")
    built = agent(transport, adapter(request_compiler=compiler()), InMemorySaver(), tools=[])

    run(built, {"messages": [HumanMessage(given, id="q1")]}, THREAD)

    assert shown(transport.requests[0])[1:] == [f"< {EPOCH} | {cleaned}"]
    kept = built.get_state(THREAD).values["messages"]
    assert [(message.id, message.content) for message in kept[:-1]] == [("q1", cleaned)]


@EACH_ASK
@PROMPTS
def test_tokens_are_taken_out_of_what_a_model_is_asked(ask: Any, given: str, cleaned: str) -> None:
    """Of earlier messages too, which were kept with them; the caller's own are left alone."""
    transport, message = answering("done"), HumanMessage(given)

    ask(wrapped(transport), [HumanMessage("q /nothink"), AIMessage("a"), message])

    assert shown(transport.requests[0])[1:] == ["< q", "> a", f"< {EPOCH} | {cleaned}"]
    assert message.content == given


BLOCKS: dict[str, tuple[list[Any], list[Any]]] = {
    "a text": ([text("look at this /nothink"), IMAGE], [text("look at this"), IMAGE]),
    "a text that goes": ([text("/nothink"), IMAGE], [IMAGE]),
    "a text with fields": ([text("look /nothink", cache_control={"a": 1})], [text("look", cache_control={"a": 1})]),
    "a plain text": (["look /nothink", "/think"], ["look"]),
    "another block with a text": (
        [{"type": "x", "text": "/nothink"}, text("a")],
        [{"type": "x", "text": "/nothink"}, text("a")],
    ),
    "a blank text stays": ([text("look /nothink"), text(" ")], [text("look"), text(" ")]),
}


@EACH_ASK
@pytest.mark.parametrize("name", BLOCKS)
def test_each_block_of_a_prompt_is_cleaned(ask: Any, name: str) -> None:
    """Files and fields stay, and a block with nothing left goes."""
    given, cleaned = BLOCKS[name]
    transport = answering("done")

    ask(wrapped(transport), [HumanMessage(given)])

    assert transport.requests[0][1].content == [text(f"{EPOCH}\n\n"), *cleaned]


EMPTY = pytest.mark.parametrize(
    "given",
    ["/nothink", " /think /nothink\n", ["/nothink"], [text("/nothink")], [text("/nothink"), text(" ")]],
    ids=str,
)


@EACH_ASK
@EMPTY
def test_a_prompt_of_nothing_else_is_refused_before_any_request(ask: Any, given: Any) -> None:
    """There is nothing to ask a model."""
    transport, dumps = answering("never"), Dumps()

    with pytest.raises(AssemblyError, match="all for the interface; there is nothing to ask a model"):
        ask(wrapped(transport, dump=dumps), [HumanMessage(given)])

    assert transport.requests == []
    assert dumps == []


@EACH_RUN
@EMPTY
def test_an_agent_is_not_asked_nothing_either(run: Any, given: Any) -> None:
    """The dump says that its request was refused."""
    transport, dumps = answering("never"), Dumps()

    with pytest.raises(AssemblyError, match="all for the interface; there is nothing to ask a model"):
        run(agent(transport, adapter(request_compiler=compiler(), dump=dumps)), {"messages": [HumanMessage(given)]})

    assert transport.requests == []
    assert dumps.outcomes == ["refused"]


@pytest.mark.parametrize("given", ["fix it", [text("fix it")], ["fix it", IMAGE]], ids=str)
def test_a_prompt_without_tokens_is_left_alone(given: Any) -> None:
    """No update of the state comes from it."""
    built = agent(answering("done"), adapter(request_compiler=compiler()), tools=[])

    updates = list(built.stream({"messages": [HumanMessage(given, id="q1")]}, stream_mode="updates"))

    written = [
        message for update in updates for node in update.values() for message in (node or {}).get("messages", [])
    ]
    assert [type(message) for message in written] == [AIMessage]


@EACH_RUN
def test_the_prompt_hook_comes_first(run: Any) -> None:
    """It sees the prompt as it was typed, and what it adds for the interface is taken out too."""
    transport, asked = answering("done"), []

    def hook(prompt: Any) -> Any:
        asked.append(prompt)
        return f"{prompt.upper()} /nothink"

    run(agent(transport, adapter(request_compiler=compiler(), user_prompt_submit=hook)), says("fix it /think"))

    assert asked == ["fix it /think"]
    assert shown(transport.requests[0])[1:] == [f"< {EPOCH} | FIX IT"]


@EACH_RUN
def test_the_callback_that_gives_the_inputs_sees_the_cleaned_prompt(run: Any) -> None:
    """In every request of the run."""
    seen: list[LiveRequest] = []
    transport = answering(calls("c1"), "done")

    run(agent(transport, adapter(request_compiler=compiler(noting(seen)))), says("fix it /nothink"))

    assert [live.user_text for live in seen] == ["fix it", "fix it"]
    assert shown(transport.requests[1])[1:] == [f"< {EPOCH} | fix it", "> call c1", "< result c1"]


@EACH_RUN
def test_another_attempt_sends_the_cleaned_prompt_too(run: Any) -> None:
    """A retry of the host's middleware."""
    transport = answering(RuntimeError("overloaded"), "done")
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0)

    run(agent(transport, adapter(request_compiler=compiler()), outside=[retry], tools=[]), says("fix it /nothink"))

    assert shown(transport.requests[0]) == shown(transport.requests[1])
    assert shown(transport.requests[0])[1:] == [f"< {EPOCH} | fix it"]


def test_tokens_that_a_tool_returns_are_left_alone() -> None:
    """They are data and nobody's command."""

    def look() -> str:
        """Look around."""
        return "/nothink"

    state = agent(answering(calls("c1"), "done"), adapter(request_compiler=compiler()), tools=[look]).invoke(
        says("now")
    )

    assert state["messages"][2].content == "/nothink"


@EACH_ASK
def test_a_conversation_keeps_the_cleaned_prompt(ask: Any) -> None:
    """Later turns see that."""
    transport, state = answering("one", "two"), ConversationState()
    model = wrapped(transport)

    with history_scope(True, state):
        ask(model, "first /nothink")
        ask(model, "second")

    assert shown(transport.requests[1])[1:] == ["< first", "> one", f"< {EPOCH} | second"]
    assert lines(messages_of(state)) == ["< first", "> one", "< second", "> two"]


def test_a_compiler_names_the_tokens_of_its_interface() -> None:
    """Others are words like any."""
    transport = answering("done")

    wrapped(transport, request_compiler=compiler(ui_tokens=["/quiet"])).invoke("/quiet now /nothink")

    assert shown(transport.requests[0])[1:] == [f"< {EPOCH} | now /nothink"]


@EACH_ASK
def test_without_a_compiler_a_prompt_is_left_alone(ask: Any) -> None:
    """Nobody has said that these are tokens."""
    transport = answering("done")

    ask(adapter(dump=Dumps()).wrap(Chat(transport=transport)), "fix it /nothink")

    assert transport.sent == [["< fix it /nothink"]]
