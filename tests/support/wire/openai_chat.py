"""OpenAI Chat Completions: what `/v1/chat/completions` accepts.

Tool messages stand directly after the assistant message whose calls they answer, one for each call id.
Roles need not alternate. DeepSeek-style servers want `reasoning_content` back on the tool calls of the
current turn; Cerebras-style servers refuse the field.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .reading import Body, mappings_of, text_of
from .refusal import Refusal
from .words import refuse

ReasoningContent = Literal["ignored", "required", "refused"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages of a request and how this server treats `reasoning_content`."""

    messages: tuple[Body, ...]
    reasoning_content: ReasoningContent


def messages_present(reading: Reading) -> Iterator[Refusal]:
    """A request has at least one message."""
    if not reading.messages:
        yield _refuse("messages_present")


def assistant_has_content_or_calls(reading: Reading) -> Iterator[Refusal]:
    """An assistant message without calls has content."""
    for message in reading.messages:
        silent = message.get("content") is None and not message.get("tool_calls")
        if message.get("role") == "assistant" and silent and not message.get("refusal"):
            yield _refuse("assistant_has_content_or_calls")


def calls_are_answered_directly_after(reading: Reading) -> Iterator[Refusal]:
    """Every call id is answered by a tool message of the run directly after the assistant message."""
    for index, message in enumerate(reading.messages):
        answered = {text_of(tool.get("tool_call_id")) for tool in _tool_run(reading.messages, index + 1)}
        missing = [call for call in _call_ids(message) if call not in answered]
        if missing:
            yield _refuse("calls_are_answered_directly_after", ids=", ".join(missing))


def tool_messages_follow_their_call(reading: Reading) -> Iterator[Refusal]:
    """A tool message answers a call of the assistant message its run follows, and no call twice."""
    open_ids: list[str] = []
    for message in reading.messages:
        if message.get("role") != "tool":
            open_ids = list(_call_ids(message))
        elif text_of(message.get("tool_call_id")) in open_ids:
            open_ids.remove(text_of(message.get("tool_call_id")))
        else:
            yield _refuse("tool_messages_follow_their_call")


def reasoning_content_returns_where_required(reading: Reading) -> Iterator[Refusal]:
    """In the current turn a call comes back with the reasoning it was made with."""
    if reading.reasoning_content != "required":
        return
    for message in _current_turn(reading.messages):
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            yield _refuse("reasoning_content_returns_where_required")


def reasoning_content_is_absent_where_refused(reading: Reading) -> Iterator[Refusal]:
    """A server that does not know the field refuses it."""
    for index, message in enumerate(reading.messages):
        if reading.reasoning_content == "refused" and "reasoning_content" in message:
            yield _refuse("reasoning_content_is_absent_where_refused", index=index)


Rule = Callable[[Reading], Iterator[Refusal]]

RULES: tuple[Rule, ...] = (
    messages_present,
    assistant_has_content_or_calls,
    tool_messages_follow_their_call,
    calls_are_answered_directly_after,
    reasoning_content_returns_where_required,
    reasoning_content_is_absent_where_refused,
)


def check(body: Body, *, reasoning_content: ReasoningContent | None = None) -> tuple[Refusal, ...]:
    """Return every refusal of a request body; `reasoning_content=None` goes by the model's name."""
    treatment = reasoning_content or _treatment(text_of(body.get("model")))
    reading = Reading(mappings_of(body.get("messages")), treatment)
    return tuple(refusal for rule in RULES for refusal in rule(reading))


def _treatment(model: str) -> ReasoningContent:
    return "required" if model.startswith("deepseek-reasoner") else "ignored"


def _refuse(rule: str, **values: object) -> Refusal:
    return refuse("openai_chat", rule, **values)


def _call_ids(message: Body) -> tuple[str, ...]:
    return tuple(text_of(call.get("id")) for call in mappings_of(message.get("tool_calls")))


def _tool_run(messages: tuple[Body, ...], start: int) -> Iterator[Body]:
    for message in messages[start:]:
        if message.get("role") != "tool":
            return
        yield message


def _current_turn(messages: tuple[Body, ...]) -> tuple[Body, ...]:
    starts = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    return messages[starts[-1] :] if starts else messages
