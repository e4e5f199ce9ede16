"""Well-formed LangChain histories for hypothesis, with their groups known beforehand, and the bodies made of them.

The shapes, blocks and plans are those of `histories.py`; here they are written as LangChain's messages, in the form
that one provider's package gives its answers. `body` is what the provider's own chat model makes of a history, by its
own mapping and without HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import count
from typing import Any, Literal

from hypothesis import strategies as st
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from bodies import APIS
from edits import like
from histories import SHAPES, Block, Scene, Shape
from issued import remembered
from wire.reading import Body

Form = Literal["anthropic", "openai_chat", "openai_responses", "google", "v1"]
FORMS: tuple[Form, ...] = ("anthropic", "openai_chat", "openai_responses", "google", "v1")
WIRED: tuple[Form, ...] = ("anthropic", "openai_chat", "openai_responses")
"""The forms whose provider's package is at hand to make a body of them."""

_GEMINI = "__gemini_function_call_thought_signatures__"


@dataclass(frozen=True)
class LangChainScene(Scene):
    """A history that ends in its next request, and its groups in order, the current one last."""

    messages: list[Any]

    @property
    def begins_with_system(self) -> bool:
        """Whether the first message is system text, before which nothing may stand."""
        return isinstance(self.messages[0], SystemMessage)


@dataclass
class _Writer:
    """Writes the messages of one scene; every text is said once."""

    form: Form
    thinks: bool
    ids_start_over: bool
    named: bool
    """Whether each message has an id, as messages that were in a graph do."""
    messages: list[BaseMessage] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @cached_property
    def _numbers(self) -> Iterator[int]:
        return count(1)

    def system(self) -> None:
        """Write leading instructions."""
        self._put(SystemMessage("Be brief."))
        self.blocks.append(Block(0, 1, "system"))

    def cycle(self, shape: Shape, *, closed: bool = True) -> None:
        """Write one cycle; an open one ends in its last prompt or tool result."""
        start = len(self.messages)
        for _ in range(shape.prompts):
            said = f"question {next(self._numbers)}"
            self._put(HumanMessage([{"type": "text", "text": said}, dict(_PICTURE)] if shape.image else said))
        call = count(1) if self.ids_start_over else self._numbers
        for size in shape.rounds:
            self._round(shape, [f"call_{next(call)}" for _ in range(size)])
        thought = any(map(_is_signed, self.messages[start:])) or (closed and shape.wall == "thought")
        if closed:
            self._answer(shape)
        wall = (shape.wall or ("thought" if thought else None)) if closed else "current"
        self.blocks.append(Block(start, len(self.messages), wall))

    def _put(self, message: BaseMessage) -> None:
        self.messages.append(message)
        message.id = f"id_{len(self.messages)}" if self.named else None

    def _round(self, shape: Shape, ids: Sequence[str]) -> None:
        number = next(self._numbers)
        calls: list[Any] = [{"name": "look", "args": {"at": [number, {"deep": n}]}, "id": n} for n in ids]
        self._say(AIMessage("", tool_calls=calls), thought=self.thinks or shape.wall == "thought")
        for place, call_id in enumerate(reversed(ids) if shape.apart else ids):
            status: Any = "error" if shape.retried and place == 0 else "success"
            self._put(ToolMessage(f"seen {number}", tool_call_id=call_id, name="look", status=status))

    def _answer(self, shape: Shape) -> None:
        if shape.wall == "system":
            self._put(SystemMessage(f"rule {next(self._numbers)}"))
        answer = AIMessage(f"answer {next(self._numbers)}")
        if shape.wall == "interrupted":
            answer.response_metadata["status"] = "incomplete"
        if shape.wall == "record":
            answer.response_metadata["container"] = {"id": "container_1"}
        self._say(answer, thought=shape.wall == "thought")

    def _say(self, message: AIMessage, *, thought: bool) -> None:
        message.response_metadata["model_name"] = "model"
        if thought:
            _THOUGHTS[self.form](message, next(self._numbers))
        self._put(message)


_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def _text(message: AIMessage, **fields: Any) -> list[Any]:
    return [{"type": "text", "text": message.content, **fields}] if message.content else []


def _thinking(message: AIMessage, number: int) -> None:
    """Anthropic: a signed block, or hidden data."""
    shown = {"type": "thinking", "thinking": f"thought {number}", "signature": f"signature {number}"}
    hidden = {"type": "redacted_thinking", "data": f"hidden {number}"}
    message.content = [shown if number % 3 else hidden, *_text(message)]


def _reasoning_content(message: AIMessage, number: int) -> None:
    """Chat completions: thinking stands beside the content."""
    message.additional_kwargs["reasoning_content"] = f"thought {number}"


