"""Well-formed Pydantic AI histories for hypothesis, with what their groups are known beforehand.

A `Scene` is a history made of blocks, each a whole cycle, so a test knows the groups without asking the code under
test. A `Plan` is an edit as data: which entries come back in which order, and where new texts stand. Thoughts, ids and
signatures are those of the provider that a scene is for, so its own model class sends them.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, Literal

from hypothesis import strategies as st
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from kedi_compile import HistoryProcessorContext

Wall = Literal["thought", "record", "system", "interrupted"]
Context = HistoryProcessorContext[ModelMessage]


@dataclass(frozen=True)
class Shape:
    """How a cycle goes: its prompts, the number of calls in each tool round, and what protects it, if anything."""

    prompts: int = 1
    rounds: tuple[int, ...] = ()
    wall: Wall | None = None
    retried: bool = False
    """Whether the first call of each round asks for another try."""
    apart: bool = False
    """Whether the results of a round stand in requests of their own."""
    image: bool = False
    rejected: bool = False
    """Whether a first answer was sent back for another."""


@dataclass(frozen=True)
class Block:
    """The entries of one group, `[start, end)`; `wall` says what keeps it where it is, `"current"` and so on."""

    start: int
    end: int
    wall: str | None = None

    @property
    def entries(self) -> range:
        """The indices of its entries."""
        return range(self.start, self.end)

    def is_eligible(self, protection: str) -> bool:
        """Return whether it may be dropped, replaced or moved."""
        return self.wall is None or (self.wall == "thought" and protection == "open_cycle")


@dataclass(frozen=True)
class Scene:
    """A history that ends in its next request, and its groups in order, the current one last."""

    messages: list[ModelMessage]
    blocks: tuple[Block, ...]

    @property
    def begins_with_system(self) -> bool:
        """Whether the first message holds system text, before which nothing may stand."""
        return any(isinstance(part, m.SystemPromptPart) for part in self.messages[0].parts)

    def zones(self, protection: str) -> list[list[Block]]:
        """Return the runs of eligible blocks between walls; the walls themselves are runs of one."""
        out: list[list[Block]] = [[]]
        for block in self.blocks:
            if block.is_eligible(protection):
                out[-1].append(block)
            else:
                out += [[block], []]
        return out


@dataclass
class _Writer:
    """Writes the messages of one scene; every text is said once, every id is new unless ids start over."""

    provider: str
    thinks: bool
    ids_start_over: bool
    messages: list[ModelMessage] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @cached_property
    def _numbers(self) -> Iterator[int]:
        return count(1)

    @property
    def has_thought(self) -> bool:
        """Whether anything written so far holds a thought that a provider wants back."""
        return any(_is_signed(part) for message in self.messages for part in message.parts)

    def system(self) -> None:
        """Write leading instructions in a request of their own."""
        self.messages.append(ModelRequest(parts=[m.SystemPromptPart("Be brief.")]))
        self.blocks.append(Block(0, 1, "system"))

    def cycle(self, shape: Shape, *, closed: bool = True) -> None:
        """Write one cycle; an open one ends in its last prompt or tool results."""
        start = len(self.messages)
        self._prompts(shape)
        call = count(1) if self.ids_start_over else self._numbers
        for size in shape.rounds:
            self._round(shape, [f"call_{next(call)}" for _ in range(size)])
        if closed and shape.rejected:
            self.messages.append(self._response([m.TextPart(f"draft {next(self._numbers)}")], thought=False))
            feedback = m.RetryFeedbackPart("Not that.", retry=m.RetryInfo("validation_error"))
            self.messages.append(ModelRequest(parts=[feedback]))
        if closed:
            self._answer(shape)
        wall = (shape.wall or self._thought_wall(start)) if closed else "current"
        self.blocks.append(Block(start, len(self.messages), wall))

    def _thought_wall(self, start: int) -> str | None:
        parts = [part for message in self.messages[start:] for part in message.parts]
        return "thought" if any(_is_signed(part) for part in parts) else None

    def _prompts(self, shape: Shape) -> None:
        for place in range(shape.prompts):
            said = f"question {next(self._numbers)}"
            picture = m.BinaryContent(b"\x89PNG\r\n", media_type="image/png")
            parts: list[m.ModelRequestPart] = [m.UserPromptPart([said, picture] if shape.image else said)]
            if shape.wall == "system" and place == 0:
                parts.insert(0, m.SystemPromptPart(f"rule {next(self._numbers)}"))
            self.messages.append(ModelRequest(parts=parts))

    def _round(self, shape: Shape, ids: Sequence[str]) -> None:
        number = next(self._numbers)
        calls = [m.ToolCallPart("look", {"at": [number, {"deep": n}]}, tool_call_id=n) for n in ids]
        self.messages.append(self._response(calls, thought=self.thinks or shape.wall == "thought"))
        results: list[m.ModelRequestPart] = [m.ToolReturnPart("look", f"seen {number}", tool_call_id=n) for n in ids]
        if shape.retried:
            results[0] = m.ToolReturnPart("look", f"again {number}", tool_call_id=ids[0], outcome="retried")
        batches = [[result] for result in results] if shape.apart else [results]
        self.messages += [ModelRequest(parts=batch) for batch in batches]

    def _answer(self, shape: Shape) -> None:
        response = self._response([m.TextPart(f"answer {next(self._numbers)}")], thought=shape.wall == "thought")
        if shape.wall == "interrupted":
            response.state = "interrupted"
        if shape.wall == "record":
            response.provider_details = {"container_id": "container_1"}
        self.messages.append(response)

    def _response(self, parts: Sequence[m.ModelResponsePart], *, thought: bool) -> ModelResponse:
        ready = list(parts)
        if thought:
            ready = _THOUGHTS.get(self.provider, _unsigned)(ready, next(self._numbers))
        return ModelResponse(parts=ready, provider_name=self.provider, model_name="model")


def _signed(provider: str) -> Any:
    def write(parts: list[m.ModelResponsePart], number: int) -> list[m.ModelResponsePart]:
        thinking = m.ThinkingPart(f"thought {number}", signature=f"signature {number}", provider_name=provider)
        hidden = m.ThinkingPart("", id="redacted_thinking", signature=f"hidden {number}", provider_name=provider)
        return [thinking if number % 3 else hidden, *parts]

    return write


def _reasoning_items(parts: list[m.ModelResponsePart], number: int) -> list[m.ModelResponsePart]:
    """OpenAI Responses: a reasoning item belongs to the item behind it, and both have ids."""
    thinking = m.ThinkingPart(f"thought {number}", id=f"rs_{number}", signature=f"enc{number}", provider_name="openai")
    follower = parts[0]
    assert isinstance(follower, (m.TextPart, m.ToolCallPart))
    follower.id = f"{'msg' if isinstance(follower, m.TextPart) else 'fc'}_{number}"
    follower.provider_name = "openai"
    return [thinking, *parts]


def _thought_signature(parts: list[m.ModelResponsePart], number: int) -> list[m.ModelResponsePart]:
    """Gemini: the first part of a response carries the signature."""
    first = parts[0]
    assert isinstance(first, (m.TextPart, m.ToolCallPart))
    first.provider_details = {"thought_signature": base64.b64encode(f"signature {number}".encode()).decode()}
    first.provider_name = "google"
    return parts


def _reasoning_content(parts: list[m.ModelResponsePart], number: int) -> list[m.ModelResponsePart]:
    """DeepSeek: thinking comes back by the name of its field."""
    return [m.ThinkingPart(f"thought {number}", id="reasoning_content", provider_name="deepseek"), *parts]


def _unsigned(parts: list[m.ModelResponsePart], number: int) -> list[m.ModelResponsePart]:
    return [m.ThinkingPart(f"thought {number}"), *parts]


_THOUGHTS = {
    "anthropic": _signed("anthropic"),
    "bedrock": _signed("bedrock"),
    "openai": _reasoning_items,
    "google": _thought_signature,
    "deepseek": _reasoning_content,
}


def _is_signed(part: object) -> bool:
    """Whether a part is one of those above that a provider wants back."""
    details = getattr(part, "provider_details", None)
    return bool(details) or (isinstance(part, m.ThinkingPart) and bool(part.signature or part.id))


SHAPES = st.builds(
    Shape,
    prompts=st.sampled_from([1, 1, 1, 2]),
    rounds=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    wall=st.sampled_from([None, None, None, None, "thought", "record", "system", "interrupted"]),
    retried=st.booleans(),
    apart=st.booleans(),
    image=st.sampled_from([False, False, False, True]),
    rejected=st.sampled_from([False, False, False, True]),
)


def _left_alone(shape: Shape) -> Shape:
    wall: Wall | None = "record" if shape.wall == "system" else shape.wall
    return replace(shape, prompts=1, apart=False, rejected=False, wall=wall)


@st.composite
def scenes(draw: st.DrawFn, provider: str, *, neighbours: bool = True) -> Scene:
    """Draw a well-formed history of up to five closed cycles and a current request.

    Without `neighbours` no two requests stand side by side, and there is no late system text and no feedback, so the
    host leaves the messages as they are.
    """
    shapes = SHAPES if neighbours else SHAPES.map(_left_alone)
    cycles = draw(st.lists(shapes, max_size=5))
    current = draw(shapes)
    start_over = provider not in ("anthropic", "openai") and draw(st.booleans())
    writer = _Writer(provider, thinks=draw(st.booleans()), ids_start_over=start_over)
    if neighbours and draw(st.booleans()):
        writer.system()
    for shape in cycles:
        writer.cycle(shape)
    writer.thinks = writer.thinks or writer.has_thought  # thinking stays on, so a running loop thinks too
    writer.cycle(current, closed=False)
    return Scene(writer.messages, tuple(writer.blocks))


@dataclass(frozen=True)
class Text:
    """A new text message of a plan."""

    role: Literal["user", "assistant"]
    text: str


Plan = tuple[int | Text, ...]
"""An edit: entry indices and new texts, in the returned order."""


@st.composite
def permitted_plans(draw: st.DrawFn, scene: Scene, protection: str = "always") -> Plan:
    """Draw whole eligible groups in allowed order plus texts at the boundaries between groups."""
    groups: list[Block | Text] = []
    for zone in scene.zones(protection):
        is_wall = len(zone) == 1 and not zone[0].is_eligible(protection)
        groups += zone if is_wall else draw(st.permutations(zone).flatmap(_some_of))
    first = 1 if scene.begins_with_system else 0
    for number in range(draw(st.integers(0, 2)) if first < len(groups) else 0):
        place = draw(st.integers(first, len(groups) - 1))
        answer = [Text("assistant", f"noted {number}")] if draw(st.booleans()) else []
        groups[place:place] = [Text("user", f"summary {number}"), *answer]
    return flat(groups)


@st.composite
def wild_plans(draw: st.DrawFn, scene: Scene) -> Plan:
    """Draw an edit by whole groups that respects nothing, one or two steps away from the history.

    A step lets two groups change places, leaves one out, puts any text anywhere, or turns two entries round.
    """
    groups: list[Block | Text | int] = list(scene.blocks)
    for step in draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=2)):
        step(groups, draw(st.integers(0, 12)), draw(st.integers(0, 12)))
    return flat(groups)


def _exchange(groups: list[Block | Text | int], at: int, to: int) -> None:
    at, to = at % len(groups), to % len(groups)
    groups[at], groups[to] = groups[to], groups[at]


def _leave_out(groups: list[Block | Text | int], at: int, _: int) -> None:
    if len(groups) > 1:
        del groups[at % len(groups)]


def _say(groups: list[Block | Text | int], at: int, to: int) -> None:
    text = ("summary", " \n", "\ud800")[to % 3]
    groups.insert(at % (len(groups) + 1), Text("assistant" if to % 4 == 0 else "user", text))


def _turn_round(groups: list[Block | Text | int], at: int, to: int) -> None:
    entries: list[Block | Text | int] = [item for item in flat(groups) if not isinstance(item, Text)]
    place = to % len(entries)
    entries[place : place + 2] = entries[place : place + 2][::-1]
    groups[:] = entries


_STEPS = (_exchange, _leave_out, _say, _turn_round)


def _some_of(blocks: Sequence[Block]) -> st.SearchStrategy[list[Block]]:
    return st.lists(st.booleans(), min_size=len(blocks), max_size=len(blocks)).map(
        lambda kept: [block for block, keep in zip(blocks, kept, strict=True) if keep]
    )


def flat(groups: Sequence[Block | Text | int]) -> Plan:
    """Write blocks out as their entries."""
    return tuple(item for group in groups for item in (group.entries if isinstance(group, Block) else [group]))


def carried_out(plan: Plan, ctx: Context) -> list[ModelMessage]:
    """Return the list that a callback makes of a plan."""
    return [ctx.text_message(item.text, item.role) if isinstance(item, Text) else ctx.messages[item] for item in plan]
