"""What the README says of assembled requests and of dumps, in tables and in sentences, measured.

Each test is one sentence or one table. What the parts do is tested beside them; here it is that the page is true.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, cast

import pytest
from langchain_core.messages import HumanMessage
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from typer.main import get_command

import chats
import readme
from agents import Script, adapter, asks, calls, results, says
from kedi_compile import (
    AssemblyError,
    HistoryProcessingValidationError,
    InvariantViolation,
    LiveFrame,
    RequestCompiler,
    RequestInputs,
    StableCore,
    SteeringSlot,
    TaskEpoch,
)
from kedi_compile.assembly import (
    Acknowledgement,
    Contract,
    ContractRegistry,
    EvidenceLedger,
    Mutation,
    Place,
    Provenance,
    Source,
    Verification,
)
from kedi_compile.assembly.invariants import INVARIANTS
from kedi_compile.assembly.late import RECENT_MUTATIONS
from kedi_compile.assembly.ui_tokens import DEFAULT_UI_TOKENS, UiTokens
from kedi_compile.cli import _app
from kedi_compile.dump.file import MAX_BYTES

TEXT: Final = readme.README.read_text(encoding="utf-8")
ASSEMBLY: Final = TEXT.partition("\n## Request assembly\n")[2].partition("\n## Why did the model see this?\n")[0]
DUMP: Final = TEXT.partition("\n## Why did the model see this?\n")[2].partition("\n## ")[0]
BINDING: Final = "claude-opus-5-5"


def table_in(heading: str, number: int = 0) -> dict[str, str]:
    """Return one of the tables under a smaller heading: the first column, and the second."""
    part = ASSEMBLY.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    found = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)[number]
    rows = [line.split("|")[1:3] for line in found.splitlines()[2:]]
    return {first.strip().strip("`"): second.strip() for first, second in rows}


def compiler(evidence: EvidenceLedger | None = None) -> RequestCompiler:
    """Return a compiler of small inputs."""
    frame = LiveFrame(TaskEpoch("t1", "CANARY-TASK"))
    frame.steer(SteeringSlot("s1", "Be brief.", Provenance(author="us")))
    return RequestCompiler(inputs=RequestInputs(StableCore("Be honest."), frame, evidence or EvidenceLedger()))


def late(messages: list[ModelMessage]) -> list[str]:
    """Return the late texts in a request, by what they begin with."""
    texts = [str(getattr(part, "content", "")) for message in messages for part in message.parts]
    return [text for text in texts if "# Task epoch" in text]


def test_every_place_is_in_the_table() -> None:
    """In order, by number and name."""
    assert list(table_in("What goes where")) == [f"{place.value} {place.name.lower()}" for place in Place]


def test_every_invariant_is_in_the_table() -> None:
    """A rule without a line, and a line without a rule, are both a fault."""
    assert list(table_in("What is refused")) == [invariant.__name__ for invariant in INVARIANTS]


def test_the_tokens_are_these() -> None:
    """The page lists the default tokens of an interface, in order."""
    listed = ASSEMBLY.partition("Tokens of interfaces are ")[2].partition(", or your")[0]

    assert tuple(re.findall(r"`(/[^`]+)`", listed)) == DEFAULT_UI_TOKENS


def test_the_tokens_are_treated_as_the_table_says() -> None:
    """Stripped at the ends, escaped in the middle, kept in code and in other words."""
    clean = UiTokens().clean

    assert clean("Fix it. /nothink").text == "Fix it."
    assert clean("Fix it.\n/nothink\nSoon.").text == "Fix it.\nSoon."
    assert clean("What does /clear do here?").text == "What does `/clear` do here?"
    for kept in ("Say `/clear` to me.", "```\n/clear\n```\nWhy?", "See docs/nothink and /nothink/x now."):
        assert clean(kept).text == kept


def test_a_token_in_a_contract_is_refused() -> None:
    """Outside code it is for an interface, and nobody may say it to a model."""
    contracts = ContractRegistry([Contract("ui", "1", "Begin with /nothink always.")])
    asked = RequestCompiler(contracts, reference_contract_modules=["ui"])

    with pytest.raises(InvariantViolation, match="no_ui_tokens"):
        asked.compile(RequestInputs(StableCore("Be honest."), LiveFrame(TaskEpoch("t1", "Go."))))


def test_a_token_in_evidence_is_kept_in_the_body_and_escaped_in_the_name() -> None:
    """A body is data; a name is from outside, and nobody vouches for it."""
    evidence = EvidenceLedger()
    evidence.record(Source("notes /clear", "1", "say /clear to me\n", Provenance(path="notes")))

    text = compiler(evidence).compile(cast("RequestInputs", compiler(evidence).inputs)).late

    assert "\nsay /clear to me\n" in text
    assert '## "notes `/clear`"' in text


def test_the_numbers_are_these() -> None:
    """The newest mutations that are no stale frame, and the size of a dump's file."""
    assert f"mutations beyond the newest {RECENT_MUTATIONS}" in ASSEMBLY
    assert f"rotated at {MAX_BYTES // 2**20} MiB" in DUMP


