"""How the current instruction tells a model what its answer must look like."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

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
    assert example_text(response_format, schema_of(response_format)) == sentence('{"city":"text","degrees":1.5}')


def test_a_mapping_is_its_own_example_and_has_no_schema() -> None:
    """The keys keep their order, nothing is left out, and letters are written as they are."""
    response_format = {"b": "größe", "a": [1, None, {"c": ""}]}

    assert schema_of(response_format) is None
    assert example_text(response_format, schema_of(response_format)) == sentence('{"b":"größe","a":[1,null,{"c":""}]}')


def test_values_that_json_has_no_type_for_are_converted() -> None:
    """Dates, numbers and containers of other types have a JSON form."""
    response_format = MappingProxyType({"on": date(2026, 1, 2), "price": Decimal("1.5"), "tags": ("a",), "ids": {2, 1}})

    assert example_text(response_format, schema_of(response_format)) == sentence(
        '{"on":"2026-01-02","price":"1.5","tags":["a"],"ids":[1,2]}'
    )


@pytest.mark.parametrize("response_format", [None, {}, Empty])
def test_without_anything_to_show_there_is_no_example(response_format: Any) -> None:
    """No format, an empty mapping and a model without fields ask for nothing."""
    assert example_text(response_format, schema_of(response_format)) is None


def test_no_format_has_no_schema() -> None:
    """Nothing is asked where nothing is given."""
    assert schema_of(None) is None


@pytest.mark.parametrize(("response_format", "shown"), [("json", "str"), (dict, "type"), ([1], "list")])
def test_another_format_is_refused(response_format: Any, shown: str) -> None:
    """A word, another class and a list are no format."""
    with pytest.raises(TurnCompileError) as caught:
        schema_of(response_format)

    assert str(caught.value) == (
        f"`response_format` is a {shown}; it must be a pydantic model, its class, or a mapping"
    )
    assert caught.value.path == "response_format"


def test_a_model_without_a_schema_is_refused() -> None:
    """What pydantic cannot describe cannot be asked for."""
    with pytest.raises(TurnCompileError, match=r"^`response_format` is Odd, which has no JSON schema \(") as caught:
        schema_of(Odd)

    assert caught.value.path == "response_format"


@pytest.mark.parametrize(
    ("response_format", "message"),
    [
        ({"a": [int]}, "The value at response_format.a[0] is <class 'int'>, which cannot be written; use plain data"),
        ({"a": float("nan")}, "The value at response_format has no JSON form ("),
        (
            {"a": {1: "a", "1": "b"}},
            "The value at response_format has no JSON form (two keys of ['1', '1'] are written alike)",
        ),
        ({"a": b"\xff"}, "The value at response_format has no JSON form ("),
    ],
)
def test_a_mapping_without_a_json_form_is_refused(response_format: dict[str, Any], message: str) -> None:
    """The example must parse, so what JSON cannot say is named."""
    with pytest.raises(TurnCompileError) as caught:
        example_text(response_format, None)

    assert str(caught.value).startswith(message)


def test_looking_at_a_model_changes_nothing_in_it() -> None:
    """The schema of a request is a copy, and no class is derived from the model."""
    before = Answer.model_json_schema()
    found: Any = schema_of(Answer)
    found["properties"].clear()

    assert Answer.model_json_schema() == before
    assert before["title"] == "Answer"
    assert Answer.__subclasses__() == []


class Watchful(BaseModel):
    """A model that keeps a list of the classes derived from it."""

    derived: ClassVar[list[type]] = []

    city: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.derived.append(cls)


def test_a_model_does_not_notice_that_it_is_looked_at() -> None:
    """Whoever registers subclasses is told of none, and the title names a request all the same."""
    found: Any = schema_of(Watchful)

    assert found["title"] == "WatchfulRequest"
    assert Watchful.derived == []


class Node(BaseModel):
    """A part of a tree."""

    name: str
    next: "Node | None" = None


def test_a_model_that_refers_to_itself_has_a_schema() -> None:
    """Its fields stand at the top; what they refer to is the model itself, which keeps its name and its docstring."""
    fields = {
        "name": {"title": "Name", "type": "string"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
    }
    shape = {"properties": fields, "required": ["name"], "type": "object"}
    found = schema_of(Node)

    assert found == {
        "$defs": {"Node": {"title": "Node", "description": "A part of a tree.", **shape}},
        "title": "NodeRequest",
        **shape,
    }
    assert example_text(Node, found) == sentence('{"name":"text","next":{"name":"text","next":null}}')


class Titled(BaseModel):
    """A docstring that is the class's own business."""

    model_config = ConfigDict(title="Weather report", json_schema_extra={"description": "For a model to read."})

    city: str


