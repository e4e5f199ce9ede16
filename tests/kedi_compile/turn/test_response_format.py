"""How the current instruction tells a model what its answer must look like."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from kedi_compile import TurnCompileError
from kedi_compile.turn.response_format import example_text, schema_of


class Answer(BaseModel):
    """A docstring that is the class's own business."""

    city: str
    degrees: float = 20.5


class Empty(BaseModel):
    """No fields."""


class Odd(BaseModel):
    """A field that JSON knows no schema for."""

    call: Callable[[], int]


def sentence(example: str) -> str:
    """Return the section for an example."""
    return (
        "Answer with JSON only, in one fenced block, shaped like this example:\n"
        f"```json\n{example}\n```\n"
        "Escape quotes and control characters inside strings."
    )


@pytest.mark.parametrize("response_format", [Answer, Answer(city="Bonn")], ids=["class", "instance"])
def test_a_model_is_shown_by_its_schema_and_an_example(response_format: Any) -> None:
    """A class and an instance say the same; the title names a request and the docstring is not shown."""
    assert schema_of(response_format) == {
        "properties": {
            "city": {"title": "City", "type": "string"},
            "degrees": {"default": 20.5, "title": "Degrees", "type": "number"},
        },
        "required": ["city"],
        "title": "AnswerRequest",
        "type": "object",
    }
    assert example_text(response_format) == sentence('{"city":"text","degrees":1.5}')


def test_a_mapping_is_its_own_example_and_has_no_schema() -> None:
    """The keys keep their order, nothing is left out, and letters are written as they are."""
    response_format = {"b": "größe", "a": [1, None, {"c": ""}]}

    assert schema_of(response_format) is None
    assert example_text(response_format) == sentence('{"b":"größe","a":[1,null,{"c":""}]}')


def test_values_that_json_has_no_type_for_are_converted() -> None:
    """Dates, numbers and containers of other types have a JSON form."""
    response_format = MappingProxyType({"on": date(2026, 1, 2), "price": Decimal("1.5"), "tags": ("a",), "ids": {2, 1}})

    assert example_text(response_format) == sentence('{"on":"2026-01-02","price":"1.5","tags":["a"],"ids":[1,2]}')


@pytest.mark.parametrize("response_format", [None, {}, Empty])
def test_without_anything_to_show_there_is_no_example(response_format: Any) -> None:
    """No format, an empty mapping and a model without fields ask for nothing."""
    assert example_text(response_format) is None


def test_no_format_has_no_schema() -> None:
    """Nothing is asked where nothing is given."""
    assert schema_of(None) is None


@pytest.mark.parametrize(("response_format", "shown"), [("json", "'json'"), (dict, "<class 'dict'>"), ([1], "[1]")])
def test_another_format_is_refused(response_format: Any, shown: str) -> None:
    """A word, another class and a list are no format."""
    with pytest.raises(TurnCompileError) as caught:
        schema_of(response_format)

    assert str(caught.value) == (f"`response_format` is {shown}; it must be a pydantic model, its class, or a mapping")
    assert caught.value.path == "ResponseSchema"


def test_a_model_without_a_schema_is_refused() -> None:
    """What pydantic cannot describe cannot be asked for."""
    with pytest.raises(TurnCompileError, match=r"^Odd has no JSON schema \(") as caught:
        schema_of(Odd)

    assert caught.value.path == "ResponseSchema"


@pytest.mark.parametrize(
    ("response_format", "message"),
    [
        ({"a": [int]}, "The value at ResponseFormat.a[0] is <class 'int'>, which cannot be written; use plain data"),
        ({"a": float("nan")}, "The value at ResponseFormat has no JSON form ("),
        (
            {"a": {1: "a", "1": "b"}},
            "The value at ResponseFormat has no JSON form (two keys of ['1', '1'] are written alike)",
        ),
        ({"a": b"\xff"}, "The value at ResponseFormat has no JSON form ("),
    ],
)
def test_a_mapping_without_a_json_form_is_refused(response_format: dict[str, Any], message: str) -> None:
    """The example must parse, so what JSON cannot say is named."""
    with pytest.raises(TurnCompileError) as caught:
        example_text(response_format)

    assert str(caught.value).startswith(message)


def test_looking_at_a_model_changes_nothing_in_it() -> None:
    """The schema of a request is made from a class of its own."""
    before = Answer.model_json_schema()
    schema_of(Answer)

    assert Answer.model_json_schema() == before
    assert before["title"] == "Answer"
    assert Answer.__subclasses__() == [] or all(kind.__name__ == "AnswerRequest" for kind in Answer.__subclasses__())
