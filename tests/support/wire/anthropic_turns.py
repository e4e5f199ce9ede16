"""How Anthropic reads the messages of a request: neighbours of one role are one turn.

The rules judge turns, but a refusal names the message and the content position that the client sent, so a
block keeps both. Rules are in `anthropic.py`, the memory of issued thinking in `thinking.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, takewhile

from .reading import Body, mappings_of, text_of

THINKING_KINDS = ("thinking", "redacted_thinking")
SERVER_CALL_KINDS = ("server_tool_use", "mcp_tool_use")


@dataclass(frozen=True, slots=True)
class Placed:
    """A content block with the place where the client put it."""

    message: int
    position: int
    data: Body

    @property
    def kind(self) -> str:
        """Return the block's type."""
        return text_of(self.data.get("type"))

    @property
    def path(self) -> str:
        """Return the place as the provider writes it."""
        return f"messages.{self.message}.content.{self.position}"

    def text(self, key: str) -> str:
        """Return a field of the block, empty unless it is a string."""
        return text_of(self.data.get(key))

    def is_thinking(self) -> bool:
        """Return whether the block is thinking, readable or redacted."""
        return self.kind in THINKING_KINDS

    def is_server_result(self) -> bool:
        """Return whether the block is a tool result, its own kind or that of a server tool."""
        return self.kind.endswith("_tool_result")


@dataclass(frozen=True, slots=True)
class Turn:
    """All neighbouring messages of one role; `index` is the first one's place in the request."""

    role: str
    index: int
    blocks: tuple[Placed, ...]

    def of_kind(self, *kinds: str) -> tuple[Placed, ...]:
        """Return the blocks of these types, in order."""
        return tuple(block for block in self.blocks if block.kind in kinds)

    def thinking(self) -> tuple[Placed, ...]:
        """Return the thinking blocks, in order."""
        return self.of_kind(*THINKING_KINDS)

    def first_kind(self) -> str:
        """Return the type of the first block, `nothing` if there is none."""
        return self.blocks[0].kind if self.blocks else "nothing"

    def leading_results(self) -> tuple[Placed, ...]:
        """Return the tool results at the head of the turn."""
        return tuple(takewhile(lambda block: block.kind == "tool_result", self.blocks))

    def is_results(self) -> bool:
        """Return whether the user answers tool calls here."""
        return self.role == "user" and bool(self.of_kind("tool_result"))


def read_turns(body: Body) -> tuple[Turn, ...]:
    """Return the turns of a request, neighbours of one role merged."""
    messages = enumerate(mappings_of(body.get("messages")))
    groups = groupby(messages, key=lambda numbered: text_of(numbered[1].get("role")))
    return tuple(_merged(role, tuple(group)) for role, group in groups)


def open_loop(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the assistant turns of the tool loop that the last turn answers; empty outside a loop."""
    loop: list[Turn] = []
    end = len(turns) - 1
    while end > 0 and turns[end].is_results() and turns[end - 1].role == "assistant":
        loop.insert(0, turns[end - 1])
        end -= 2
    return tuple(loop)


def content_blocks(content: object) -> tuple[Body, ...]:
    """Return content as blocks; a string is one text block, an empty string none."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return mappings_of(content)


def _merged(role: str, messages: tuple[tuple[int, Body], ...]) -> Turn:
    blocks = tuple(block for index, message in messages for block in _blocks(index, message))
    return Turn(role, messages[0][0], blocks)


def _blocks(index: int, message: Body) -> Iterator[Placed]:
    for position, data in enumerate(content_blocks(message.get("content"))):
        yield Placed(index, position, data)