class Described(BaseModel):
    """A docstring.

    With a second paragraph.
    """

    city: str


class Derived(Described):  # noqa: D101  # a model without a docstring is the point
    city: str


def test_a_title_and_a_description_of_its_own_are_kept() -> None:
    """They were written for the schema, and the docstring was not."""
    found: Any = schema_of(Titled)

    assert (found["title"], found["description"]) == ("Weather report", "For a model to read.")


@pytest.mark.parametrize("model", [Answer, Described, Derived, RootModel[list[int]]])
def test_a_docstring_is_not_shown(model: type[BaseModel]) -> None:
    """One line or several, its own or none."""
    found: Any = schema_of(model)

    assert "description" not in found
    assert found["title"] == f"{model.__name__}Request"


@pytest.mark.parametrize("model", [Node, Titled, Described, Derived, Empty])
def test_the_schema_is_that_of_a_derived_class(model: type[BaseModel]) -> None:
    """It equals what pydantic says of a class without docstring that is derived from the model."""
    derived = create_model(f"{model.__name__}Request", __base__=model)

    assert schema_of(model) == derived.model_json_schema()


class Hooked(BaseModel):
    """A model whose own hook fails."""

    city: str

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        raise ZeroDivisionError("of its own")


def test_a_hook_that_fails_is_a_refusal() -> None:
    """Whatever a model's own code raises is named and kept as the cause."""
    with pytest.raises(TurnCompileError) as caught:
        schema_of(Hooked)

    assert str(caught.value) == "`response_format` is Hooked, which has no JSON schema (of its own)"
    assert caught.value.path == "response_format"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Tagged(BaseModel):
    """A model with a set as a default."""

    tags: set[str] = {"b", "a", "c"}


def test_a_default_that_is_a_set_has_an_order_of_its_own() -> None:
    """The order of hashes changes with every process."""
    found: Any = schema_of(Tagged)

    assert found["properties"]["tags"]["default"] == ["a", "b", "c"]


def test_the_example_of_a_model_is_that_of_its_schema() -> None:
    """The schema is not built a second time."""
    assert example_text(Answer, {"type": "array", "items": {"const": 7}}) == sentence("[7]")
    assert example_text(Answer, None) is None


def test_a_title_that_the_model_chose_is_kept() -> None:
    """Only a title that is the class's name becomes the request's."""

    class Chosen(BaseModel):
        model_config = ConfigDict(title="Chosen")
        a: int

    assert (schema_of(Chosen) or {})["title"] == "Chosen"


class Inner(BaseModel):
    """A docstring."""

    q: int = Field(default=1, alias="Q")


class Outer(BaseModel):
    """A model with defaults."""

    i: Inner = Inner()
    tags: frozenset[int | str] = frozenset({"b", "a", 1})


@pytest.mark.parametrize("model", [RootModel[Inner], RootModel[list[Inner]], Inner])
def test_a_schema_is_that_of_a_derived_class(model: type[BaseModel]) -> None:
    """A root model stays a reference to what it holds."""
    derived = create_model(f"{model.__name__}Request", __base__=model)

    assert schema_of(model) == derived.model_json_schema()


def test_a_default_is_shown_as_pydantic_shows_it() -> None:
    """By its aliases; only a set is put in an order of its own."""
    properties = (schema_of(Outer) or {})["properties"]

    assert properties["i"]["default"] == {"Q": 1}
    assert properties["tags"]["default"] == [1, "a", "b"]


class Held(RootModel[Inner]):
    """A docstring that is nobody's business."""


class Listed(BaseModel):
    """A model with a set inside a default."""

    by: dict[str, set[str]] = {"k": {"b", "a"}}


class Foreign(BaseModel):
    """A model with a schema of its own."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:  # type: ignore[override]  # the point of the test
        """Return it."""
        return {"title": "Foreign", "type": "object"}


def test_a_root_model_keeps_its_docstring_to_itself() -> None:
    """Also where it holds another model."""
    assert schema_of(Held) == create_model("HeldRequest", __base__=Held).model_json_schema()


def test_sets_inside_a_default_are_in_order() -> None:
    """At any depth of lists and mappings."""
    assert (schema_of(Listed) or {})["properties"]["by"]["default"] == {"k": ["a", "b"]}


def test_a_schema_of_the_models_own_is_asked_for_as_it_is() -> None:
    """An override takes whatever arguments it takes."""
    assert schema_of(Foreign) == {"title": "ForeignRequest", "type": "object"}
