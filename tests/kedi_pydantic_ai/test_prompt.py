"""The prompt of a run: what was meant for the interface never reaches a model, nor what is kept.

What `user_prompt_submit` makes of a prompt is in `test_conversation_prompt.py`, which words are tokens in
`kedi_compile/assembly/test_ui_tokens.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, TextContent
from pydantic_ai import messages as m

from agents import ENTRY_POINTS, Script, adapter, calls, lines, run_through
from assemblies import EPOCH, Dumps, compiler, noting
from kedi_compile import AssemblyError
from kedi_compile.assembly import LiveRequest
from kedi_compile.conversation import ConversationState
from talks import held, talk, talking

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)
IMAGE = m.BinaryContent(b"\x89PNG", media_type="image/png")


def agent_with(script: Script, **options: Any) -> AnyAgent:
    """Return an agent whose adapter has a compiler."""
    return Agent(script.model, capabilities=[adapter(**{"request_compiler": compiler(), **options})])


@EACH
@pytest.mark.parametrize(
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
def test_tokens_of_an_interface_are_taken_out_of_a_prompt(entry: str, given: str, cleaned: str) -> None:
    """Quoted ones stay; the cleaned prompt is what is sent and what is kept."""
    script = Script("done")

    finished = run_through(entry, agent_with(script), given)

    assert script.sent == [[f"< {EPOCH} | {cleaned}"]]
    assert lines(finished.all_messages) == [f"< {cleaned}", "> done"]


PARTS: dict[str, tuple[list[m.UserContent], list[m.UserContent]]] = {
    "a text": (["look at this /nothink", IMAGE], ["look at this", IMAGE]),
    "a text that goes": (["/nothink", IMAGE], [IMAGE]),
    "a text with fields": ([TextContent("look /nothink", metadata={"a": 1})], [TextContent("look", metadata={"a": 1})]),
    "a text with fields that goes": ([TextContent("/nothink"), "look"], ["look"]),
    "a blank text stays": (["look /nothink", " "], ["look", " "]),
}


@EACH
@pytest.mark.parametrize("name", PARTS)
def test_each_part_of_a_prompt_is_cleaned(entry: str, name: str) -> None:
    """Files and fields stay, and a part with nothing left goes."""
    given, cleaned = PARTS[name]
    script = Script("done")

    finished = run_through(entry, agent_with(script), given)  # type: ignore[arg-type]  # a prompt may be a sequence

    (part,) = finished.all_messages[0].parts
    assert isinstance(part, m.UserPromptPart)
    assert part.content == cleaned
    (_, sent) = script.requests[0][0].parts
    assert isinstance(sent, m.UserPromptPart)
    assert sent.content == cleaned


@pytest.mark.parametrize("given", ["fix it", ["fix it", IMAGE], [TextContent("fix it")]])
def test_a_prompt_without_tokens_is_the_callers_own_object(given: Any) -> None:
    """Nothing is copied."""
    script = Script("done")

    run_through("run", agent_with(script), given)

    sent = script.requests[0][0].parts[1]
    assert isinstance(sent, m.UserPromptPart)
    assert sent.content is given


@EACH
@pytest.mark.parametrize(
    "given",
    [
        "/nothink",
        " /think /nothink\n",
        ["/nothink"],
        [TextContent("/nothink")],
        ["/nothink", " "],
        ["/nothink", m.CachePoint()],
        [" ", m.CachePoint(), "/nothink"],
    ],
)
def test_a_prompt_of_nothing_else_is_refused_before_any_request(entry: str, given: Any) -> None:
    """There is nothing to ask a model."""
    script, dumps = Script("never"), Dumps()

    with pytest.raises(AssemblyError, match="all for the interface; there is nothing to ask a model"):
        run_through(entry, agent_with(script, dump=dumps), given)

    assert script.sent == []
    assert dumps == []


@EACH
def test_the_prompt_hook_comes_first(entry: str) -> None:
    """It sees the prompt as it was typed, and what it adds for the interface is taken out too."""
    script, asked = Script("done"), []

    def hook(prompt: Any) -> Any:
        asked.append(prompt)
        return f"{prompt.upper()} /nothink"

    finished = run_through(entry, agent_with(script, user_prompt_submit=hook), "fix it /think")

    assert asked == ["fix it /think"]
    assert script.sent == [[f"< {EPOCH} | FIX IT"]]
    assert lines(finished.all_messages)[0] == "< FIX IT"


@EACH
def test_everything_of_the_run_sees_the_cleaned_prompt(entry: str) -> None:
    """Instructions that quote it, tools, and the callback that gives the inputs."""
    seen: list[LiveRequest] = []
    prompts: list[object] = []
    script = Script(calls("c1"), "done")
    agent = agent_with(script, request_compiler=compiler(noting(seen)))

    @agent.instructions
    def quote(ctx: RunContext[Any]) -> str:
        return f"Asked: {ctx.prompt}"

    @agent.tool(name="look")
    def look(ctx: RunContext[Any]) -> str:
        prompts.append(ctx.prompt)
        return "seen"

    run_through(entry, agent, "fix it /nothink")

    assert all(text is not None and text.endswith("Asked: fix it") for text in script.instructions)
    assert prompts == ["fix it"]
    assert [live.user_text for live in seen] == ["fix it", "fix it"]


@EACH
def test_tokens_that_a_tool_returns_are_left_alone(entry: str) -> None:
    """They are data and nobody's command."""
    script = Script(calls("c1"), "done")
    agent = agent_with(script)
    agent.tool_plain(name="look")(returning("/nothink"))

    finished = run_through(entry, agent, "now")

    (part,) = finished.all_messages[2].parts
    assert isinstance(part, m.ToolReturnPart)
    assert part.content == "/nothink"


