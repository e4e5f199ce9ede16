"""What holds for the current call alone, as sections of its instruction: tools, and the form of the answer.

These come from the request and from nowhere else; no record has them, and none gets them. A fault in them is the
request's and names no record. Source: Turn specification, D1.
"""

from __future__ import annotations

from typing import Any

from .minimal_yaml.plain import is_blank, plain
from .request import TurnRequest
from .response_format import example_text, schema_of


def call_sections(request: TurnRequest) -> dict[str, Any]:
    """Return the sections by their titles, as plain values, in their order; what is empty is left out.

    Raises:
        TurnCompileError: a schema or the response format cannot be written; `path` begins with the field's name.
    """
    schema = schema_of(request.response_format)
    sections = {
        "Tools": plain(request.tool_schemas, "tool_schemas"),
        "ResponseSchema": plain(schema, "response_format"),
        "ResponseFormat": example_text(request.response_format, schema),
    }
    return {title: value for title, value in sections.items() if not is_blank(value)}
