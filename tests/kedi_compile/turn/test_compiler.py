"""The compiler: a branch and a turn request become one exact request, and nothing else changes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from pydantic import BaseModel

from kedi_compile import ContextBlock, TurnRequest, compile_chat_request
from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    AssistantResponse,
    Branch,
    Instruction,
    InstructionContent,
    Message,
    System,
    guided,
    provider_messages,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ASK = Instruction.create("Ask.", id=UUID(int=1), guidance="Guide.")
YES = AssistantResponse.create("Yes.", id=UUID(int=2))
NOW = Instruction.create("Now.", id=UUID(int=3))


class Answer(BaseModel):
    """A response format."""

    city: str


def sent(branch: Branch, request: TurnRequest) -> list[tuple[str, Any]]:
    """Return the messages as pairs of role and content."""
    return [(message.role.value, message.content) for message in compile_chat_request(branch, request).messages]


def test_a_turn_of_every_kind_of_record() -> None:
    """Policy, blocks, history, results, tools and format stand where the specification puts them."""
    call = ActionRequest(content=ActionRequestContent("look", {"at": "it"}))
    records: list[Message] = [ASK, YES, call, ActionResponse.answering(call, ["a"]), Message(content="routed")]
    request = TurnRequest(
        NOW,
        tool_schemas=({"name": "look"},),
        response_format={"city": "Bonn"},
        structure="LionDirective",
        context_blocks=(ContextBlock("memory", "fact"),),
        provider_kwargs={"temperature": 0},
    )
    compiled = compile_chat_request(Branch("Be brief.", records), request)

    assert provider_messages(compiled) == [
        {
            "role": "user",
            "content": (
                "Guidance: |-\n"
                "  Be brief.\n"
                "\n"
                "  LIONAGI_CONTEXT_BLOCKS_JSON\n"
                '  [{"content":"fact","provider_name":"memory"}]\n'
                "  END_LIONAGI_CONTEXT_BLOCKS_JSON\n"
                "\n"
                "  Guide.\n"
                "Instruction: Ask."
            ),
        },
        {"role": "assistant", "content": "Yes."},
        {
            "role": "user",
            "content": (
                "Instruction: Now.\n"
                "Context:\n"
                "- function: look\n"
                "  arguments:\n"
                "    at: it\n"
                "  output:\n"
                "  - a\n"
                "Tools:\n"
                "- name: look\n"
                "ResponseFormat: |-\n"
                "  Answer with JSON only, in one fenced block, shaped like this example:\n"
                "  ```json\n"
                '  {"city":"Bonn"}\n'
                "  ```\n"
                "  Escape quotes and control characters inside strings."
            ),
        },
    ]
    assert dict(compiled.provider_kwargs) == {"temperature": 0}


def test_no_system_message_is_sent() -> None:
    """Policy is part of a user's message, so the roles are the user's and the assistant's alone."""
    assert sent(Branch("Be brief.", [ASK, YES]), TurnRequest(NOW)) == [
        ("user", "Guidance: |-\n  Be brief.\n\n  Guide.\nInstruction: Ask."),
        ("assistant", "Yes."),
        ("user", "Instruction: Now."),
    ]


def test_a_trailing_instruction_makes_two_user_messages() -> None:
    """A question that was never answered stays in front of the current one."""
    assert sent(Branch(records=[ASK]), TurnRequest(NOW)) == [
        ("user", "Guidance: Guide.\nInstruction: Ask."),
        ("user", "Instruction: Now."),
    ]


def test_an_empty_progression_sends_the_current_instruction_alone() -> None:
    """It stands once, with the prefix, although the branch has records."""
    assert sent(Branch("Be brief.", [ASK, YES]), TurnRequest(NOW, progression=())) == [
        ("user", "Guidance: Be brief.\nInstruction: Now.")
    ]


def test_the_records_before_a_turn_know_nothing_of_its_options() -> None:
    """What one call asked for does not come back when its instruction is history."""
    first = compile_chat_request(Branch(), TurnRequest(ASK, tool_schemas=({"name": "look"},), response_format=Answer))
    later = sent(Branch(records=[first.instruction, YES]), TurnRequest(NOW))

    assert "Tools:" in str(first.messages[0].content)
    assert "ResponseSchema:" in str(first.messages[0].content)
    assert later[0] == ("user", "Guidance: Guide.\nInstruction: Ask.")


