"""What the callbacks of a compiler are shown and may do on Pydantic AI, and how its options are looked at."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic_ai import Agent, ToolReturn

from agents import ENTRY_POINTS, Script, adapter, calls, keep, run_through, turns
from assemblies import compiler, extracted, noting, wishing
from assembling import contract, inputs
from kedi_compile import AssemblyError, HistoryConfigurationError
from kedi_compile.assembly import (
    ContractRegistry,
    Extraction,
    ExtractionRequest,
    LiveRequest,
    RequestCompiler,
    ToolSchema,
)
from kedi_compile.conversation import ConversationState
from kedi_pydantic_ai import PydanticAdapter
from talks import held, talk, talking

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)
VARIABLE = "OMNIUS_REFERENCE_CONTRACT_MODULES"
SET: contextvars.ContextVar[str] = contextvars.ContextVar("set", default="nothing")
LOOK = ToolSchema("look", "Look around.", {"additionalProperties": False, "properties": {}, "type": "object"})


def look() -> str:
    """Look around."""
    return "seen"


@EACH
def test_a_callback_is_shown_what_the_caller_handed_to_the_run(entry: str) -> None:
    """The run's `deps`, the same object, and the conversation: the ledger of one user among many is found by them."""
    seen: list[LiveRequest] = []
    deps = {"user": "u1"}
    agent: AnyAgent = Agent(
        Script("done").model, capabilities=[adapter(request_compiler=compiler(noting(seen)))], deps_type=dict
    )

    run_through(entry, agent, "now", deps=deps, conversation_id="c-7")

    assert seen[0].context is deps
    assert seen[0].conversation_id == "c-7"


@EACH
def test_a_callback_is_shown_each_request_behind_its_edit(entry: str) -> None:
    """Exactly these facts: index, model, calls since the user's message and before it, tools, size, and text."""
    seen: list[LiveRequest] = []
    script = Script(calls("c1"), "done")
    agent: AnyAgent = Agent(
        script.model,
        capabilities=[adapter(keep(1), request_compiler=compiler(noting(seen)), token_counter=lambda message: 7)],
        tools=[look],
    )

    run_through(entry, agent, "now", message_history=turns(3))

    (first, second) = seen
    assert first.run_id is not None
    assert first.conversation_id is not None
    assert first == LiveRequest(
        request_index=1,
        model_id="function:scripted",
        calls=(),
        earlier_calls=(),
        tools=(LOOK,),
        history_tokens=21,
        user_text="now",
        run_id=first.run_id,
        conversation_id=first.conversation_id,
    )
    assert second == LiveRequest(
        request_index=2,
        model_id="function:scripted",
        calls=("look",),
        earlier_calls=(),
        tools=(LOOK,),
        history_tokens=35,
        user_text="now",
        run_id=first.run_id,
        conversation_id=first.conversation_id,
    )


@EACH
def test_calls_of_earlier_turns_are_told_apart(entry: str) -> None:
    """They are those before the user's current message."""
    seen: list[LiveRequest] = []
    script = Script(calls("c1"), "one", calls("c2"), "two")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(noting(seen)))], tools=[look])

    first = run_through(entry, agent, "first")
    run_through(entry, agent, "second", message_history=first.all_messages)

    assert [(live.earlier_calls, live.calls, live.user_text) for live in seen] == [
        ((), (), "first"),
        ((), ("look",), "first"),
        (("look",), (), "second"),
        (("look",), ("look",), "second"),
    ]


@EACH
def test_what_a_tool_shows_beside_its_result_is_no_message_of_the_users(entry: str) -> None:
    """The turn goes on, and the frame stands where it stood."""
    seen: list[LiveRequest] = []
    script = Script(calls("c1"), "done")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(noting(seen)))])
    agent.tool_plain(name="look")(look_and_show)

    run_through(entry, agent, "now")

    assert [(live.calls, live.user_text) for live in seen] == [((), "now"), (("look",), "now")]
    assert script.sent[1][0] == script.sent[0][0]


def look_and_show() -> ToolReturn[Any]:
    """Look, and show something."""
    return ToolReturn("seen", content="Look at this.")


