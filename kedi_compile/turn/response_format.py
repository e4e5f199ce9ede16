"""How the current instruction tells a model what its answer must look like.

Two sections: the JSON schema of a model, and a sentence with an example. The example is always JSON: for a mapping the
mapping itself, for a model one value of its schema. Source: Turn specification, D1 and D2; the sentence is this
project's own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, RootModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from kedi_compile.errors import TurnCompileError

from .minimal_yaml.plain import plain
from .schema_example import example_of
from .views import is_absent

FIELD = "response_format"


def schema_of(response_format: object) -> dict[str, Any] | None:
    """Build the JSON schema of a model or of a model's class, or return None for a mapping and for None.

    The schema is that of a class `<Model>Request` derived from the model, as LionAGI shows it: the title is that name,
    and the model's docstring is not in it.

    Raises:
        TurnCompileError: the model has no JSON schema, or the format is neither a mapping nor a model.
    """
    if response_format is None or isinstance(response_format, Mapping):
        return None
    model = response_format if isinstance(response_format, type) else type(response_format)
    if not issubclass(model, BaseModel):
        raise TurnCompileError(
            f"`{FIELD}` is a {type(response_format).__name__}; it must be a pydantic model, its class, or a mapping",
            path=FIELD,
        )
    try:
        schema = _own_schema(model)
    except Exception as exc:  # a model's own hooks may raise anything
        raise TurnCompileError(f"`{FIELD}` is {model.__name__}, which has no JSON schema ({exc})", path=FIELD) from exc
    return _as_request(schema, model)


def _own_schema(model: type[BaseModel]) -> dict[str, Any]:
    own = getattr(model.model_json_schema, "__func__", None) is not getattr(
        BaseModel.model_json_schema, "__func__", None
    )
    return model.model_json_schema() if own else model.model_json_schema(schema_generator=_Ordered)


class _Ordered(GenerateJsonSchema):
    """Pydantic's generator; a set in a default is shown in an order of its own, not in that of hashes."""

    def encode_default(self, dft: Any) -> Any:
        return super().encode_default(_ordered(dft))


def _ordered(value: Any) -> Any:
    """A default with its sets as lists in order; what is inside a model is pydantic's."""
    if isinstance(value, AbstractSet):
        with suppress(TurnCompileError):
            return list(plain(value, FIELD, prune=False))
    if type(value) is list:
        return [_ordered(item) for item in value]
    if type(value) is tuple:
        return tuple(_ordered(item) for item in value)
    return {key: _ordered(item) for key, item in value.items()} if type(value) is dict else value


def _as_request(schema: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Change a model's schema to that of an undocumented class `<Model>Request` derived from it, without making one."""
    name = schema.get("$ref", "").rpartition("/")[2]
    held = name and issubclass(model, RootModel)
    top = {"$defs": schema["$defs"], **schema["$defs"][name]} if name and not held else dict(schema)
    if held or (top.get("title") == model.__name__ and model.model_config.get("title") is None):
        top["title"] = f"{model.__name__}Request"
    if top.get("description") == inspect.cleandoc(model.__doc__ or ""):
        del top["description"]
    return top


def example_text(response_format: object, schema: Mapping[str, Any] | None) -> str | None:
    """Return the sentence that asks for JSON, with an example, or None where there is nothing to ask for.

    `schema` is what `schema_of` built from the same format.

    Raises:
        TurnCompileError: a value of the mapping has no JSON form.
    """
    if isinstance(response_format, Mapping):
        example: Any = plain(response_format, FIELD, prune=False)
    else:
        example = example_of(schema or {})
    if is_absent(example):
        return None
    return (
        "Answer with JSON only, in one fenced block, shaped like this example:\n"
        f"```json\n{_json(example)}\n```\n"
        "Escape quotes and control characters inside strings."
    )


def _json(example: Any) -> str:
    try:
        text = json.dumps(
            example, default=to_jsonable_python, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        json.loads(text, object_pairs_hook=_refuse_equal_keys)
    except (TypeError, ValueError) as exc:
        raise TurnCompileError(f"The value at {FIELD} has no JSON form ({exc})", path=FIELD) from exc
    return text


def _refuse_equal_keys(pairs: list[tuple[str, Any]]) -> None:
    """Numbers and words become text where they are keys, so that two keys may become one."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two keys of {keys} are written alike")