def returning(text: str) -> Any:
    """Return a tool that returns a text."""

    def look() -> str:
        return text

    return look


@EACH
def test_a_conversation_keeps_the_cleaned_prompt(entry: str) -> None:
    """Later turns see that."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script, adapter(request_compiler=compiler())), state, "first /nothink", "second", entry=entry)

    assert script.sent[1] == ["< first", "> one", f"< {EPOCH} | second"]
    assert held(state) == ["< first", "> one", "< second", "> two"]


@EACH
def test_a_compiler_names_the_tokens_of_its_interface(entry: str) -> None:
    """Others are words like any."""
    script = Script("done")

    run_through(entry, agent_with(script, request_compiler=compiler(ui_tokens=["/quiet"])), "/quiet now /nothink")

    assert script.sent == [[f"< {EPOCH} | now /nothink"]]


@EACH
def test_without_a_compiler_a_prompt_is_left_alone(entry: str) -> None:
    """Nobody has said that these are tokens."""
    script = Script("done")

    run_through(entry, agent_with(script, request_compiler=None, dump=Dumps()), "fix it /nothink")

    assert script.sent == [["< fix it /nothink"]]


@EACH
def test_an_earlier_prompt_goes_out_without_its_tokens(entry: str) -> None:
    """A history that was kept with them is left alone; where nothing else is in a prompt, they are quoted."""
    script = Script("done")
    history = [*asked("fix it /nothink"), *asked("/think"), *asked(["/clear", IMAGE])]

    result = run_through(entry, agent_with(script), "now", message_history=history)

    assert lines(script.requests[0])[:6:2] == ["< fix it", "< `/think`", "< UserPromptPart"]
    assert lines(result.all_messages)[0] == "< fix it /nothink"


@EACH
def test_a_cache_point_leaves_with_the_text_it_stands_behind(entry: str) -> None:
    """Providers refuse one that has nothing in front of it; behind what stays it stays."""
    script, point = Script("done"), m.CachePoint()
    history = [*asked(["/clear", point, "fix it"]), *asked(["fix it", "/clear", point]), *asked(["/clear", point])]

    run_through(entry, agent_with(script), "now", message_history=history)

    parts: Any = [message.parts[0] for message in script.requests[0][:6:2]]
    assert [part.content for part in parts] == [["fix it"], ["fix it", point], "`/clear`"]


def asked(prompt: str | list[Any]) -> list[m.ModelMessage]:
    """Return a prompt and its answer, as another program kept them."""
    return [m.ModelRequest([m.UserPromptPart(prompt)]), m.ModelResponse([m.TextPart("a")])]
