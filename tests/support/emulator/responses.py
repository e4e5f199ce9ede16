"""The OpenAI Responses dialect: `/v1/responses` and `/v1/conversations`, JSON and stream.

Reasoning items carry encrypted content when the request includes it; altered content is refused. What the
server holds for a request is in `held.py`, the stream in `response_events.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from wire import openai_responses
from wire.issued_items import ItemLedger
from wire.openai_responses import input_items
from wire.reading import Body, mappings_of, text_of
from wire.refusal import Refusal

from .chat import openai_error
from .dialect import Numbers, Rendered, compact, prompt, seal, tokens
from .held import HeldState, conversation_id, is_stored
from .response_events import stream_of
from .script import Answer, Call, Native, Part, Text, Thinking

_ENCRYPTED = "reasoning.encrypted_content"


@dataclass(slots=True)
class OpenAIResponses:
    """A Responses server with what it holds and what it issued."""

    numbers: Numbers
    held: HeldState = field(default_factory=HeldState)
    ledger: ItemLedger = field(default_factory=ItemLedger)

    def judge(self, body: Body, betas: frozenset[str]) -> Refusal | None:
        """Return the first refusal over held and sent items together; there are no betas."""
        resolved = self.held.resolved(body)
        refusals = openai_responses.check(resolved, held=self.held.before(body), ledger=self.ledger)
        exclusive = [refusal for refusal in refusals if refusal.rule == "one_kind_of_server_state"]
        return next(iter(exclusive), None) or self.held.missing(body) or next(iter(refusals), None)

    def effective(self, body: Body) -> Body:
        """Return the body with everything the server puts before the input."""
        resolved = self.held.resolved(body)
        return {**resolved, "input": [*self.held.before(body), *input_items(resolved)]}

    def render(self, body: Body, betas: frozenset[str], answer: Answer) -> Rendered:
        """Return the response and its stream; what the request lets it store is stored."""
        id_ = self.numbers.id("resp")
        encrypts = _ENCRYPTED in _strings(body.get("include"))
        output = [self._item(part, encrypts=encrypts) for part in answer.parts]
        response = self._response(id_, body, output, answer)
        self.ledger.record(output, stored=is_stored(body))
        self.held.keep(self.held.resolved(body), id_, output)
        return Rendered(response, stream_of(response))

    def error(self, status: int, message: str, code: str | None) -> Body:
        """Return the error body."""
        return openai_error(status, message, code)

    def open_conversation(self, body: Body) -> Body:
        """Create a conversation, with items if the request brings some."""
        id_ = self.numbers.id("conv")
        self.held.conversations[id_] = mappings_of(body.get("items"))
        return {"id": id_, "object": "conversation", "created_at": self.numbers.time(), "metadata": {}}

    def list_items(self, conversation: str) -> Body | None:
        """Return the items of a conversation, None if there is no such one."""
        if conversation not in self.held.conversations:
            return None
        return {"object": "list", "data": list(self.held.conversations[conversation]), "has_more": False}

    def delete_conversation(self, conversation: str) -> Body | None:
        """Delete a conversation, None if there is no such one."""
        if self.held.conversations.pop(conversation, None) is None:
            return None
        return {"id": conversation, "object": "conversation.deleted", "deleted": True}

    def _response(self, id_: str, body: Body, output: Sequence[Body], answer: Answer) -> Body:
        cut = answer.ending() == "length"
        return {
            "id": id_,
            "object": "response",
            "created_at": self.numbers.time(),
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "instructions": body.get("instructions"),
            "metadata": {},
            "model": text_of(body.get("model")),
            "output": list(output),
            "parallel_tool_calls": True,
            "previous_response_id": body.get("previous_response_id"),
            "conversation": {"id": conversation} if (conversation := conversation_id(body)) else None,
            "store": is_stored(body),
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": self._usage(body, output, answer),
        }

    def _usage(self, body: Body, output: Sequence[Body], answer: Answer) -> Body:
        measured = tokens(prompt(self.effective(body), "instructions", "tools", "input"))
        sent = measured if answer.input_tokens is None else answer.input_tokens
        said = tokens(output) if answer.output_tokens is None else answer.output_tokens
        return {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + said,
        }

    def _item(self, part: Part, *, encrypts: bool) -> Body:
        match part:
            case Text():
                content = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                id_, status = self.numbers.id("msg"), "completed"
                return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": [content]}
            case Thinking():
                return self._reasoning(part, encrypts=encrypts)
            case Call():
                function = {"name": part.name, "arguments": compact(dict(part.args)), "status": "completed"}
                id_, call = self.numbers.id("fc"), part.id or self.numbers.id("call")
                return {"id": id_, "type": "function_call", "call_id": call, **function}
            case Native():
                return part.block
            case _:
                assert_never(part)

    def _reasoning(self, part: Thinking, *, encrypts: bool) -> Body:
        id_ = self.numbers.id("rs")
        summary = [] if part.redacted else [{"type": "summary_text", "text": part.text}]
        encrypted = f"gAAA{seal(id_, part.text)}" if encrypts else None
        return {"id": id_, "type": "reasoning", "summary": summary, "encrypted_content": encrypted}


def _strings(value: object) -> tuple[str, ...]:
    return tuple(text_of(member) for member in value) if isinstance(value, list | tuple) else ()