async def test_the_users_message_is_cleaned_before_it_is_stored() -> None:
    """What is sent and what the run keeps are the same words."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(request_compiler=compiler())])

    result = await agent.run("Hello. /nothink")

    (prompt,) = (part for part in result.all_messages()[0].parts if isinstance(part, UserPromptPart))
    assert prompt.content == "Hello."


async def test_late_texts_stay_within_a_run_and_leave_with_it() -> None:
    """In a loop one is added where something new is to be said; the next turn has its own alone; none is kept."""
    evidence = EvidenceLedger()
    script = Script(calls("c1"), calls("c2"), "done", "again")
    agent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(evidence))])

    @agent.tool_plain
    def look() -> str:
        if len(script.requests) == 1:
            evidence.record(Source("log", "1", "CANARY-BODY", Provenance(path="log")))
        return "seen"

    first = await agent.run("now")
    await agent.run("then", message_history=first.all_messages())

    assert [len(late(messages)) for messages in script.requests] == [1, 2, 2, 1]
    assert [sum(text.count("CANARY-BODY") for text in late(messages)) for messages in script.requests] == [0, 1, 1, 1]
    assert late(first.all_messages()) == []


async def test_late_texts_that_left_break_bound_reasoning() -> None:
    """The second turn on a model that binds reasoning is refused, and goes through without the reasoning."""
    thinking = ModelResponse([ThinkingPart("hm", signature="s1", provider_name="function"), TextPart("yes")])
    for options, is_refused in (({}, True), ({"bound_reasoning": "strip"}, False)):
        script = Script(thinking, "done", model_name=BINDING)
        agent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(), **cast("Any", options))])
        first = await agent.run("now")

        if is_refused:
            with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
                await agent.run("then", message_history=first.all_messages())
        else:
            await agent.run("then", message_history=first.all_messages())


def test_each_call_of_a_wrapped_model_is_a_run_of_its_own() -> None:
    """Its request carries the one late text that was assembled for it, and none of the call before."""
    transport = chats.Transport(["one", "two"])
    wrapped = chats.adapter(request_compiler=compiler()).wrap(chats.Chat(transport=transport))
    history: list[Any] = [HumanMessage("first")]
    history += [wrapped.invoke(history), HumanMessage("second")]

    wrapped.invoke(history)

    assert [sum("# Task epoch" in str(message.content) for message in sent) for sent in transport.requests] == [1, 1]


async def test_a_dump_is_written_when_the_outcome_is_known(tmp_path: Path) -> None:
    """While the model is being asked there is no line, and whoever is killed then leaves none."""
    path = tmp_path / "run.jsonl"
    seen: list[bool] = []

    async def look() -> None:
        seen.append(path.exists())

    await Agent(Script(look).model, capabilities=[adapter(dump=path)]).run("now")

    assert seen == [False]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


async def test_a_dump_never_holds_these(tmp_path: Path) -> None:
    """Answers, arguments, results, messages and bodies are not in it; the task and its system text are."""
    path, evidence = tmp_path / "run.jsonl", EvidenceLedger()
    call = ModelResponse([ToolCallPart("look", {"at": "CANARY-ARGUMENT"}, "c9")])
    script = Script(call, "CANARY-ANSWER")
    agent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(evidence), dump=path)])

    @agent.tool_plain
    def look(at: str) -> str:
        evidence.record(Source("log", "1", "CANARY-BODY", Provenance(path="log")))
        return f"CANARY-RESULT {at}"

    history: list[ModelMessage] = [asks("CANARY-QUESTION"), calls("c1"), results("c1"), says("CANARY-EARLIER")]
    await agent.run("CANARY-MESSAGE", message_history=[*history, ModelRequest([UserPromptPart("CANARY-LAST")])])

    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"CANARY-\w+", text)) == {"CANARY-TASK"}
    assert "Be honest." in text


def test_the_options_of_explain_are_those_of_the_command() -> None:
    """Each row of the table names options that there are, and there are no others."""
    section = TEXT.partition("\n## Explain a saved history\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(--[a-z-]+)", section.partition("| option |")[2]))
    command = cast("Any", get_command(_app())).commands["explain"]

    assert named == {option for one in command.params for option in one.opts if option.startswith("--")}


def test_mutations_and_checks_stay_when_another_task_begins() -> None:
    """Nothing says that they have nothing to do with it."""
    frame = LiveFrame(TaskEpoch("t1", "Go."))
    frame.verify(Verification("it works", passed=True))
    frame.mutate(Mutation("m1", "changed"))

    frame.begin(TaskEpoch("t2", "Go on."))

    snapshot = frame.snapshot()
    assert ([one.id for one in snapshot.mutations], len(snapshot.verifications)) == (["m1"], 1)


def test_an_id_that_a_model_made_up_is_answered_with_what_there_is() -> None:
    """The message says it, so that a retry can."""
    frame = cast("RequestInputs", compiler().inputs).frame

    with pytest.raises(AssemblyError, match="names steering 's9', and 's1' is active"):
        frame.acknowledge(Acknowledgement("s9", "the tool"))
