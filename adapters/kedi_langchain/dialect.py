"""LangChain's messages as the core sees them: one message is one entry.

The facts are in `facts.py`, new texts in `texts.py`, token numbers in `tokens.py`, JSON in `records.py`; this file puts
them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage

from kedi_compile import HistoryOrigin, structure
from kedi_compile.canonical import digest, digests
from kedi_compile.dialect import MessageFacts, TextFlaw, TextRole
from kedi_langchain import records, texts
from kedi_langchain.blocks import REASONING, has_type, inner_block
from kedi_langchain.facts import (
    all_fields,
    archived_references,
    failed_calls,
    is_history,
    message_facts,
    message_origins,
)
from kedi_langchain.tokens import estimate

_BOOKKEEPING: Final = frozenset(
    {"id", "usage_metadata", "response_metadata", "type", "tool_call_chunks", "chunk_position"}
)
"""Fields the host stamps or fills in, or that say how a message came; they are not what a model reads."""

_REASONING_KWARGS: Final = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "__openai_function_call_ids__"}
)
"""Extra fields that are reasoning, or that pair a part with it."""

_PAIRED: Final = frozenset({"text", "refusal", "function_call", "custom_tool_call"})
"""Block types whose `id` pairs with reasoning; that of others is the call's own."""


class LangChainDialect:
    """How the core reads and builds LangChain messages."""

    adapter_shortname = "langchain"
    merges_requests = False

    def is_native(self, message: object) -> bool:
        """Tell whether `message` is a history message; an order to the graph, like `RemoveMessage`, is none."""
        return is_history(message)

    def describe(self, message: BaseMessage) -> MessageFacts:
        """Read the facts off one message."""
        return message_facts(message)

    def estimate(self, message: BaseMessage) -> int:
        """Estimate its tokens from above."""
        return estimate(message)

    def digest(self, message: BaseMessage) -> bytes:
        """Return the digest of its content; ids, usage and response metadata do not count."""
        return digest(_content(message))

    def digests(self, messages: Sequence[BaseMessage]) -> list[bytes]:
        """Return the digest of each message."""
        return digests(list(map(_content, messages)))

    def fingerprint(self, message: BaseMessage) -> bytes:
        """Return the digest of every field."""
        return digest((type(message).__name__, all_fields(message)))

    def clone(self, message: BaseMessage) -> BaseMessage:
        """Return a detached copy."""
        return structure.clone(message)

    def same(self, message: BaseMessage, other: BaseMessage) -> bool:
        """Tell whether two messages agree in type and every field; which of them were given does not count."""
        return type(message) is type(other) and structure.same(all_fields(message), all_fields(other))

    def dump(self, message: BaseMessage) -> bytes:
        """Write one message as JSON."""
        return records.dump(message)

    def load(self, data: bytes) -> BaseMessage:
        """Read one message that `dump` wrote."""
        return records.load(data)

    def name(self, message: BaseMessage) -> str | None:
        """Return the message's id, which graphs keep with it for good."""
        return message.id

    def carriers(self, message: BaseMessage) -> tuple[BaseMessage]:
        """Return the message itself."""
        return (message,)

    def origins(
        self, message: BaseMessage, run_id: str | None, location: str | None
    ) -> list[tuple[object, tuple[HistoryOrigin, ...]]]:
        """List what the run knows about a message it made."""
        return [(message, message_origins(message, run_id, location))]

    def text_message(self, text: str, role: TextRole) -> BaseMessage:
        """Build a message that holds only `text`."""
        return texts.text_message(text, role)

    def text_flaw(self, message: BaseMessage) -> TextFlaw | None:
        """Say why `message` is more or less than a bare text of the user or the assistant."""
        return texts.text_flaw(message)

    def text(self, message: BaseMessage) -> str:
        """Return the text of a new message or a checkpoint."""
        return texts.text(message)

    def without_reasoning(self, message: BaseMessage) -> BaseMessage | None:
        """Return a copy without reasoning; ids that pair with it go too, so that each block stands alone."""
        kwargs = {name: value for name, value in message.additional_kwargs.items() if name not in _REASONING_KWARGS}
        content = _bare(message.content)
        calls = [*getattr(message, "tool_calls", []), *getattr(message, "invalid_tool_calls", [])]
        if not content and not calls:
            return None
        item = str(message.id or "").startswith("msg_")  # an older form keeps the answer's item id here
        return message.model_copy(
            update={"content": content, "additional_kwargs": kwargs, **({"id": None} if item else {})}
        )

    def checkpoint(self, text: str, reference: str) -> BaseMessage:
        """Build the message of the user's side that stands for an archived record."""
        return texts.checkpoint(text, reference)

    def archived(self, message: BaseMessage) -> list[str]:
        """Return the references of the records that it stands for."""
        return archived_references(message)

    def failed_calls(self, message: BaseMessage) -> list[str]:
        """Return the id of the call that it answers with an error, if it does."""
        return failed_calls(message)


DIALECT: Final = LangChainDialect()
"""It has no state, so one serves everybody."""


def _content(message: BaseMessage) -> tuple[str, dict[str, Any]]:
    return _kind(message), {name: value for name, value in all_fields(message).items() if name not in _BOOKKEEPING}


def _kind(message: BaseMessage) -> str:
    """The message's kind; a chunk says the same as the whole message."""
    return message.type.removesuffix("MessageChunk").lower()


def _bare(content: str | list[Any]) -> str | list[Any]:
    if isinstance(content, str):
        return content
    return [_without_id(block) for block in content if not _is_reasoning(block)]


def _is_reasoning(block: object) -> bool:
    return isinstance(block, Mapping) and has_type(inner_block(block), REASONING)


def _without_id(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    bare = {name: value for name, value in block.items() if name != "id" or not has_type(block, _PAIRED)}
    if isinstance(extras := bare.get("extras"), Mapping) and "item_id" in extras:
        bare["extras"] = {name: value for name, value in extras.items() if name != "item_id"}
    return bare
