"""The OpenAI Chat Completions dialect: `/v1/chat/completions`, JSON and stream.

Thinking travels as `reasoning_content`, the field of the compatible servers; it is not signed. The server
holds no state.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from wire import openai_chat
from wire.openai_chat import ReasoningContent
from wire.reading import Body, mapping_of, mappings_of, text_of
from wire.refusal import Refusal

from .dialect import Event, Numbers, Rendered, compact, pieces, prompt, tokens
from .script import Answer, Call, Text, Thinking

_STOPS = {"end": "stop", "calls": "tool_calls", "length": "length", "pause": "stop", "refusal": "content_filter"}


@dataclass(slots=True)
class OpenAIChat:
    """A Chat Completions server; `reasoning_content=None` goes by the model's name."""

    numbers: Numbers
    reasoning_content: ReasoningContent | None = None

    def judge(self, body: Body, betas: frozenset[str]) -> Refusal | None:
        """Return the first refusal; there are no betas."""
        refusals = openai_chat.check(body, reasoning_content=self.reasoning_content)
        return refusals[0] if refusals else None

    def effective(self, body: Body) -> Body:
        """Return the body itself: the server holds nothing."""
        return body

    def render(self, body: Body, betas: frozenset[str], answer: Answer) -> Rendered:
        """Return the completion and its stream."""
        message = self._message(answer)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS[answer.ending()]}
        completion: Body = {
            "id": self.numbers.id("chatcmpl"),
            "object": "chat.completion",
            "created": self.numbers.time(),
            "model": text_of(body.get("model")),
            "choices": [choice],
            "usage": _usage(body, message, answer),
        }
        return Rendered(completion, tuple(_events(completion, body)))

    def error(self, status: int, message: str, code: str | None) -> Body:
        """Return the error body."""
        return openai_error(status, message, code)

    def _message(self, answer: Answer) -> Body:
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        thought = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
        calls = [self._call(part) for part in answer.parts if isinstance(part, Call)]
        message: dict[str, object] = {"role": "assistant", "content": text or None, "refusal": None}
        return message | ({"reasoning_content": thought} if thought else {}) | ({"tool_calls": calls} if calls else {})

    def _call(self, part: Call) -> Body:
        function = {"name": part.name, "arguments": compact(dict(part.args))}
        return {"id": part.id or self.numbers.id("call"), "type": "function", "function": function}


def openai_error(status: int, message: str, code: str | None) -> Body:
    """Return an error body as both OpenAI APIs write it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _usage(body: Body, message: Body, answer: Answer) -> Body:
    measured = tokens(prompt(body, "tools", "messages"))
    sent = measured if answer.input_tokens is None else answer.input_tokens
    said = tokens(message) if answer.output_tokens is None else answer.output_tokens
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}


def _events(completion: Body, body: Body) -> Iterator[Event]:
    choice = mappings_of(completion["choices"])[0]
    frame = {**completion, "object": "chat.completion.chunk", "usage": None}
    for delta in _deltas(mapping_of(choice["message"])):
        yield _chunk(frame, {"index": 0, "delta": delta, "finish_reason": None})
    yield _chunk(frame, {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    if mapping_of(body.get("stream_options")).get("include_usage"):
        yield Event(compact({**frame, "choices": [], "usage": completion["usage"]}))
    yield Event("[DONE]")


def _deltas(message: Body) -> Iterator[Body]:
    yield {"role": "assistant", "content": ""}
    for key in ("reasoning_content", "content"):
        yield from ({key: piece} for piece in pieces(text_of(message.get(key))))
    for index, call in enumerate(mappings_of(message.get("tool_calls"))):
        function = mapping_of(call["function"])
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in pieces(text_of(function["arguments"])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _chunk(frame: Body, choice: Body) -> Event:
    return Event(compact({**frame, "choices": [choice]}))