class Legacy(InstructionContent):
    """A content that carries the options of a past call in memory."""

    tool_schemas: Any = ()
    response_format: Any = None


def test_options_that_an_instruction_carries_are_ignored() -> None:
    """Only the request's options count, for the current instruction and for the history."""
    content = Legacy("Ask.")
    content.tool_schemas, content.response_format = [{"name": "look"}], {"a": 1}
    record = Instruction(content=content)
    compiled = compile_chat_request(Branch(), TurnRequest(record))

    assert compiled.messages[0].content == "Instruction: Ask."
    assert sent(Branch(records=[record, YES]), TurnRequest(NOW))[0] == ("user", "Instruction: Ask.")
    assert type(compiled.instruction.content) is InstructionContent


def test_the_record_to_keep_is_a_deep_copy_without_the_call() -> None:
    """Identity, names, metadata and durable fields are the caller's; policy, blocks and tools are not there."""
    record = Instruction(
        content=InstructionContent("Ask.", {"g": [1]}, [{"a": 1}], "Raw.", ["https://a.example/b"], "low"),
        id=UUID(int=7),
        created_at=NOON,
        sender="user",
        recipient="model",
        metadata={"run": [1]},
    )
    request = TurnRequest(record, tool_schemas=({"name": "f"},), context_blocks=(ContextBlock("memory", "fact"),))
    kept = compile_chat_request(Branch("Be brief."), request).instruction

    assert kept == record
    assert kept is not record
    assert kept.content is not record.content
    assert kept.metadata["run"] is not record.metadata["run"]
    assert kept.content.prompt_context[0] is not record.content.prompt_context[0]


def test_results_do_not_enter_the_record_to_keep() -> None:
    """What a tool found is shown to the model and stays a record of its own."""
    call = ActionRequest(content=ActionRequestContent("look"))
    compiled = compile_chat_request(Branch(records=[ActionResponse.answering(call, 1)]), TurnRequest(NOW))

    assert "output: 1" in str(compiled.messages[0].content)
    assert compiled.instruction.content.prompt_context == []


def test_the_compiled_request_shares_nothing_with_the_caller() -> None:
    """Later changes of the request's containers do not reach what was compiled, nor the other way round."""
    kwargs: dict[str, Any] = {"stop": ["a"]}
    record = Instruction.create("Look.", prompt_context=[{"a": 1}], images=["https://a.example/b"])
    request = TurnRequest(record, provider_kwargs=kwargs)
    compiled = compile_chat_request(Branch(), request)
    before = deepcopy((provider_messages(compiled), compiled.instruction))
    kwargs["stop"].append("b")
    kwargs["late"] = True
    record.content.prompt_context.append(2)
    record.content.images.clear()

    assert (provider_messages(compiled), compiled.instruction) == before
    assert dict(compiled.provider_kwargs) == {"stop": ["a"]}
    compiled.instruction.content.prompt_context.clear()
    assert record.content.prompt_context == [{"a": 1}, 2]


def test_the_providers_arguments_are_read_only() -> None:
    """They are shown through a view that cannot be written to."""
    compiled = compile_chat_request(Branch(), TurnRequest(NOW, provider_kwargs={"model": "m"}))

    with pytest.raises(TypeError):
        cast(MutableMapping[str, Any], compiled.provider_kwargs)["model"] = "n"


def test_a_translation_is_a_copy() -> None:
    """An adapter may change the parts it is given without changing the compiled request."""
    record = Instruction.create("Look.", images=["https://a.example/b"])
    compiled = compile_chat_request(Branch(), TurnRequest(record))
    provider_messages(compiled)[0]["content"][1]["image_url"]["url"] = "changed"

    assert provider_messages(compiled)[0]["content"][1]["image_url"]["url"] == "https://a.example/b"


