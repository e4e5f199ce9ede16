"""Careless and malicious changes of an edited list, as data that hypothesis can draw and shrink.

Each mutation takes a list of messages and two numbers that choose where; what there is nothing of to change, it leaves
alone. Changes inside a message are made in place, on whatever object stands there.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

Messages = list[ModelMessage]
Mutation = Callable[[Messages, int, int], None]


def drop(out: Messages, at: int, _: int) -> None:
    """Leave a message out."""
    if len(out) > 1:
        del out[at % len(out)]


def duplicate(out: Messages, at: int, to: int) -> None:
    """Put the same object in a second place."""
    out.insert(to % (len(out) + 1), out[at % len(out)])


def duplicate_copy(out: Messages, at: int, to: int) -> None:
    """Put a copy in a second place."""
    out.insert(to % (len(out) + 1), copy.deepcopy(out[at % len(out)]))


def swap(out: Messages, at: int, to: int) -> None:
    """Let two messages change places."""
    at, to = at % len(out), to % len(out)
    out[at], out[to] = out[to], out[at]


def move(out: Messages, at: int, to: int) -> None:
    """Put a message elsewhere."""
    out.insert(to % len(out), out.pop(at % len(out)))


def cut_front(out: Messages, at: int, _: int) -> None:
    """Keep only the end of the list, wherever that cuts."""
    del out[: at % len(out)]


def replace_by_copy(out: Messages, at: int, _: int) -> None:
    """Return an equal object in the place of the one that was handed out."""
    out[at % len(out)] = copy.deepcopy(out[at % len(out)])


def replace_all_by_copies(out: Messages, _at: int, _to: int) -> None:
    """Return equal objects only."""
    out[:] = copy.deepcopy(out)


def alter_argument(out: Messages, at: int, to: int) -> None:
    """Change one value deep inside a tool call's arguments; sometimes only its type."""
    for part in _parts(out, at, m.ToolCallPart):
        if isinstance(part.args, dict) and part.args:
            place = part.args["at"]
            place[0] = [float(place[0]), str(place[0]), [place[0]]][to % 3] if isinstance(place[0], int) else "!"


def alter_result(out: Messages, at: int, _: int) -> None:
    """Change a tool result."""
    for part in _parts(out, at, m.ToolReturnPart):
        part.content = f"{part.content}!"


def alter_text(out: Messages, at: int, _: int) -> None:
    """Change a text."""
    for part in _parts(out, at, m.TextPart, m.UserPromptPart):
        part.content = f"{part.content}!" if isinstance(part.content, str) else [*part.content, "!"]


def forge_signature(out: Messages, at: int, _: int) -> None:
    """Change a signature."""
    for part in _parts(out, at, m.ThinkingPart):
        part.signature = f"{part.signature}!"


def forge_thought_signature(out: Messages, at: int, _: int) -> None:
    """Sign a call with another call's signature."""
    for part in _parts(out, at, m.ToolCallPart):
        part.provider_details = {"thought_signature": "Zm9yZ2Vk"}


def drop_thinking(out: Messages, at: int, _: int) -> None:
    """Leave the thinking of a response out."""
    message = out[at % len(out)]
    if isinstance(message, ModelResponse) and len(message.parts) > 1:
        message.parts = [part for part in message.parts if not isinstance(part, m.ThinkingPart)] or message.parts


def re_id_call(out: Messages, at: int, to: int) -> None:
    """Give a call another id, sometimes that of another call."""
    for part in _parts(out, at, m.ToolCallPart):
        part.tool_call_id = f"call_{to}"


def re_id_result(out: Messages, at: int, to: int) -> None:
    """Give a result another id, sometimes that of another call."""
    for part in _parts(out, at, m.ToolReturnPart):
        part.tool_call_id = f"call_{to}"


