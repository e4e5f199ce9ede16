"""What a server would remember of a conversation, read off the unedited request.

The ledgers of `wire` are filled as if the server had issued every assistant turn of a body: which thinking is genuine,
what came before it, which Responses items belong together. An edited body is judged with the ledger of the unedited.
"""

from collections.abc import Iterator
from typing import Any

from wire.issued_items import ItemLedger
from wire.reading import Body, mappings_of
from wire.thinking import ThinkingLedger

_USER_ITEMS = frozenset({"function_call_output", "custom_tool_call_output", "item_reference"})
"""Typed items that no server issued; a message is told by its role."""


def remembered(api: str, unedited: Body) -> dict[str, Any]:
    """Return the keyword by which the API's validator takes the server's memory; empty where it needs none."""
    if api == "anthropic":
        return {"ledger": issued_thinking(unedited)}
    return {"ledger": issued_items(unedited)} if api == "openai_responses" else {}


def issued_thinking(unedited: Body) -> ThinkingLedger:
    """Return the memory of an Anthropic server that issued every assistant message of this body."""
    ledger = ThinkingLedger()
    messages = mappings_of(unedited.get("messages"))
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            ledger.record({**unedited, "messages": messages[:index]}, mappings_of(message.get("content")))
    return ledger


def issued_items(unedited: Body) -> ItemLedger:
    """Return the memory of a Responses server that issued and stored every run of output items of this body."""
    ledger = ItemLedger()
    for run in _output_runs(unedited):
        ledger.record(run, stored=True)
    return ledger


def _output_runs(body: Body) -> Iterator[list[Body]]:
    run: list[Body] = []
    for item in mappings_of(body.get("input")):
        if item.get("role", "assistant") == "assistant" and item.get("type") not in _USER_ITEMS:
            run.append(item)
        elif run:
            yield run
            run = []
    if run:
        yield run
