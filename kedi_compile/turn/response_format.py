"""How the current instruction tells a model what its answer must look like.

Two sections: the JSON schema of a model, and a sentence with an example. The example is always JSON: for a mapping the
mapping itself, for a model one value of its schema. Only the request of this very call has them; no record does.
Source: Turn specification, D1 and D2; the sentence is this project's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from kedi_compile.errors import TurnCompileError

from .example import example_of
from .plain import plain

SCHEMA = "ResponseSchema"
FORMAT = "ResponseFormat"


def schema_of(response_format: object) -> dict[str, Any] | None:
    """Return the JSON schema of a model or of a model's class, or None for a mapping and for None.

    Raises:
        TurnCompileError: the model has no JSON schema, or the format is neither a mapping nor a model.
    """
    if response_format is None or isinstance(response_format, Mapping):
        return None
    model = response_format if isinstance(response_format, type) else type(response_format)
    if not issubclass(model, BaseModel):
        raise TurnCompileError(
            f"`response_format` is {response_format!r}; it must be a pydantic model, its class, or a mapping",
            path=SCHEMA,
        )
    try:
        schema = create_model(f"{model.__name__}Request", __base__=model).model_json_schema()
    except PydanticUserError as exc:
        raise TurnCompileError(f"{model.__name__} has no JSON schema ({exc})", path=SCHEMA) from exc
    return schema


def example_text(response_format: object) -> str | None:
    """Return the sentence that asks for JSON, with an example, or None where there is nothing to ask for.

    Raises:
        TurnCompileError: a value of the mapping has no JSON form.
    """
    if isinstance(response_format, Mapping):
        example: Any = plain(response_format, FORMAT, prune=False)
    else:
        example = example_of(schema_of(response_format) or {})
    if not example:
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
        raise TurnCompileError(f"The value at {FORMAT} has no JSON form ({exc})", path=FORMAT) from exc
    return text


def _refuse_equal_keys(pairs: list[tuple[str, Any]]) -> None:
    """Numbers and words become text where they are keys, so that two keys may become one."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two keys of {keys} are written alike")
