"""Assembled requests of Pydantic AI agents: where each text stands, and that none of them is ever kept.

Failing and cancelled ones are in `test_assembly_failures.py`, what a callback is shown in `test_assembly_live.py`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import RunContext

from agents import ENTRY_POINTS, Script, adapter, asks, calls, keep, lines, run_through, says, stored, turns
from assemblies import EPOCH, KINDS, SLOT, SUCCESSOR, SYSTEM, Dumps, compiler, given_by, growing, leaks, phased, steered
from assembling import PHASES, inputs, ledger, source
from kedi_compile import AssemblyError
from kedi_compile.assembly import RequestCompiler
from kedi_pydantic_ai import PydanticAdapter

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


def agent_with(script: Script, request_compiler: RequestCompiler, *tools: Any, **options: Any) -> AnyAgent:
    """Return an agent that assembles its requests."""
    return Agent(script.model, capabilities=[adapter(request_compiler=request_compiler)], tools=tools, **options)


def look() -> str:
    """Look around."""
    return "seen"


def uncounted(messages: list[ModelMessage]) -> list[Any]:
    """Return all that messages hold but the clock, ids, and the usage, which a function model makes up."""
    return [{key: value for key, value in one.items() if key != "usage"} for one in stored(messages)]


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_the_stable_text_stands_in_front_of_the_agents_instructions(entry: str, kind: str) -> None:
    """And the late text around the user's text; whatever gives the inputs."""
    script = Script("done")
    agent = agent_with(script, RequestCompiler(inputs=given_by(kind, steered())), instructions="Be brief.")

    run_through(entry, agent, "now")

    assert script.instructions == [f"{SYSTEM}\n\nBe brief."]
    assert script.sent == [[f"< {EPOCH} | now | {SLOT}"]]


@EACH
def test_nothing_that_was_assembled_is_kept(entry: str) -> None:
    """The lists hold what the host alone would hold, and the next run begins with that."""
    alone, script = Script(calls("c1"), "done"), Script(calls("c1"), "done", "again")
    agent = agent_with(script, compiler(growing(ledger())), look, instructions="Be brief.")
    expected = run_through(entry, Agent(alone.model, tools=[look], instructions="Be brief."), "now")

    finished = run_through(entry, agent, "now")
    again = run_through(entry, agent, "more", message_history=finished.all_messages)

    assert uncounted(finished.all_messages) == uncounted(expected.all_messages)
    assert uncounted(finished.new_messages) == uncounted(expected.new_messages)
    assert leaks(again.all_messages) == []
    assert script.sent[2][:-1] == lines(expected.all_messages)


@EACH
def test_tails_stay_and_new_ones_stand_behind_tool_results(entry: str) -> None:
    """What was sent is sent again in its place, byte for byte; the newer frame says that it replaces it."""
    script = Script(calls("c1"), calls("c2"), "done")
    agent = agent_with(script, compiler(growing(ledger())), look)

    run_through(entry, agent, "now")

    first, second, third = script.sent
    assert first == [f"< {EPOCH} | now"]
    assert second[:2] == [*first, "> call c1"]
    assert second[2].startswith(f"< result c1 | {SUCCESSOR}\n\n{EPOCH}\n\n# Evidence")
    assert "body 2" in second[2]
    assert third[:4] == [*second, "> call c2"]
    assert third[4].startswith(f"< result c2 | {SUCCESSOR}")
    assert ("body 2" in third[4], "body 3" in third[4]) == (False, True)


@EACH
def test_an_unchanged_frame_adds_nothing(entry: str) -> None:
    """A tool loop without news sends one tail, where it stood."""
    script = Script(calls("c1"), calls("c2"), "done")

    run_through(entry, agent_with(script, compiler(), look), "now")

    assert script.sent[2] == [f"< {EPOCH} | now", "> call c1", "< result c1", "> call c2", "< result c2"]


@EACH
def test_a_new_run_begins_with_the_first_frame_again(entry: str) -> None:
    """Tails of the run before left with it."""
    script = Script("one", "two")
    agent = agent_with(script, compiler())
    first = run_through(entry, agent, "first")

    run_through(entry, agent, "second", message_history=first.all_messages)

    assert script.sent[1] == ["< first", "> one", f"< {EPOCH} | second"]


