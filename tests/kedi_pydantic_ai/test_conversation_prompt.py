"""`user_prompt_submit` edits a run's prompt before anything else: transport, tools, history and origins hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage

from agents import ENTRY_POINTS, Context, Script, adapter, calls, lines, noting, run_through
from kedi_compile import HistoryConfigurationError, HistoryOrigin, HistoryProcessingError
from kedi_compile.conversation import ConversationState
from kedi_pydantic_ai import messages_of
from talks import AnyAgent, held, is_free, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


def shout(prompt: Any) -> Any:
    """Edit a text."""
    return prompt.upper()


async def shout_async(prompt: Any) -> Any:
    """Edit a text, awaited."""
    return prompt.upper()


def shouting(**options: Any) -> Any:
    """Return an adapter that edits prompts."""
    return adapter(user_prompt_submit=shout, **options)


@EACH
@pytest.mark.parametrize("hook", [shout, shout_async])
def test_the_edited_prompt_is_what_is_sent_and_kept(entry: str, hook: Callable[[Any], Awaitable[Any] | Any]) -> None:
    """The original is nowhere: not in the request, not in the result, not in the conversation."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script, adapter(user_prompt_submit=hook)), state, "first", "second", entry=entry)

    assert script.sent == [["< FIRST"], ["< FIRST", "> one", "< SECOND"]]
    assert held(state) == ["< FIRST", "> one", "< SECOND", "> two"]
    assert "first" not in state.checkpoint().to_json()


@EACH
def test_the_hook_works_without_a_conversation(entry: str) -> None:
    """Each run's prompt is edited once, with its tool loop behind it."""
    asked: list[object] = []

    def note(prompt: Any) -> Any:
        asked.append(prompt)
        return prompt.upper()

    script = Script(calls("c1"), "done")
    agent = talking(script, adapter(user_prompt_submit=note))
    prompts: list[object] = []

    @agent.tool(name="look")
    def peek(ctx: RunContext[Any]) -> str:
        prompts.append(ctx.prompt)
        return "seen"

    finished = run_through(entry, agent, "now")

    assert asked == ["now"]
    assert prompts == ["NOW"]
    assert script.sent == [["< NOW"], ["< NOW", "> call c1", "< result c1"]]
    assert lines(finished.new_messages) == ["< NOW", "> call c1", "< result c1", "> done"]


@EACH
def test_functions_that_write_prompts_see_the_edited_one(entry: str) -> None:
    """An instruction or system prompt that quotes the prompt cannot send what the hook took out."""
    script = Script("done")
    agent = talking(script, shouting(), instructions=lambda ctx: f"About {ctx.prompt}.")

    @agent.system_prompt
    def quote(ctx: RunContext[Any]) -> str:
        return f"Asked: {ctx.prompt}"

    run_through(entry, agent, "now")

    (request,) = script.requests[0]
    assert isinstance(request, m.ModelRequest)
    assert request.instructions == "About NOW."
    assert [part.content for part in request.parts if isinstance(part, m.SystemPromptPart)] == ["Asked: NOW"]


def test_a_prompt_of_several_parts_is_edited_as_a_sequence() -> None:
    """Files stay what they are."""
    image = m.BinaryContent(b"\x89PNG", media_type="image/png")
    script = Script("done")
    asked: list[object] = []

    def note(prompt: Any) -> Any:
        asked.append(prompt)
        return [*prompt, "really"]

    run_through("run", talking(script, adapter(user_prompt_submit=note)), ["look", image])  # type: ignore[arg-type]  # the host takes a list

    (part,) = script.requests[0][0].parts
    assert isinstance(part, m.UserPromptPart)
    assert part.content == ["look", image, "really"]
    assert asked == [["look", image]]


@EACH
@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (lambda prompt: None, "`user_prompt_submit` returned NoneType; it must return str, as given"),
        (lambda prompt: [prompt], "`user_prompt_submit` returned list; it must return str, as given"),
        (lambda prompt: prompt.nothing, "`user_prompt_submit` raised AttributeError: .*"),
    ],
    ids=["nothing", "a list", "an error"],
)
def test_a_hook_that_fails_stops_the_turn(entry: str, hook: Callable[[Any], Any], message: str) -> None:
    """Nothing is sent or kept, and the next turn is served."""
    script, state = Script("one"), ConversationState()
    agent = talking(script, adapter(user_prompt_submit=hook))

    with pytest.raises(HistoryProcessingError, match=f"^{message}$"):
        talk(agent, state, "first", entry=entry)

    assert (script.requests, state.turns, is_free(state)) == ([], 0, True)


