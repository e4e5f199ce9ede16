"""What a callback does to its copies never reaches the host, and typed payloads survive the copying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pydantic
import pytest
from pydantic_ai import Agent, BinaryContent, ImageUrl
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage

from agents import Context, Script, adapter, asks, calls, keep, lines, results, run_through, says, stored, turns
from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError


@dataclass
class Room:
    """A typed tool result."""

    name: str
    doors: list[str] = field(default_factory=list)


class Weather(pydantic.BaseModel):
    """A typed tool result of another kind."""

    degrees: float
    notes: dict[str, list[int]] = {}


class Mood(Enum):
    """A value that is the same only by identity."""

    GOOD = 1


PAYLOADS: dict[str, Any] = {
    "dataclass": Room("hall", ["north"]),
    "pydantic model": Weather(degrees=4.5, notes={"a": [1]}),
    "bytes": b"\x00\xff",
    "picture": BinaryContent(b"PNG", media_type="image/png"),
    "picture by address": ImageUrl("https://example.com/cat.png"),
    "list of models": [Weather(degrees=1), Weather(degrees=2)],
    "dict of dataclasses": {"hall": Room("hall")},
    "tuple": (1, "two", 3.0),
    "enum": Mood.GOOD,
    "set": {1, 2},
    "nothing": None,
}
each_payload = pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)


def with_payload(payload: Any) -> list[ModelMessage]:
    """A closed cycle whose tool returned `payload`."""
    return [asks("look"), calls("c0"), results("c0", content=payload), says("looked")]


@each_payload
def test_a_typed_payload_is_the_hosts_own_object_after_an_edit(payload: Any) -> None:
    """A kept group goes out as the caller's objects, their tool results of the type they had."""
    history = [*turns(1), *with_payload(payload)]
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=history)

    (result,) = script.requests[0][2].parts
    assert isinstance(result, m.ToolReturnPart)
    assert result.content is payload
    assert script.sent == [[*lines(history[2:]), "< now"]]


@each_payload
def test_a_typed_payload_is_copied_with_its_type(payload: Any) -> None:
    """The callback sees an equal payload of the same type; a mutable one is another object."""
    seen: list[Any] = []

    def read(ctx: Context) -> Sequence[ModelMessage]:
        (result,) = ctx.messages[2].parts
        seen.append(getattr(result, "content", None))
        return ctx.messages

    agent = Agent(Script("done").model, capabilities=[adapter(read)])

    run_through("run", agent, "now", message_history=with_payload(payload))

    assert type(seen[0]) is type(payload)
    assert seen[0] == payload
    assert seen[0] is not payload or isinstance(payload, (bytes, tuple, Mood, type(None)))


def _room(message: Any) -> None:
    message.parts[0].content.doors.append("secret")


def _weather(message: Any) -> None:
    message.parts[0].content.notes["a"].append(2)


def _metadata(message: Any) -> None:
    message.parts[0].metadata["seen"] = True


CHANGES: dict[str, tuple[Any, Callable[[Any], None]]] = {
    "a list in a dataclass": (Room("hall", ["north"]), _room),
    "a list in a dict in a model": (Weather(degrees=4.5, notes={"a": [1]}), _weather),
    "a tool result's metadata": ("seen", _metadata),
}
each_change = pytest.mark.parametrize(("payload", "change"), CHANGES.values(), ids=CHANGES)


@each_change
def test_a_change_deep_in_a_payload_is_an_alteration(payload: Any, change: Callable[[Any], None]) -> None:
    """It is refused, names its entry, and never reaches the caller's object."""
    history = _with_metadata(payload)
    before = stored(history)
    script = Script("never")

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        change(ctx.messages[2])
        return ctx.messages

    agent = Agent(script.model, capabilities=[adapter(edit)])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_through("run", agent, "now", message_history=history)

    assert [(one.rule, one.entries) for one in caught.value.violations] == [("altered_entry", (2,))]
    assert stored(history) == before
    assert script.sent == []


@each_change
def test_a_change_of_a_dropped_groups_copy_reaches_nobody(payload: Any, change: Callable[[Any], None]) -> None:
    """Copies belong to the callback: what it does to those it leaves out is its own affair."""
    history = _with_metadata(payload)
    before = stored(history)
    script = Script("done")

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        change(ctx.messages[2])
        return ctx.replace_groups(ctx.groups[0])

    agent = Agent(script.model, capabilities=[adapter(edit)])

    run_through("run", agent, "now", message_history=history)

    assert stored(history) == before
    assert script.sent == [["< now"]]


def test_a_change_after_the_callback_returned_reaches_nobody() -> None:
    """Keeping a reference to a copy, or to an added message, gives no hold on what is sent and stored."""
    held: list[Any] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        edited = ctx.replace_groups(ctx.groups[0], *ctx.summary_messages("They talked."))
        held.extend(edited)
        return edited

    async def meddle() -> None:
        for message in held:
            for part in message.parts:
                part.content = "meddled"

    script = Script(meddle)
    agent = Agent(script.model, capabilities=[adapter(edit)])

    finished = run_through("run", agent, "now", message_history=turns(2))

    kept = ["< They talked.", "> Noted.", "< question 2", "> answer 2", "< now"]
    assert script.sent == [kept]
    assert lines(finished.all_messages) == [*kept, "> done"]


def test_a_payload_that_refuses_to_be_copied_stops_the_request() -> None:
    """A copy failure is wrapped, and nothing is sent."""
    script = Script("never")
    history = with_payload(Uncopyable("one"))
    agent = Agent(script.model, capabilities=[adapter(lambda ctx: list(ctx.messages))])

    with pytest.raises(HistoryProcessingError) as caught:
        run_through("run", agent, "now", message_history=history)
    assert isinstance(caught.value.__cause__, TypeError)
    assert script.sent == []


def test_a_skipped_request_copies_nothing() -> None:
    """When the condition says no, even a payload that cannot be copied goes through."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(lambda ctx: list(ctx.messages), lambda state: False)])

    run_through("run", agent, "now", message_history=with_payload(Uncopyable("one")))

    assert len(script.sent) == 1


@pytest.mark.parametrize("wanted", [False, True])
def test_a_result_of_the_running_loop_is_copied_for_the_callback_only(wanted: bool) -> None:
    """With a condition that says no nothing is copied; else a failing copy is wrapped."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(lambda ctx: list(ctx.messages), lambda state: wanted)])

    @agent.tool_plain
    def look() -> Any:
        return Uncopyable("one")

    if wanted:
        with pytest.raises(HistoryProcessingError, match="one of a kind"):
            run_through("run", agent, "now")
    else:
        run_through("run", agent, "now")

    assert len(script.sent) == 1 + (not wanted)


class Uncopyable(str):
    """A text with an own idea about copying."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Uncopyable:
        message = "one of a kind"
        raise TypeError(message)


def _with_metadata(payload: Any) -> list[ModelMessage]:
    history = with_payload(payload)
    result: Any = history[2].parts[0]
    result.metadata = {"seen": False}
    return history
