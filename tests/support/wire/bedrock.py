"""Bedrock Converse: what `/model/{id}/converse` accepts.

Roles alternate strictly, the user begins, and the results of a turn all stand in the next user message with
the same ids. Text is never blank, tool blocks need a `toolConfig`, reasoning is the assistant's only. The
model is part of the URL and therefore a parameter.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .reading import Body, is_blank, mapping_of, mappings_of, text_of, with_next, with_previous
from .refusal import Refusal
from .words import refuse


@dataclass(frozen=True, slots=True)
class Message:
    """One message; blocks are objects with a single key that names their kind."""

    index: int
    role: str
    blocks: tuple[Body, ...]

    def of_kind(self, kind: str) -> tuple[tuple[int, Body], ...]:
        """Return the blocks of a kind with their positions."""
        found = ((at, block.get(kind)) for at, block in enumerate(self.blocks))
        return tuple((at, mapping_of(value)) for at, value in found if value is not None)

    def ids(self, kind: str) -> tuple[str, ...]:
        """Return the tool use ids of the blocks of a kind."""
        return tuple(text_of(value.get("toolUseId")) for _, value in self.of_kind(kind))


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages of a request, whether tools are configured, and the model."""

    messages: tuple[Message, ...]
    has_tool_config: bool
    model: str


def first_message_is_from_the_user(reading: Reading) -> Iterator[Refusal]:
    """A conversation begins with the user; the Anthropic and Qwen families take an assistant too."""
    lenient = any(family in reading.model for family in ("anthropic", "qwen"))
    if not reading.messages or (reading.messages[0].role != "user" and not lenient):
        yield _refuse("first_message_is_from_the_user")


def roles_alternate(reading: Reading) -> Iterator[Refusal]:
    """No two neighbouring messages share a role."""
    if any(before and before.role == message.role for before, message in with_previous(reading.messages)):
        yield _refuse("roles_alternate")


def content_is_not_empty(reading: Reading) -> Iterator[Refusal]:
    """Every message has a content block."""
    for message in reading.messages:
        if not message.blocks:
            yield _refuse("content_is_not_empty", index=message.index)


def text_is_not_blank(reading: Reading) -> Iterator[Refusal]:
    """No text block is empty or only whitespace."""
    for message in reading.messages:
        for position, block in enumerate(message.blocks):
            if "text" in block and is_blank(block["text"]):
                yield _refuse("text_is_not_blank", index=message.index, position=position)


def calls_are_answered_directly_after(reading: Reading) -> Iterator[Refusal]:
    """Every call of a message has its result in the next message."""
    for message, following in with_next(reading.messages):
        answered = following.ids("toolResult") if following else ()
        missing = [call for call in message.ids("toolUse") if call not in answered]
        if missing:
            index = message.index + 1
            yield _refuse("calls_are_answered_directly_after", index=index, ids=", ".join(missing))


def results_do_not_exceed_calls(reading: Reading) -> Iterator[Refusal]:
    """A message holds no result beyond the calls of the message before it."""
    previous: tuple[str, ...] = ()
    for message in reading.messages:
        results = message.ids("toolResult")
        if len(results) > len(previous) or not set(results) <= set(previous):
            yield _refuse("results_do_not_exceed_calls", index=message.index)
        previous = message.ids("toolUse")


def result_content_is_not_empty(reading: Reading) -> Iterator[Refusal]:
    """A tool result has content."""
    for message in reading.messages:
        for position, result in message.of_kind("toolResult"):
            if not result.get("content"):
                yield _refuse("result_content_is_not_empty", index=message.index, position=position)


def tool_blocks_need_tool_config(reading: Reading) -> Iterator[Refusal]:
    """Calls and results need the request to configure tools."""
    if not reading.has_tool_config and any(m.ids("toolUse") or m.ids("toolResult") for m in reading.messages):
        yield _refuse("tool_blocks_need_tool_config")


def documents_come_with_text(reading: Reading) -> Iterator[Refusal]:
    """A message with a document has a text block beside it."""
    for message in reading.messages:
        if message.of_kind("document") and not any("text" in block for block in message.blocks):
            yield _refuse("documents_come_with_text", index=message.index)


def reasoning_is_only_from_the_assistant(reading: Reading) -> Iterator[Refusal]:
    """A user message holds no reasoning."""
    if any(m.role == "user" and m.of_kind("reasoningContent") for m in reading.messages):
        yield _refuse("reasoning_is_only_from_the_assistant")


def nova_results_hold_no_stored_documents(reading: Reading) -> Iterator[Refusal]:
    """Nova models refuse a tool result that points to a document in storage."""
    for message in reading.messages:
        for position, result in message.of_kind("toolResult"):
            if ".nova-" in reading.model and _has_stored_document(result):
                values = {"index": message.index, "position": position}
                yield _refuse("nova_results_hold_no_stored_documents", **values)


Rule = Callable[[Reading], Iterator[Refusal]]

RULES: tuple[Rule, ...] = (
    first_message_is_from_the_user,
    roles_alternate,
    content_is_not_empty,
    text_is_not_blank,
    tool_blocks_need_tool_config,
    results_do_not_exceed_calls,
    calls_are_answered_directly_after,
    result_content_is_not_empty,
    documents_come_with_text,
    reasoning_is_only_from_the_assistant,
    nova_results_hold_no_stored_documents,
)


def check(body: Body, *, model: str = "") -> tuple[Refusal, ...]:
    """Return every refusal of a request body for a model id such as `us.amazon.nova-2-lite-v1:0`."""
    messages = tuple(
        Message(index, text_of(message.get("role")), mappings_of(message.get("content")))
        for index, message in enumerate(mappings_of(body.get("messages")))
    )
    reading = Reading(messages, isinstance(body.get("toolConfig"), Mapping), model)
    return tuple(refusal for rule in RULES for refusal in rule(reading))


def _has_stored_document(result: Body) -> bool:
    documents = (mapping_of(part.get("document")) for part in mappings_of(result.get("content")))
    return any("s3Location" in mapping_of(document.get("source")) for document in documents)


def _refuse(rule: str, **values: object) -> Refusal:
    return refuse("bedrock", rule, **values)
