"""One value of a JSON schema: an example that parses, with the right types and made-up leaves.

A constant and the first of several choices are taken as they are. Limits (lengths, patterns, ranges) are
not met: the example shows a shape. A schema that refers to itself ends in null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]


def example_of(schema: Schema) -> Any:
    """Return one value of the shape that `schema` describes; an object without properties is an empty one."""
    return _Example(schema.get("$defs", {})).value(schema, frozenset())


class _Example:
    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def value(self, schema: Any, open_refs: frozenset[str]) -> Any:
        if not isinstance(schema, Mapping):
            return None
        for key, choose in _GIVEN.items():
            if key in schema:
                return choose(self, schema[key], open_refs)
        return self._typed(schema, open_refs)

    def reference(self, ref: str, open_refs: frozenset[str]) -> Any:
        name = ref.rpartition("/")[2]
        return None if name in open_refs else self.value(self._definitions.get(name), open_refs | {name})

    def first_with_a_value(self, choices: list[Any], open_refs: frozenset[str]) -> Any:
        values = (self.value(choice, open_refs) for choice in choices)
        return next((value for value in values if value is not None), None)

    def all_of(self, parts: list[Any], open_refs: frozenset[str]) -> Any:
        values = [self.value(part, open_refs) for part in parts]
        mappings = [value for value in values if isinstance(value, dict)]
        return {key: item for mapping in mappings for key, item in mapping.items()} if mappings else values[0]

    def _typed(self, schema: Schema, open_refs: frozenset[str]) -> Any:
        kind = _first_kind(schema.get("type"))
        if kind == "object" or "properties" in schema:
            return self._object(schema, open_refs)
        if kind == "array":
            items = [*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else [])]
            return [value for item in items if (value := self.value(item, open_refs)) is not None]
        return _LEAVES.get(kind)

    def _object(self, schema: Schema, open_refs: frozenset[str]) -> dict[str, Any]:
        made = {name: self.value(part, open_refs) for name, part in schema.get("properties", {}).items()}
        more = schema.get("additionalProperties")
        return made if made or not isinstance(more, Mapping) else {"key": self.value(more, open_refs)}


def _first_kind(kind: Any) -> Any:
    return next((one for one in kind if one != "null"), None) if isinstance(kind, list) else kind


_GIVEN: dict[str, Callable[[_Example, Any, frozenset[str]], Any]] = {
    "const": lambda _, value, __: value,
    "enum": lambda _, values, __: values[0],
    "$ref": _Example.reference,
    "anyOf": _Example.first_with_a_value,
    "oneOf": _Example.first_with_a_value,
    "allOf": _Example.all_of,
}
"""What says by itself which value to take, in this order."""

_LEAVES: dict[Any, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
