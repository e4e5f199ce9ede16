"""The context section: every block as one canonical JSON array between two marker lines.

JSON keeps the name of the source with its text and the text apart from the policy around it; it does not make the
text trustworthy. The section is part of what is sent and never of a record. Source: Turn specification, D3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kedi_compile.errors import TurnCompileError

from .contents import exact
from .request import ContextBlock

BEGIN = "LIONAGI_CONTEXT_BLOCKS_JSON"
END = "END_LIONAGI_CONTEXT_BLOCKS_JSON"


def context_section(blocks: Iterable[ContextBlock]) -> str:
    """Return the section for the blocks in their order, or empty text without blocks.

    Raises:
        TurnCompileError: the name or the content of a block is empty or no text.
    """
    payload = [_entry(block, place) for place, block in enumerate(blocks)]
    if not payload:
        return ""
    encoded = json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{BEGIN}\n{encoded}\n{END}"


def _entry(block: object, place: int) -> dict[str, str]:
    path = f"context_blocks[{place}]"
    if not isinstance(block, ContextBlock):
        raise TurnCompileError(f"`{path}` is a {type(block).__name__}; it must be a ContextBlock", path=path)
    return {name: _text(getattr(block, name), f"{path}.{name}") for name in ("provider_name", "content")}


def _text(value: object, path: str) -> str:
    if isinstance(value, str) and value:
        return exact(value)
    found = "empty" if isinstance(value, str) else f"a {type(value).__name__}"
    raise TurnCompileError(f"`{path}` is {found}; it must be text that is not empty", path=path)
