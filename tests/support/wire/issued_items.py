"""What a Responses server remembers of the items it issued.

An item is known by its id: whether it was stored, the reasoning it was made with and, for reasoning, its
follower and its encrypted content. The rules that use this are in `openai_responses.py`; without a ledger
they fall back to what the body alone shows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .reading import Body, text_of


@dataclass(frozen=True, slots=True)
class IssuedItem:
    """One output item as it left the server."""

    stored: bool
    reasoning: str | None = None
    follower: str | None = None
    encrypted: str | None = None


@dataclass(slots=True)
class ItemLedger:
    """The issued items by id; with `strict=False` an unknown id counts as stored elsewhere."""

    strict: bool = True
    items: dict[str, IssuedItem] = field(default_factory=dict)

    def record(self, output: Iterable[Body], *, stored: bool) -> None:
        """Remember the output of one response, in its order."""
        issued = tuple(output)
        for position, item in enumerate(issued):
            before = issued[position - 1] if position else None
            after = issued[position + 1] if position + 1 < len(issued) else None
            is_reasoning = item.get("type") == "reasoning"
            self.items[text_of(item.get("id"))] = IssuedItem(
                stored,
                reasoning=_id(before) if before and before.get("type") == "reasoning" else None,
                follower=_id(after) if is_reasoning and after else None,
                encrypted=text_of(item.get("encrypted_content")) or None,
            )


def _id(item: Body) -> str:
    return text_of(item.get("id"))
