"""What holds for the current call alone, as sections of its instruction."""

from typing import Any

import pytest
from pydantic import BaseModel

from kedi_compile import TurnCompileError, TurnRequest
from kedi_compile.turn import Instruction
from kedi_compile.turn.call_sections import call_sections

NOW = Instruction.create("Now.")
SENTENCE = (
    "Answer with JSON only, in one fenced block, shaped like this example:\n"
    "```json\n{}\n```\n"
    "Escape quotes and control characters inside strings."
)


class Answer(BaseModel):
    """How a city feels."""

    city: str
    note: str | None = None


def test_the_sections_of_a_call_stand_in_a_fixed_order() -> None:
    """Tools come first, then the schema, then the example."""
    request = TurnRequest(NOW, response_format=Answer, tool_schemas=({"name": "look"},))

    assert list(call_sections(request)) == ["Tools", "ResponseSchema", "ResponseFormat"]


def test_a_model_is_shown_by_schema_and_format() -> None:
    """The schema loses its empty parts, as every section does, and the example shows every field."""
    assert call_sections(TurnRequest(NOW, response_format=Answer)) == {
        "ResponseSchema": {
            "properties": {
                "city": {"title": "City", "type": "string"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Note"},
            },
            "required": ["city"],
            "title": "AnswerRequest",
            "type": "object",
        },
        "ResponseFormat": SENTENCE.replace("{}", '{"city":"text","note":"text"}'),
    }


def test_a_mapping_is_shown_by_its_format_alone() -> None:
    """It has no schema, and nothing of it is left out."""
    assert call_sections(TurnRequest(NOW, response_format={"city": None})) == {
        "ResponseFormat": SENTENCE.replace("{}", '{"city":null}')
    }


def test_a_schema_of_a_tool_loses_its_empty_parts() -> None:
    """What a model is not told anything by is left out, and so is a tool that says nothing."""
    tool = {"name": "look", "parameters": {"properties": {}, "default": None, "strict": False}}

    assert call_sections(TurnRequest(NOW, tool_schemas=(tool, {}))) == {
        "Tools": ({"name": "look", "parameters": {"strict": False}},)
    }


@pytest.mark.parametrize(
    "options", [{}, {"tool_schemas": ({},)}, {"response_format": {}}, {"structure": "Path"}], ids=str
)
def test_what_is_empty_is_no_section(options: dict[str, Any]) -> None:
    """Nothing is shown of what is not there, and a structure is not shown in this version."""
    assert call_sections(TurnRequest(NOW, **options)) == {}


def test_the_sections_share_nothing_with_the_request() -> None:
    """They are values of their own."""
    tool = {"name": "look", "parameters": {"type": "object"}}
    sections = call_sections(TurnRequest(NOW, tool_schemas=(tool,)))
    sections["Tools"][0]["parameters"]["type"] = "changed"

    assert tool == {"name": "look", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"tool_schemas": ({"name": "look"}, {"run": int})}, "tool_schemas[1].run"),
        ({"response_format": {"a": [int]}}, "response_format.a[0]"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"a": float("nan")}}, "response_format"),
    ],
    ids=["tool", "value", "kind", "json"],
)
def test_a_fault_in_an_option_is_the_requests(options: dict[str, Any], path: str) -> None:
    """The way begins with the name of the field, and no record is to blame."""
    with pytest.raises(TurnCompileError) as caught:
        call_sections(TurnRequest(NOW, **options))

    assert (caught.value.path, caught.value.record_ids) == (path, ())