@EACH
def test_contracts_follow_the_phase_that_the_tool_calls_show(entry: str) -> None:
    """None is in force before a call was seen, and then each that the calls of this task bring."""
    script = Script(calls("c1", tool="read"), calls("c2", tool="pytest"), "done")
    agent = agent_with(script, phased())
    for name in PHASES:
        agent.tool_plain(name=name)(look)

    run_through(entry, agent, "read the tests, please")

    found = [["discovery" in (text or ""), "checking" in (text or "")] for text in script.instructions]
    assert found == [[False, False], [True, False], [True, True]]


def test_what_earlier_turns_called_shows_no_phase() -> None:
    """The phase is that of the user's current message."""
    script = Script("done")
    history = [
        asks("q"),
        calls("c1", tool="read"),
        m.ModelRequest([m.ToolReturnPart("read", "x", "c1")]),
        *turns(1)[1:],
    ]

    run_through("run", agent_with(script, phased()), "now", message_history=history)

    assert "discovery" not in (script.instructions[0] or "")


@EACH
def test_the_late_part_stands_behind_a_system_prompt(entry: str) -> None:
    """In front of the user's own text."""
    script = Script("done")

    run_through(entry, agent_with(script, compiler(), system_prompt="Be brief."), "now")

    assert script.sent == [[f"< system Be brief. | {EPOCH} | now"]]


@EACH
def test_a_run_without_a_prompt_is_assembled_too(entry: str) -> None:
    """An agent may have instructions alone; its first request has no part that a tail could stand by."""
    script = Script(calls("c1"), "done")
    agent = agent_with(script, compiler(growing(ledger())), look, instructions="Be brief.")

    finished = run_through(entry, agent, None)

    first, second = script.sent
    assert len(first) == 1
    assert second[0] == first[0]
    assert leaks(finished.all_messages) == []


@EACH
def test_a_prompt_of_several_parts_stays_whole(entry: str) -> None:
    """The late text stands around all of it."""
    image = m.BinaryContent(b"\x89PNG", media_type="image/png")
    script = Script("done")
    agent = agent_with(script, RequestCompiler(inputs=steered()))

    finished = run_through(entry, agent, ["look", image])  # type: ignore[arg-type]  # a prompt may be a sequence

    (request,) = script.requests[0]
    assert [part.content for part in request.parts if isinstance(part, m.UserPromptPart)] == [
        EPOCH,
        ["look", image],
        SLOT,
    ]
    assert [getattr(part, "content", None) for part in finished.all_messages[0].parts] == [["look", image]]


@EACH
def test_the_tools_of_the_agent_are_listed_with_their_digests(entry: str) -> None:
    """The schemas travel once, natively."""
    script = Script("done")

    run_through(entry, agent_with(script, compiler(), look), "now")

    (text,) = script.instructions
    assert text is not None
    assert [line.partition(", schema sha256 ")[0] for line in text.splitlines() if "- tool" in line] == [
        '- tool "look"'
    ]
    assert len(text.partition("schema sha256 ")[2]) == 64
    assert "Look around" not in text


class Answer(BaseModel):
    """An answer in a form."""

    words: str = "none"


FORMS: dict[str, tuple[Any, Any]] = {
    "tool": (Answer, calls("c1", tool="final_result", words="yes")),
    "native": (NativeOutput(Answer), '{"words": "yes"}'),
}


@EACH
@pytest.mark.parametrize("form", FORMS)
def test_structured_output_goes_on_as_before(entry: str, form: str) -> None:
    """An output tool is one of the tools; a native format is the host's own field."""
    output, answer = FORMS[form]
    script = Script(answer, profile=ModelProfile(supports_json_schema_output=True))

    finished = run_through(entry, agent_with(script, compiler(), output_type=output), "now")

    assert finished.output == Answer(words="yes")
    assert script.sent == [[f"< {EPOCH} | now"]]
    assert ('- tool "final_result"' in str(script.instructions)) is (form == "tool")
    assert leaks(finished.all_messages) == []


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_stream"])  # the host gives up
def test_a_retry_of_the_output_has_the_tail_where_it_stood(entry: str) -> None:
    """Feedback of the host is a message like any other."""
    script = Script("no", "yes")
    agent = agent_with(script, compiler())

    @agent.output_validator
    def check(output: str) -> str:
        if output == "no":
            raise ModelRetry("again")
        return output

    run_through(entry, agent, "now")

    first, second = script.sent
    assert first == [f"< {EPOCH} | now"]
    assert second[:2] == [*first, "> no"]
    assert len(second) == 3
    assert "Task epoch" not in second[2]