def test_what_is_no_function_is_refused_when_the_adapter_is_made() -> None:
    """A hook is a function, not what it returned."""
    with pytest.raises(HistoryConfigurationError, match="`user_prompt_submit` is 'text'; pass the function itself"):
        adapter(user_prompt_submit="text")


def test_a_run_without_a_prompt_asks_no_hook() -> None:
    """Resuming deferred calls is no new prompt."""
    asked: list[object] = []

    def note(prompt: Any) -> Any:
        asked.append(prompt)
        return prompt.upper()

    state = ConversationState()
    agent: AnyAgent = talking(
        Script(calls("c1", tool="wipe"), "gone"),
        adapter(user_prompt_submit=note),
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain(requires_approval=True)
    def wipe() -> str:
        return "wiped"

    talk(agent, state, "clean up")
    talk(agent, state, None, deferred_tool_results=DeferredToolResults(approvals={"c1": True}))

    assert asked == ["clean up"]
    assert held(state) == ["< CLEAN UP", "> call c1", "< result c1", "> gone"]


def test_the_processor_and_its_estimate_see_the_edited_prompt() -> None:
    """Budget and origins are those of what is sent."""
    seen: list[tuple[list[str], int]] = []
    origins: list[tuple[HistoryOrigin, ...]] = []

    def lengthen(prompt: Any) -> Any:
        return prompt * 100

    def note(ctx: Context) -> Sequence[ModelMessage]:
        seen.append((lines(ctx.messages), ctx.estimated_tokens))
        origins.append(ctx.groups[0].origins)
        return ctx.messages

    state = ConversationState()
    agent = talking(Script("one", "two"), adapter(note, user_prompt_submit=lengthen))
    talk(agent, state, "ab", run_id="run-1")
    talk(agent, state, "cd", run_id="run-2")

    assert seen[0][0] == ["< " + "ab" * 100]
    assert seen[0][1] > 40
    assert origins[1] == (HistoryOrigin("user", "run-1"), HistoryOrigin("assistant", "run-1"))


def test_a_lane_is_not_told_by_its_prompt() -> None:
    """Two prompts of any length and kind are turns of one lane."""
    state = ConversationState()
    agent = talking(Script("answer"), shouting())

    talk(agent, state, "a", "a long one " * 50)

    assert (len(state.lanes), state.turns) == (1, 2)
    assert messages_of(state)[2].parts[0].content == "A LONG ONE " * 50  # type: ignore[union-attr]  # a prompt


async def test_a_hook_may_not_run_an_agent_of_its_own_adapter() -> None:
    """It would be asked again."""
    shared: Any = None

    async def ask(prompt: Any) -> Any:
        return (await talking(Script("better"), shared).run(prompt)).output

    shared = adapter(user_prompt_submit=ask)

    with pytest.raises(HistoryProcessingError, match="A history callback called the adapter it belongs to"):
        await talking(Script("done"), shared).run("now")


async def test_a_hook_may_run_an_agent_of_another_adapter() -> None:
    """To improve a prompt, as it is meant."""

    async def ask(prompt: Any) -> Any:
        return (await talking(Script("better"), adapter()).run(prompt)).output

    script = Script("done")

    await talking(script, adapter(user_prompt_submit=ask)).run("now")

    assert script.sent == [["< better"]]


def test_concurrent_runs_each_keep_their_own_prompt() -> None:
    """One adapter, several runs."""
    seen: list[list[str]] = []
    agent = talking(Script("done"), adapter(noting(seen, lambda ctx: lines(ctx.messages)), user_prompt_submit=shout))

    async def main() -> None:
        await asyncio.gather(*(agent.run(word) for word in ("a", "b", "c")))

    asyncio.run(main())

    assert sorted(seen) == [["< A"], ["< B"], ["< C"]]
