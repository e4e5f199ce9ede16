"""What a Responses server holds: finished responses, conversations, and the items in them.

A response continued by `previous_response_id` brings back the whole input and output before it, a
conversation its items: text that a client removed from its own history comes back this way. Instructions are
never carried over, and nothing of a request with `store: false` is kept outside a conversation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from wire.openai_responses import input_items
from wire.reading import Body, mapping_of, text_of
from wire.refusal import Refusal
from wire.words import refuse


@dataclass(slots=True)
class HeldState:
    """Stored items by response, by conversation and by item id."""

    responses: dict[str, tuple[Body, ...]] = field(default_factory=dict)
    conversations: dict[str, tuple[Body, ...]] = field(default_factory=dict)
    items: dict[str, Body] = field(default_factory=dict)

    def missing(self, body: Body) -> Refusal | None:
        """Return the refusal of a reference to something that is not held."""
        response, conversation = text_of(body.get("previous_response_id")), conversation_id(body)
        if response and response not in self.responses:
            return refuse("openai_responses", "previous_response_not_found", id=response)
        if conversation and conversation not in self.conversations:
            return refuse("openai_responses", "conversation_not_found", id=conversation)
        return None

    def before(self, body: Body) -> tuple[Body, ...]:
        """Return the items that the server puts before the input."""
        held = self.responses.get(text_of(body.get("previous_response_id")), ())
        return held or self.conversations.get(conversation_id(body), ())

    def resolved(self, body: Body) -> Body:
        """Return the body with its references to stored items replaced by the items."""
        sent = [self.items.get(text_of(i.get("id")), i) if _is_reference(i) else i for i in input_items(body)]
        return {**body, "input": sent}

    def keep(self, body: Body, response: str, output: Sequence[Body]) -> None:
        """Store a finished response where the request says so."""
        everything = (*self.before(body), *input_items(body), *output)
        if is_stored(body):
            self.responses[response] = everything
            self.items.update({text_of(item.get("id")): item for item in output})
        if conversation := conversation_id(body):
            self.conversations[conversation] = everything


def is_stored(body: Body) -> bool:
    """Return whether a request lets the server store its response; that is the default."""
    return body.get("store") is not False


def conversation_id(body: Body) -> str:
    """Return the id of the conversation a request belongs to, in either of its two forms."""
    conversation = body.get("conversation")
    return text_of(conversation) or text_of(mapping_of(conversation).get("id"))


def _is_reference(item: Body) -> bool:
    return item.get("type") == "item_reference"