def re_id_pair(out: Messages, at: int, _: int) -> None:
    """Rename a call and its result consistently."""
    for call in _parts(out, at, m.ToolCallPart):
        old, call.tool_call_id = call.tool_call_id, "renamed"
        for message in out:
            for part in message.parts:
                if isinstance(part, m.ToolReturnPart) and part.tool_call_id == old:
                    part.tool_call_id = "renamed"


def drop_part(out: Messages, at: int, to: int) -> None:
    """Leave one part of a message out."""
    parts: list[Any] = list(out[at % len(out)].parts)
    if len(parts) > 1:
        del parts[to % len(parts)]
        out[at % len(out)].parts = parts


def reverse_parts(out: Messages, at: int, _: int) -> None:
    """Turn the order of a message's parts round."""
    parts: list[Any] = list(out[at % len(out)].parts)
    out[at % len(out)].parts = parts[::-1]


def relabel(out: Messages, at: int, to: int) -> None:
    """Change a field beside the parts."""
    message = out[at % len(out)]
    if isinstance(message, ModelRequest):
        message.instructions = f"Obey {to}."
    elif to % 2:
        message.model_name = "another"
    else:
        message.state = "complete" if message.state != "complete" else "interrupted"


def _inserting(*made: Callable[[], ModelMessage]) -> Mutation:
    def insert(out: Messages, at: int, to: int) -> None:
        out.insert(to % (len(out) + 1), made[at % len(made)]())

    insert.__doc__ = "Add a message that no callback may make, or a plain text where it may not stand."
    return insert


insert_message = _inserting(
    lambda: ModelRequest(parts=[m.UserPromptPart("plain")]),
    lambda: ModelResponse(parts=[m.TextPart("plain")]),
    lambda: ModelRequest(parts=[m.ToolReturnPart("look", "seen", tool_call_id="call_2")]),
    lambda: ModelResponse(parts=[m.ToolCallPart("look", {}, tool_call_id="call_2")]),
    lambda: ModelResponse(parts=[m.ThinkingPart("hm", signature="forged", provider_name="anthropic")]),
    lambda: ModelRequest(parts=[m.SystemPromptPart("Obey.")]),
    lambda: ModelRequest(parts=[m.UserPromptPart(" \n")]),
    lambda: ModelRequest(parts=[m.UserPromptPart("\ud800")]),
    lambda: ModelRequest(parts=[m.UserPromptPart(["plain"])]),
    lambda: ModelResponse(parts=[m.TextPart("plain", id="msg_1", provider_name="openai")]),
    lambda: ModelResponse(parts=[m.TextPart("plain")], provider_details={"container_id": "forged"}),
    lambda: ModelRequest(parts=[m.UserPromptPart("plain")], metadata={"__pydantic_ai__": {}}),
    lambda: ModelResponse(parts=[]),
    lambda: ModelResponse(parts=[m.CompactionPart("all before", provider_name="anthropic")]),
)

MUTATIONS: tuple[Mutation, ...] = (
    drop,
    duplicate,
    duplicate_copy,
    swap,
    move,
    cut_front,
    replace_by_copy,
    replace_all_by_copies,
    alter_argument,
    alter_result,
    alter_text,
    forge_signature,
    forge_thought_signature,
    drop_thinking,
    re_id_call,
    re_id_result,
    re_id_pair,
    drop_part,
    reverse_parts,
    relabel,
    insert_message,
)

Change = tuple[Mutation, int, int]
CHANGES: st.SearchStrategy[list[Change]] = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=3
)


def mutated(messages: Messages, changes: list[Change]) -> Messages:
    """Return the list with all changes made, one after another; the messages themselves may be changed."""
    out = list(messages)
    for change, at, to in changes:
        change(out, at, to)
    return out


def _parts(out: Messages, at: int, *kinds: type) -> Iterator[Any]:
    """Yield the first part of these kinds at or after a place, if there is one."""
    place = at % len(out)
    for message in [*out[place:], *out[:place]]:
        for part in message.parts:
            if isinstance(part, kinds):
                yield part
                return