@EACH
def test_a_fallback_gets_the_same_request(entry: str) -> None:
    """It is assembled once, for all attempts."""
    broken, script, asked = Script(ModelHTTPError(529, "scripted")), Script("done"), []
    given = growing(ledger())

    def give(live: Any) -> Any:
        asked.append(live.request_index)
        return given(live)

    agent: AnyAgent = Agent(
        FallbackModel(broken.model, script.model), capabilities=[adapter(request_compiler=compiler(give))]
    )
    run_through(entry, agent, "now")

    assert (
        (broken.sent, broken.instructions)
        == (script.sent, script.instructions)
        == (
            [[f"< {EPOCH} | now"]],
            [SYSTEM],
        )
    )
    assert asked == [1]


@EACH
def test_an_edited_history_is_assembled_as_it_goes_out(entry: str) -> None:
    """The edit is kept, and the tail is not."""
    script = Script("done")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(keep(1), request_compiler=compiler())])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [["< question 3", "> answer 3", f"< {EPOCH} | now"]]
    assert lines(finished.all_messages) == ["< question 3", "> answer 3", "< now", "> done"]


def test_runs_of_one_adapter_share_no_tails() -> None:
    """Twenty at a time, each with its own tool loop."""
    scripts = {n: Script(calls("c1"), calls("c2"), "done") for n in range(20)}
    shared = adapter(request_compiler=RequestCompiler(inputs=lambda live: inputs(source(f"{live.user_text}.py"))))

    async def main() -> None:
        agents = [(n, Agent(script.model, capabilities=[shared], tools=[look])) for n, script in scripts.items()]
        await asyncio.gather(*(agent.run(f"run {n}") for n, agent in agents))

    asyncio.run(main())

    for n, script in scripts.items():
        first, _, last = script.sent
        assert f'## "run {n}.py"' in first[0]
        assert last == [first[0], "> call c1", "< result c1", "> call c2", "< result c2"]


class Behind(AbstractCapability[Any]):
    """A capability that asks to be nearer to transport than the adapter."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost", wrapped_by=(PydanticAdapter,))


@dataclass
class Without(Behind):
    """Takes words out of the messages of an attempt, behind the adapter."""

    words: str

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        for message in request_context.messages:
            message.parts = [one for one in message.parts if self.words not in str(getattr(one, "content", ""))]  # type: ignore[assignment]  # parts of either kind
        return request_context


class WithoutInstructions(Behind):
    """Sends none of the instructions, behind the adapter."""

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        request_context.model_request_parameters = replace(
            request_context.model_request_parameters, instruction_parts=[]
        )
        return request_context


@EACH
@pytest.mark.parametrize("meddler", [Without("Task epoch"), Without("Active steering"), WithoutInstructions()])
def test_a_request_that_lost_what_was_assembled_is_not_sent(entry: str, meddler: AbstractCapability[Any]) -> None:
    """Each text is looked for in what the model is handed, and the dump says that it was refused."""
    script, dumps = Script("done"), Dumps()
    ours = adapter(request_compiler=RequestCompiler(inputs=steered()), dump=dumps)
    agent: AnyAgent = Agent(script.model, capabilities=[ours, meddler])

    with pytest.raises(AssemblyError, match="What was assembled is not in the request any more, so nothing was sent"):
        run_through(entry, agent, "now")
    assert script.sent == []
    assert dumps.outcomes == ["refused"]


@EACH
def test_a_suspended_answer_is_gone_on_with_as_it_is(entry: str) -> None:
    """There is no message of a user's or a tool's that a frame could stand by."""
    script, dumps = Script("rest"), Dumps()
    half = says("half", state="suspended", model_name="scripted", provider_name="function")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(), dump=dumps)])

    run_through(entry, agent, None, message_history=[asks("question"), half])

    assert script.sent == [["< question", "> half"]]
    assert dumps.only.assembly is None