@pytest.mark.parametrize(
    ("branch", "instruction", "place"),
    [
        (Branch("Be brief.", [ASK, YES]), NOW, 0),
        (Branch("Be brief."), NOW, 0),
        (Branch("Be brief."), Instruction.create("Look.", images=["https://a.example/b"]), 0),
        (Branch(records=[YES, ASK]), NOW, 1),
        (Branch(records=[YES]), NOW, None),
        (Branch(records=[Instruction.create("Hi."), YES, ASK]), NOW, None),
        (Branch("Be brief."), Instruction.create(plain_content="Raw."), None),
    ],
    ids=["history", "alone", "images", "answer first", "no guidance", "later guidance", "plain content"],
)
def test_the_message_that_shows_the_guidance_is_found(
    branch: Branch, instruction: Instruction, place: int | None
) -> None:
    """It is the first user message, with or without images, if guidance is shown there at all."""
    assert guided(compile_chat_request(branch, TurnRequest(instruction))) == place


def test_how_a_request_is_executed_has_no_place_in_it() -> None:
    """Streaming, deadlines and resuming are no fields, so one compilation serves every way to execute."""
    names = {item.name for item in fields(TurnRequest)} | set(dir(compile_chat_request(Branch(), TurnRequest(NOW))))

    assert not names & {"stream", "stream_persist", "persist_dir", "snapshot_dir", "resume", "timeout", "deadline"}


PROGRAM = """
import sys
from kedi_compile import TurnRequest, compile_chat_request
from kedi_compile.turn import Branch, Instruction, System, provider_messages

words = {"one", "two", "three", "four", "five", "six", "seven", 8, 9.5, (1, "x")}
record = Instruction.create("Now.", prompt_context=[words, {"nested": [frozenset(words)]}])
compiled = compile_chat_request(Branch("Be brief."), TurnRequest(record, response_format={"tags": words}))
sys.stdout.buffer.write(repr(provider_messages(compiled)).encode())
"""


def test_a_turn_is_compiled_to_the_same_bytes_in_every_process() -> None:
    """Sets of texts have another order with each hash seed, and one order in a request."""
    seeds = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("0", "1", "random")]
    printed = [subprocess.check_output([sys.executable, "-c", PROGRAM], env=env) for env in seeds]

    assert printed[0] == printed[1] == printed[2]
    assert printed[0].count(b"seven: null") == 2


def test_two_threads_compile_from_one_branch() -> None:
    """Reading a branch needs no lock, for nothing is written to it."""
    records: list[Message] = [record for number in range(20) for record in pair(number)]
    branch, request = Branch("Be brief.", records), TurnRequest(NOW, context_blocks=(ContextBlock("memory", "fact"),))
    alone = compile_chat_request(branch, request)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda _: compile_chat_request(branch, request), range(40)))

    assert all(compiled.messages == alone.messages for compiled in together)


def pair(number: int) -> list[Message]:
    """Return a question and its answer."""
    return [Instruction.create(f"Ask {number}.", prompt_context=[number]), AssistantResponse.create(f"Yes {number}.")]


def best_of_five(text: str) -> float:
    """Return the seconds that compiling a text takes, at its best: a busy machine makes only some of five slow."""
    branch, request = Branch(System.create("Be brief."), [ASK, YES]), TurnRequest(Instruction.create(text))
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        compile_chat_request(branch, request)
        taken.append(time.perf_counter() - started)
    return min(taken)


@pytest.mark.parametrize(
    ("text_of_size", "starts"),
    [
        (lambda size: "word " * (size // 5) + "end", "Instruction: word "),
        (lambda size: "a line of text\n" * (size // 15) + "end", "Instruction: |-\n  a line"),
        (lambda size: "a\ttab and 😀 " * (size // 12) + "end", 'Instruction: "a\\ttab'),
    ],
    ids=["plain", "literal", "double-quoted"],
)
def test_a_long_text_is_compiled_in_linear_time(text_of_size: Callable[[int], str], starts: str) -> None:
    """Eight times the text takes about eight times as long, however it is written."""
    small, large = text_of_size(1_000_000), text_of_size(8_000_000)

    assert str(sent(Branch(), TurnRequest(Instruction.create(small)))[0][1]).startswith(starts)
    assert best_of_five(large) / best_of_five(small) <= 20
