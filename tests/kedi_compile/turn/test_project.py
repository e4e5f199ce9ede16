"""Step 2: what each record means to a model."""

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError, UnknownRecordError
from kedi_compile.message import MessageRole
from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    ActionResponseContent,
    AssistantResponse,
    AssistantResponseContent,
    Instruction,
    InstructionContent,
    Message,
    System,
)
from kedi_compile.turn.project import project
from kedi_compile.turn.views import AssistantView, InstructionView, View

NOW = Instruction.create("Now.", id=UUID(int=100))
ASK = Instruction.create("Ask.", id=UUID(int=1))
YES = AssistantResponse.create("Yes.", id=UUID(int=2))
CALL = ActionRequest(content=ActionRequestContent("look", {"at": "it"}))


def result(output: Any, function: str = "look") -> ActionResponse:
    """Return the record of a result."""
    return ActionResponse(content=ActionResponseContent(function, {"at": "it"}, output))


def shown(output: Any, function: str = "look") -> dict[str, Any]:
    """Return what a model sees of a result."""
    return {"function": function, "arguments": {"at": "it"}, "output": output}


def views(records: Sequence[Message], current: Instruction = NOW) -> tuple[list[View], InstructionView]:
    """Return the views of a history and of a current instruction."""
    return project(records, current)


def contexts(records: Sequence[Message], current: Instruction = NOW) -> list[tuple[Any, ...]]:
    """Return the contexts of all instructions, the current one last."""
    history, last = views(records, current)
    return [view.prompt_context for view in [*history, last] if isinstance(view, InstructionView)]


def test_instructions_and_answers_become_views() -> None:
    """Each keeps its place and knows the record it came from."""
    history, current = views([ASK, YES])

    assert history == [InstructionView(ASK.id, "Ask."), AssistantView(YES.id, "Yes.")]
    assert current == InstructionView(NOW.id, "Now.")


def test_an_instruction_shows_all_of_its_durable_fields() -> None:
    """Guidance, context, plain content, images and their detail are part of the view."""
    record = Instruction(content=InstructionContent("Ask.", {"a": 1}, [2], "Raw.", ["https://a.example/b"], "low"))

    assert views([record])[0] == [
        InstructionView(record.id, "Ask.", {"a": 1}, (2,), "Raw.", ("https://a.example/b",), "low")
    ]


def test_system_records_of_the_selection_are_left_out() -> None:
    """Policy is read from the branch and never from the order."""
    assert views([System.create("Be brief."), YES, System.create("Be long.")])[0] == [AssistantView(YES.id, "Yes.")]


def test_a_call_is_not_shown_by_itself() -> None:
    """A request without a result leaves no trace; its function and arguments are part of the result."""
    assert views([ASK, CALL, YES])[0] == views([ASK, YES])[0]
    assert contexts([ASK, YES, CALL, ActionResponse.answering(CALL, 42)])[-1] == (shown(42),)


def test_a_result_shows_function_arguments_and_output_alone() -> None:
    """The error and the ids of a result are kept in the record and not shown."""
    record = ActionResponse.answering(CALL, None, error="late", metadata={"took": 1})

    assert contexts([record]) == [({"function": "look", "arguments": {"at": "it"}, "output": None},)]


def test_results_wait_for_the_next_instruction() -> None:
    """Results are added to the context of the instruction that follows, in their order, after what is there."""
    nxt = Instruction.create("Next.", prompt_context=["fact"])

    assert contexts([ASK, result(1), YES, result(2), nxt, YES]) == [(), ("fact", shown(1), shown(2)), ()]


def test_results_after_the_last_instruction_go_to_the_current_one() -> None:
    """What was found last is what the model is asked about now."""
    now = Instruction.create("Now.", prompt_context=["fact"])

    assert contexts([ASK, YES, result(1), result(2)], now) == [(), ("fact", shown(1), shown(2))]


def test_results_alone_go_to_the_current_instruction() -> None:
    """A history of results without any instruction loses none of them."""
    assert contexts([CALL, result(1)]) == [(shown(1),)]