def _reasoning_items(message: AIMessage, number: int) -> None:
    """OpenAI Responses: a reasoning item belongs to the item behind it, and all have ids."""
    message.response_metadata["model_provider"] = "openai"
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"enc{number}"}
    calls = [
        {"type": "function_call", "id": f"fc_{number}_{n}", "call_id": call["id"], "name": "look", "arguments": "{}"}
        for n, call in enumerate(message.tool_calls)
    ]
    message.content = [item, *_text(message, id=f"msg_{number}"), *calls]


def _thought_signatures(message: AIMessage, number: int) -> None:
    """Gemini: the first call carries a signature beside the content, a text one in its extras."""
    if message.tool_calls:
        message.additional_kwargs[_GEMINI] = {message.tool_calls[0]["id"]: f"signature {number}"}
    else:
        message.content = _text(message, extras={"signature": f"signature {number}"})


def _common_reasoning(message: AIMessage, number: int) -> None:
    """The common form: the signature stands in the extras, hidden data in a non-standard block."""
    message.response_metadata["output_version"] = "v1"
    shown = {"type": "reasoning", "reasoning": f"thought {number}", "extras": {"signature": f"signature {number}"}}
    hidden = {"type": "non_standard", "value": {"type": "redacted_thinking", "data": f"hidden {number}"}}
    calls: list[Any] = [{**call, "type": "tool_call"} for call in message.tool_calls]
    message.content = [shown if number % 3 else hidden, *_text(message), *calls]


_THOUGHTS: dict[Form, Callable[[AIMessage, int], None]] = {
    "anthropic": _thinking,
    "openai_chat": _reasoning_content,
    "openai_responses": _reasoning_items,
    "google": _thought_signatures,
    "v1": _common_reasoning,
}


def _is_signed(message: BaseMessage) -> bool:
    """Whether one of the writers above has been here."""
    return bool(message.additional_kwargs) or (isinstance(message, AIMessage) and isinstance(message.content, list))


def _without_inner_system(shape: Shape) -> Shape:
    """Anthropic's chat model refuses system text in several places by itself."""
    return replace(shape, wall="record" if shape.wall == "system" else shape.wall)


@st.composite
def langchain_scenes(draw: st.DrawFn, form: Form) -> LangChainScene:
    """Draw a well-formed history of up to five closed cycles and a current request."""
    shapes = SHAPES.map(_without_inner_system) if form == "anthropic" else SHAPES
    cycles = draw(st.lists(shapes, max_size=5))
    current = draw(shapes)
    start_over = form not in WIRED and draw(st.booleans())
    writer = _Writer(form, thinks=draw(st.booleans()), ids_start_over=start_over, named=draw(st.booleans()))
    if draw(st.booleans()):
        writer.system()
    for shape in cycles:
        writer.cycle(shape)
    has_thought = any(map(_is_signed, writer.messages))
    writer.thinks = writer.thinks or has_thought  # thinking stays on, so a running loop thinks too
    writer.cycle(current, closed=False)
    return LangChainScene(writer.messages, tuple(writer.blocks))


def body(form: Form, messages: Sequence[BaseMessage]) -> Body:
    """Return the body that the provider's chat model makes of a history, its tools declared."""
    made: Body = _model(form)._get_request_payload(list(messages))  # noqa: SLF001  # the mapping has no public name
    calls = [call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    tools = {"tools": [{"name": name} for name in dict.fromkeys(calls)]} if calls else {}
    thinks = form == "anthropic" and any(map(_is_signed, messages))
    return {**made, **tools, **({"thinking": {"type": "enabled", "budget_tokens": 1_024}} if thinks else {})}


def refusals(form: Form, scene: LangChainScene, edited: Sequence[BaseMessage]) -> list[str]:
    """Return by which rules the server of the unedited conversation refuses the edited request."""
    unedited = body(form, scene.messages)
    known = remembered(form, unedited)
    if form == "openai_responses":
        known["ledger"].items.pop("", None)  # an item that goes out without its id cannot be told again
    found = APIS[form].judge(like(unedited, body(form, edited)), **known)
    return [f"{refusal.rule}: {refusal.message}" for refusal in found]


@cache
def _model(form: Form) -> Any:
    key = SecretStr("none")
    if form == "anthropic":
        return ChatAnthropic(
            model_name="claude-sonnet-4-5", max_tokens_to_sample=4_096, api_key=key, timeout=None, stop=None
        )
    return ChatOpenAI(model="gpt-5", api_key=key, use_responses_api=form == "openai_responses")