def extract(wish: ExtractionRequest) -> Extraction:
    """Extract, and set a context variable."""
    assert (wish.source.path, wish.reason) == ("a.py", "requested")
    SET.set("by the extraction")
    return extracted()


async def extract_async(wish: ExtractionRequest) -> Extraction:
    """Extract a moment later."""
    await asyncio.sleep(0)
    return extract(wish)


@EACH
@pytest.mark.parametrize("extraction", [extract, extract_async])
def test_an_extraction_is_sent_in_place_of_the_body(entry: str, extraction: Callable[[Any], Any]) -> None:
    """It is asked for once, and its context variables stay its own."""
    script = Script(calls("c1"), "done")
    found: list[str] = []

    def peek() -> str:
        found.append(SET.get())
        return "seen"

    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=wishing(extraction))])
    agent.tool_plain(name="look")(peek)
    run_through(entry, agent, "now")

    assert "It sets x." in script.sent[0][0]
    assert "x = 1" not in script.sent[0][0]
    assert found == ["nothing"]


@pytest.mark.parametrize("entry", ["run", "run_stream"])
@pytest.mark.parametrize("callback", ["inputs", "extraction"])
def test_an_agent_in_a_callback_is_no_part_of_the_conversation(entry: str, callback: str) -> None:
    """It sees none of the turns, and leaves none."""
    inner, state = Script("inner answer"), ConversationState()
    reader = talking(inner, adapter())

    async def extraction(wish: ExtractionRequest) -> Extraction:
        return extracted((await reader.run("read this")).output)

    async def give(live: LiveRequest) -> Any:
        await reader.run("what applies?")
        return inputs()

    used = wishing(extraction) if callback == "extraction" else RequestCompiler(inputs=give)
    script = Script("one", "two")
    talk(talking(script, adapter(request_compiler=used)), state, "first", "second", entry=entry)

    assert all(len(sent) == 1 for sent in inner.sent)
    assert inner.sent
    assert (state.turns, held(state)) == (2, ["< first", "> one", "< second", "> two"])


@pytest.mark.parametrize("entry", ["run", "run_sync", "run_stream"])
@pytest.mark.parametrize("callback", ["inputs", "extraction"])
def test_a_callback_may_not_call_the_adapter_it_belongs_to(entry: str, callback: str) -> None:
    """That would ask it again, and again."""
    script = Script("done")
    agents: list[AnyAgent] = []

    async def call(_: object) -> Any:
        await agents[0].run("inner")

    used = wishing(call) if callback == "extraction" else RequestCompiler(inputs=call)
    agents.append(Agent(script.model, capabilities=[adapter(request_compiler=used)]))

    with pytest.raises(AssemblyError, match=f"`{callback}` raised HistoryProcessingError: A history callback called"):
        run_through(entry, agents[0], "now")
    assert script.sent == []


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
        PydanticAdapter(**options)


def sent_with(used: RequestCompiler) -> str:
    """Return the stable text that an adapter made now sends."""
    script = Script("done")
    run_through("run", Agent(script.model, capabilities=[adapter(request_compiler=used)]), "now")
    (text,) = script.instructions
    return text or ""


def test_the_operators_modules_are_read_when_the_adapter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is made before, or after, has none of them."""
    used = RequestCompiler(ContractRegistry([contract("release"), contract("security")]), inputs=inputs())
    monkeypatch.setenv(VARIABLE, " release , ")
    script = Script("done")
    made = adapter(request_compiler=used)
    monkeypatch.delenv(VARIABLE)

    run_through("run", Agent(script.model, capabilities=[made]), "now")

    assert "Rules of release." in str(script.instructions)
    assert "Rules of security." not in str(script.instructions)
    assert "Rules of" not in sent_with(used)


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


@EACH
def test_a_callback_that_returns_an_awaitable_is_awaited(entry: str) -> None:
    """Whatever it looks like from outside."""
    script = Script("done")

    run_through(entry, Agent(script.model, capabilities=[adapter(request_compiler=compiler(awaitable_inputs))]), "now")

    assert len(script.sent) == 1
