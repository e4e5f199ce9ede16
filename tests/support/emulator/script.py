"""What a scripted model says, in words that belong to no provider.

An answer is a row of parts: text, thinking, tool calls. The dialects render it as JSON or as a stream. A step
of a script is an answer, a string (one text), or a function of the request body that returns an answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wire.reading import Body


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thinking that the server signs; a redacted one shows only opaque data."""

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a client tool; without an id the server makes one."""

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Native:
    """A block or item in the provider's own form, sent as it stands: a server tool call, for example."""

    block: Body


Part: TypeAlias = Text | Thinking | Call | Native
Stop: TypeAlias = Literal["end", "calls", "length", "pause", "refusal"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; token counts that are not given are measured from what is sent."""

    parts: tuple[Part, ...]
    stop: Stop | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def ending(self) -> Stop:
        """Return why the answer ends: as told, else by whether it calls tools."""
        return self.stop or ("calls" if any(isinstance(part, Call) for part in self.parts) else "end")


Step: TypeAlias = Answer | str | Callable[[Body], Answer]


def answer(
    *parts: Part | str,
    stop: Stop | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
) -> Answer:
    """Return an answer of these parts; a string is a text."""
    row = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Answer(row, stop, input_tokens, output_tokens)


def resolve(step: Step, body: Body) -> Answer:
    """Return the answer that a step gives to this request."""
    if isinstance(step, str):
        return answer(step)
    return step if isinstance(step, Answer) else step(body)
