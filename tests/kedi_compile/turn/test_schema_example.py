"""One value of a JSON schema: an example that parses, with the right types."""

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel, TypeAdapter

from kedi_compile.turn.schema_example import example_of


class Mood(Enum):
    """A choice."""

    CALM = "calm"
    WILD = "wild"


class Part(BaseModel):
    """A nested model."""

    size: int


class Empty(BaseModel):
    """No fields."""


class Node(BaseModel):
    """A model that refers to itself."""

    name: str
    next: "Node | None" = None
    others: "list[Node]" = Field(default_factory=list)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((str, "text"), (int, 1), (float, 1.5), (bool, True), (None, None), (Any, None)),
        *((str | None, "text"), (None | int, 1), (Literal["x", "y"], "x"), (Literal["x"], "x"), (Mood, "calm")),
        *((list[int], [1]), (list[list[str]], [["text"]]), (set[str], ["text"]), (tuple[int, str], [1, "text"])),
        *(
            (list[Any], []),
            (dict[str, int], {"key": 1}),
            (dict[str, Any], {}),
            (dict[str, Part], {"key": {"size": 1}}),
        ),
        *((Part, {"size": 1}), (list[Part], [{"size": 1}]), (Part | None, {"size": 1})),
        (Annotated[int, Field(ge=10)], 1),
    ],
    ids=str,
)
def test_each_type_has_its_example(kind: Any, value: Any) -> None:
    """Leaves are made up, choices take the first one, and an optional value is shown and not left out."""
    assert example_of(TypeAdapter(kind).json_schema()) == value


def test_a_model_shows_every_field_in_order() -> None:
    """Required or not, inherited or nested, each property has a value."""

    class Answer(Part):
        mood: Mood = Mood.WILD
        parts: list[Part]
        note: str | None = None

    assert list(example_of(Answer.model_json_schema()).items()) == [
        ("size", 1),
        ("mood", "calm"),
        ("parts", [{"size": 1}]),
        ("note", "text"),
    ]


def test_a_model_that_refers_to_itself_ends() -> None:
    """The inner reference is null, or missing from a list."""
    assert example_of(Node.model_json_schema()) == {"name": "text", "next": None, "others": []}


def test_a_model_without_fields_is_an_empty_object() -> None:
    """There is nothing to show."""
    assert example_of(Empty.model_json_schema()) == {}


def test_a_model_of_a_list_is_a_list() -> None:
    """A root model is what it holds."""
    assert example_of(RootModel[list[int]].model_json_schema()) == [1]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 0}, 0),
        ({"enum": ["b", "a"], "type": "string"}, "b"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"anyOf": [{"type": "null"}]}, None),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"const": 2}}}]},
            {"a": "text", "b": 2},
        ),
        ({"allOf": [{"type": "integer"}]}, 1),
        ({"$ref": "#/$defs/Gone"}, None),
        ({"type": "object", "additionalProperties": False}, {}),
        ({"type": "array"}, []),
        ({"type": "array", "items": True}, []),
        ({"type": "mystery"}, None),
        ({"type": ["null", "string"]}, "text"),
        ({"type": "integer", "default": 7}, 1),
        ({}, None),
    ],
)
def test_schemas_written_by_hand(schema: dict[str, Any], value: Any) -> None:
    """What a schema gives by itself is taken; what it does not say is null."""
    assert example_of(schema) == value
