"""The Anthropic Messages dialect: `/v1/messages`, JSON and stream.

Issued thinking is remembered with its signature and its prefix; an altered signature, and on binding models
an edited prefix, is refused. With the drop behaviour the blocks that do not fit are left out of what the
model sees and listed in `input_transformations`. Models before Opus 4.5 and Sonnet 4.6 see only the
thinking of the running turn.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from wire import anthropic
from wire.anthropic_turns import Placed, content_blocks
from wire.reading import Body, mapping_of, mappings_of, text_of
from wire.refusal import Refusal
from wire.thinking import BINDING_BETA, ThinkingLedger, misfits, prefix_behaviour

from .dialect import Event, Numbers, Rendered, compact, pieces, prompt, seal, tokens
from .script import Answer, Call, Native, Part, Text, Thinking

_PROMPT = ("system", "tools", "messages")
_STOPS = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "pause": "pause_turn",
    "refusal": "refusal",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(slots=True)
class AnthropicMessages:
    """A Messages server with its memory; `bound=None` goes by the model's name."""

    numbers: Numbers
    bound: bool | None = None
    ledger: ThinkingLedger = field(default_factory=ThinkingLedger)

    def judge(self, body: Body, betas: frozenset[str]) -> Refusal | None:
        """Return the first refusal, as the API reports only one."""
        refusals = anthropic.check(body, ledger=self.ledger, betas=betas, bound=self.bound)
        return refusals[0] if refusals else None

    def effective(self, body: Body) -> Body:
        """Return the body without the thinking that the model will not read."""
        unread = {block.path for block in (*self._dropped(body), *_earlier_thinking(body))}
        messages = mappings_of(body.get("messages"))
        return {**body, "messages": [_without(index, message, unread) for index, message in enumerate(messages)]}

    def render(self, body: Body, betas: frozenset[str], answer: Answer) -> Rendered:
        """Return the message and its stream; its thinking is remembered."""
        seen = self.effective(body)
        content = [self._block(part) for part in answer.parts]
        self.ledger.record(self._bound_view(body), content)
        message: dict[str, object] = {
            "id": self.numbers.id("msg"),
            "type": "message",
            "role": "assistant",
            "model": text_of(body.get("model")),
            "content": content,
            "stop_reason": _STOPS[answer.ending()],
            "stop_sequence": None,
            "usage": _usage(seen, content, answer),
        }
        if BINDING_BETA in betas:
            message["input_transformations"] = [_transformation(block) for block in self._dropped(body)]
        return Rendered(message, tuple(_events(message)))

    def count(self, body: Body) -> Body:
        """Return the answer of the token counting endpoint."""
        return {"input_tokens": tokens(prompt(self.effective(body), *_PROMPT))}

    def error(self, status: int, message: str, code: str | None) -> Body:
        """Return the error body; the API has a type where others have a code."""
        kind = code or _ERRORS.get(status, "api_error")
        request = self.numbers.id("req")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request}

    def _dropped(self, body: Body) -> tuple[Placed, ...]:
        if prefix_behaviour(body) != "drop_block":
            return ()
        return misfits(anthropic.read(body, ledger=self.ledger, bound=self.bound))

    def _bound_view(self, body: Body) -> Body:
        dropped = {block.path for block in self._dropped(body)}
        messages = enumerate(mappings_of(body.get("messages")))
        return {**body, "messages": [_without(index, message, dropped) for index, message in messages]}

    def _block(self, part: Part) -> Body:
        match part:
            case Text():
                return {"type": "text", "text": part.text}
            case Thinking(redacted=True):
                return {"type": "redacted_thinking", "data": self._sealed(part.text)}
            case Thinking():
                return {"type": "thinking", "thinking": part.text, "signature": self._sealed(part.text)}
            case Call():
                id_ = part.id or self.numbers.id("toolu")
                return {"type": "tool_use", "id": id_, "name": part.name, "input": dict(part.args)}
            case Native():
                return part.block
            case _:
                assert_never(part)

    def _sealed(self, text: str) -> str:
        return seal(self.numbers.id("seal"), text)


def _usage(seen: Body, content: list[Body], answer: Answer) -> Body:
    """Return the usage, measured over everything the model saw."""
    measured = tokens(prompt(seen, *_PROMPT))
    return {
        "input_tokens": measured if answer.input_tokens is None else answer.input_tokens,
        "output_tokens": tokens(content) if answer.output_tokens is None else answer.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _transformation(block: Placed) -> Body:
    return {"type": "thinking_dropped", "path": block.path, "reason": "prefix_binding_mismatch"}


def _without(index: int, message: Body, paths: set[str]) -> Body:
    prefix = f"messages.{index}.content."
    if not any(path.startswith(prefix) for path in paths):
        return message
    blocks = enumerate(content_blocks(message.get("content")))
    return {**message, "content": [block for at, block in blocks if f"{prefix}{at}" not in paths]}


def _earlier_thinking(body: Body) -> tuple[Placed, ...]:
    """Return the thinking before the running turn, which older models do not see."""
    reading = anthropic.read(body)
    found = re.match(r"claude-(opus|sonnet|haiku)-(\d+)(?:-(\d{1,2})(?!\d))?", reading.model)
    if not found or (int(found[2]), int(found[3] or 0)) >= ((4, 5) if found[1] == "opus" else (4, 6)):
        return ()
    asked = [turn.index for turn in reading.turns if turn.role == "user" and not turn.is_results()]
    return tuple(block for block in reading.thinking() if asked and block.message < asked[-1])


def _events(message: Body) -> Iterator[Event]:
    usage = mapping_of(message["usage"])
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", message=opening)
    for index, block in enumerate(mappings_of(message["content"])):
        started, deltas = _in_deltas(block)
        yield _event("content_block_start", index=index, content_block=started)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def _in_deltas(block: Body) -> tuple[Body, tuple[Body, ...]]:
    """Return a block as it starts, and what is added to it piece by piece."""
    kind = block.get("type")
    if kind == "text":
        texts = pieces(text_of(block["text"]))
        return {**block, "text": ""}, tuple({"type": "text_delta", "text": piece} for piece in texts)
    if kind == "thinking":
        thoughts = ({"type": "thinking_delta", "thinking": piece} for piece in pieces(text_of(block["thinking"])))
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, (*thoughts, signature)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        parts = pieces(compact(block.get("input", {})))
        return {**block, "input": {}}, tuple({"type": "input_json_delta", "partial_json": p} for p in parts)
    return block, ()


def _event(name: str, **fields: object) -> Event:
    return Event(compact({"type": name, **fields}), name)