def test_a_result_that_is_in_the_context_already_is_not_repeated() -> None:
    """An item of the context that equals the projected result stands for it, wherever its keys stand."""
    now = Instruction.create("Now.", prompt_context=[{"output": 1, "arguments": {"at": "it"}, "function": "look"}])

    assert contexts([result(1), result(2)], now) == [
        ({"output": 1, "arguments": {"at": "it"}, "function": "look"}, shown(2))
    ]


def test_equal_results_of_one_fold_are_shown_once() -> None:
    """The second of two equal results is dropped; another output, type or function makes another result."""
    records = [result(1), result("1"), result(1), result(True), result(1.0), result(1, "seek")]

    assert [repr(item["output"]) for item in contexts(records)[0]] == ["1", "'1'", "True", "1.0", "1"]


def test_a_folded_result_knows_its_record() -> None:
    """The ids stand for the last items of the context, and a result that is dropped has none."""
    first, twin, second = result(1), result(1), result(2)
    now = Instruction.create("Now.", prompt_context=["fact"])
    history, current = views([first, twin, second, ASK, YES, twin], now)

    assert isinstance(history[0], InstructionView)
    assert history[0].result_ids == (first.id, second.id)
    assert current.prompt_context == ("fact", shown(1))
    assert current.result_ids == (twin.id,)


def test_without_results_no_record_is_named() -> None:
    """What the instruction holds itself comes from no other record."""
    assert views([], Instruction.create("Now.", prompt_context=["fact"]))[1].result_ids == ()


def test_equal_results_of_two_folds_are_shown_in_both() -> None:
    """Asking twice and finding the same is told twice, to two instructions."""
    assert contexts([result(1), ASK, YES, result(1)]) == [(shown(1),), (shown(1),)]


class Note(Message):
    """A record of a kind of its own, without a role."""


class Whisper(Message):
    """A record of a kind of its own, with a role."""

    role: ClassVar[MessageRole] = MessageRole.USER


class Draft(AssistantResponse):
    """An answer of a derived kind."""


def test_routed_traffic_is_left_out() -> None:
    """A message without a role is no turn of the conversation, of whichever class."""
    assert views([Message(content="to all"), Note(content="to all")])[0] == []


def test_a_kind_with_a_role_that_is_not_known_is_refused() -> None:
    """A new kind needs a case of its own before it can change a prompt."""
    record = Whisper(content="psst", id=UUID(int=5))

    with pytest.raises(UnknownRecordError) as caught:
        views([ASK, record])
    assert str(caught.value) == (
        "Record 00000000-0000-0000-0000-000000000005 is a Whisper with the role 'user', and the compiler knows no "
        "such kind; it knows System, ActionRequest, ActionResponse, AssistantResponse, Instruction"
    )
    assert caught.value.record_ids == (record.id,)


def test_a_derived_record_is_what_it_derives_from() -> None:
    """A subclass of a known kind is treated as that kind."""
    record = Draft.create("Perhaps.")

    assert views([record])[0] == [AssistantView(record.id, "Perhaps.")]


def test_the_options_of_the_call_are_the_current_instructions_alone() -> None:
    """Projecting knows no request, so no view has a section of the call; the compiler gives it to the current one."""
    history, current = views([ASK, YES])

    assert [dict(view.call_sections) for view in [*history, current] if isinstance(view, InstructionView)] == [{}, {}]


def test_an_answer_that_is_no_text_is_refused() -> None:
    """The record to blame is named."""
    content = AssistantResponseContent(7)  # type: ignore[arg-type]  # the point of the test
    record = AssistantResponse(content=content, id=UUID(int=5))

    with pytest.raises(TurnCompileError) as caught:
        views([record])
    assert str(caught.value) == (
        "Record 00000000-0000-0000-0000-000000000005: `assistant_response` is a int; it must be text"
    )
    assert (caught.value.record_ids, caught.value.path) == ((record.id,), "assistant_response")


def test_projecting_leaves_the_records_alone() -> None:
    """Results are added to a view of a context and never to the context."""
    ask = Instruction.create("Ask.", prompt_context=["fact"])
    found = contexts([result(1), ask])

    assert found[0] == ("fact", shown(1))
    assert ask.content.prompt_context == ["fact"]
