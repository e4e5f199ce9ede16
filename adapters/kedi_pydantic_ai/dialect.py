"""Pydantic AI's messages as the core sees them: one `ModelRequest` or `ModelResponse` is one entry.

The facts are in `facts.py`, new texts in `texts.py`, token numbers in `tokens.py`, JSON in `records.py`; this file puts
them together.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ThinkingPart,
)

from kedi_compile import HistoryOrigin, structure
from kedi_compile.canonical import digest, digests
from kedi_compile.dialect import MessageFacts, TextFlaw, TextRole
from kedi_pydantic_ai import records, texts
from kedi_pydantic_ai.facts import archived_references, failed_calls, part_origins, request_facts, response_facts
from kedi_pydantic_ai.tokens import estimate

_STAMPED: Final = frozenset({"timestamp", "run_id", "conversation_id"})
_BOOKKEEPING: Final[dict[type, frozenset[str]]] = {
    ModelRequest: _STAMPED | {"instructions"},
    ModelResponse: _STAMPED | {"usage", "model_id", "canonical_system", "workspace_ref", "cost", "failed_attempts"},
}
"""Fields the host stamps or fills in; they are not what a model reads. Measured on 2.68."""

_NUMBERS: Final = frozenset({"usage"})
"""Fields the host loads back in other number types."""


def _digested(message: ModelMessage) -> list[object]:
    return _content(message, _BOOKKEEPING.get(type(message), _STAMPED), _STAMPED)


def _content(message: ModelMessage, left_out: frozenset[str], left_out_of_parts: frozenset[str]) -> list[object]:
    """The message as plain values where it is plain, which digests in one pass."""
    fields = {name: value for name, value in vars(message).items() if name not in left_out and name != "parts"}
    parts = [
        (type(part).__name__, {name: value for name, value in vars(part).items() if name not in left_out_of_parts})
        for part in message.parts
    ]
    return [fields, parts]


class PydanticDialect:
    """How the core reads and builds Pydantic AI messages."""

    adapter_shortname = "pydantic"
    merges_requests = True

    def is_native(self, message: object) -> bool:
        """Tell whether `message` is a `ModelRequest` or a `ModelResponse`."""
        return isinstance(message, (ModelRequest, ModelResponse))

    def describe(self, message: ModelMessage) -> MessageFacts:
        """Read the facts off one message."""
        return request_facts(message) if isinstance(message, ModelRequest) else response_facts(message)

    def estimate(self, message: ModelMessage) -> int:
        """Estimate its tokens from above; `instructions` are not counted."""
        return estimate(message)

    def digest(self, message: ModelMessage) -> bytes:
        """Return the digest of its content; run ids, timestamps and recorded instructions do not count."""
        return digest(_digested(message))

    def digests(self, messages: Sequence[ModelMessage]) -> list[bytes]:
        """Return the digest of each message."""
        return digests(list(map(_digested, messages)))

    def fingerprint(self, message: ModelMessage) -> bytes:
        """Return the digest of every field but the usage, which the host loads back in other number types."""
        return digest([type(message).__name__, _content(message, _NUMBERS, frozenset())])

    def clone(self, message: ModelMessage) -> ModelMessage:
        """Return a detached copy."""
        return structure.clone(message)

    def same(self, message: ModelMessage, other: ModelMessage) -> bool:
        """Tell whether two messages agree in type and every field; usage is compared by its numbers."""
        if not (isinstance(message, ModelResponse) and isinstance(other, ModelResponse)):
            return structure.same(message, other)
        mine, theirs = vars(message), vars(other)
        if mine.keys() != theirs.keys() or message.usage != other.usage:
            return False
        return all(structure.same(mine[name], theirs[name]) for name in mine if name != "usage")

    def dump(self, message: ModelMessage) -> bytes:
        """Write one message as JSON."""
        return records.dump(message)

    def load(self, data: bytes) -> ModelMessage:
        """Read one message that `dump` wrote."""
        return records.load(data)

    def name(self, message: ModelMessage) -> None:
        """Return None: the host's messages have no names of their own."""

    def carriers(self, message: ModelMessage) -> Sequence[ModelRequestPart | ModelResponsePart]:
        """Return its parts: the host merges and rebuilds messages, but keeps the parts."""
        return message.parts

    def origins(
        self, message: ModelMessage, run_id: str | None, location: str | None
    ) -> list[tuple[object, tuple[HistoryOrigin, ...]]]:
        """List what the run knows about the parts of a message it made."""
        return part_origins(message, run_id, location)

    def text_message(self, text: str, role: TextRole) -> ModelMessage:
        """Build a message that holds only `text`."""
        return texts.text_message(text, role)

    def text_flaw(self, message: ModelMessage) -> TextFlaw | None:
        """Say why `message` is more or less than a bare text of the user or the assistant."""
        return texts.text_flaw(message)

    def text(self, message: ModelMessage) -> str:
        """Return the text of a new message or a checkpoint."""
        return texts.text(message)

    def without_reasoning(self, message: ModelMessage) -> ModelMessage | None:
        """Return a copy without thinking parts; ids that pair with them go too, so that each part stands alone.

        The other parts are the same objects.
        """
        if not isinstance(message, ModelResponse):
            return None
        bare = copy.copy(message)
        bare.parts = [_without_id(part) for part in bare.parts if not isinstance(part, ThinkingPart)]
        return bare if bare.parts else None

    def checkpoint(self, text: str, reference: str) -> ModelMessage:
        """Build the request that stands for an archived record."""
        return texts.checkpoint(text, reference)

    def archived(self, message: ModelMessage) -> list[str]:
        """Return the references of the records that it stands for."""
        return archived_references(message)

    def failed_calls(self, message: ModelMessage) -> list[str]:
        """Return the ids of the calls that it answers with anything but a success."""
        return failed_calls(message)


DIALECT: Final = PydanticDialect()
"""It has no state, so one serves everybody."""


def _without_id(part: ModelResponsePart) -> ModelResponsePart:
    if getattr(part, "id", None) is None:
        return part
    bare = copy.copy(part)
    vars(bare)["id"] = None
    return bare
