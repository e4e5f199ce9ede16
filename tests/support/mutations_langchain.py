"""Careless and malicious changes of an edited list of LangChain messages, and which lists are permitted all the same.

The changes of whole messages are those of `mutations.py`, the definition of a permitted edit is that of `permitted.py`:
by brute force, without the code under test. What is said here again is how a LangChain message is changed inside, and
what a bare text is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

import mutations as whole
from histories import permitted_plans, wild_plans
from histories_langchain import LangChainScene
from permitted import Returned, keeps_order, readings
from processors import Mutating

Messages = list[Any]


def alter_argument(out: Messages, at: int, to: int) -> None:
    """Change one value deep inside a call's arguments; sometimes only its type."""
    for message in _found(out, at, lambda message: getattr(message, "tool_calls", None)):
        place = message.tool_calls[0]["args"]["at"]
        place[0] = [float(place[0]), str(place[0]), [place[0]]][to % 3] if isinstance(place[0], int) else "!"


def alter_content(out: Messages, at: int, _: int) -> None:
    """Change what a message says."""
    message = out[at % len(out)]
    message.content = f"{message.content}!" if isinstance(message.content, str) else [*message.content, "!"]


def alter_block(out: Messages, at: int, to: int) -> None:
    """Change one value of one block: a text, a signature, an id."""
    for message in _found(out, at, _has_blocks):
        block = next(block for block in message.content if isinstance(block, dict))
        name = sorted(block)[to % len(block)]
        block[name] = f"{block[name]}!"


def drop_block(out: Messages, at: int, to: int) -> None:
    """Leave one block of a message out."""
    for message in _found(out, at, _has_blocks):
        message.content = [block for n, block in enumerate(message.content) if n != to % len(message.content)]


def reverse_blocks(out: Messages, at: int, _: int) -> None:
    """Turn the order of the blocks of a message round."""
    for message in _found(out, at, _has_blocks):
        message.content = message.content[::-1]


def drop_call(out: Messages, at: int, _: int) -> None:
    """Leave one call of a batch out."""
    for message in _found(out, at, lambda message: getattr(message, "tool_calls", None)):
        message.tool_calls = message.tool_calls[1:]


def re_id_call(out: Messages, at: int, to: int) -> None:
    """Give a call another id, sometimes that of another call."""
    for message in _found(out, at, lambda message: getattr(message, "tool_calls", None)):
        message.tool_calls[0]["id"] = f"call_{to}"


def re_id_result(out: Messages, at: int, to: int) -> None:
    """Give a result another id, sometimes that of another call."""
    for message in _found(out, at, lambda message: isinstance(message, ToolMessage)):
        message.tool_call_id = f"call_{to}"


def forge_state(out: Messages, at: int, to: int) -> None:
    """Change the state that stands beside the content."""
    message = out[at % len(out)]
    places: list[dict[str, Any]] = [message.additional_kwargs, message.response_metadata]
    places[to % 2]["reasoning_content" if to % 2 == 0 else "container"] = {"id": "forged"}


def relabel(out: Messages, at: int, to: int) -> None:
    """Change an id, a name, or an attribute of the caller's own."""
    setattr(out[at % len(out)], ("id", "name", "mine")[to % 3], "forged")


def _inserting(*made: Callable[[], BaseMessage]) -> Callable[[Messages, int, int], None]:
    def insert(out: Messages, at: int, to: int) -> None:
        out.insert(to % (len(out) + 1), made[at % len(made)]())

    insert.__doc__ = "Add a message that no callback may make, or a plain text where it may not stand."
    return insert


_FORGED: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "forged"}
insert_message = _inserting(
    lambda: HumanMessage("plain"),
    lambda: AIMessage("plain"),
    lambda: ToolMessage("seen", tool_call_id="call_2", name="look"),
    lambda: AIMessage("", tool_calls=[{"name": "look", "args": {"at": [1]}, "id": "call_2"}]),
    lambda: AIMessage([dict(_FORGED)]),
    lambda: SystemMessage("Obey."),
    lambda: HumanMessage(" \n"),
    lambda: HumanMessage("\ud800"),
    lambda: HumanMessage(["plain"]),
    lambda: HumanMessage("plain", id="id_1"),
    lambda: AIMessage("plain", response_metadata={"id": "resp_1"}),
    lambda: HumanMessage("plain", mine="forged"),
)

MUTATIONS: tuple[Any, ...] = (
    *(whole.drop, whole.duplicate, whole.duplicate_copy, whole.swap, whole.move, whole.cut_front),
    *(whole.replace_by_copy, whole.replace_all_by_copies),
    *(alter_argument, alter_content, alter_block, drop_block, reverse_blocks, drop_call),
    *(re_id_call, re_id_result, forge_state, relabel, insert_message),
)
CHANGES: st.SearchStrategy[list[whole.Change]] = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=3
)


def mutating_langchain(scene: LangChainScene, protection: str = "always") -> st.SearchStrategy[Mutating]:
    """Draw a permitted edit with one to three changes inside, or a wild one as it is."""
    permitted = st.builds(Mutating, permitted_plans(scene, protection), CHANGES)
    return permitted | st.builds(Mutating, wild_plans(scene), st.just([]))


def written(messages: Sequence[Any]) -> list[str]:
    """Write all that each message holds; the host's own `repr` leaves fields of some classes out."""
    return list(map(_written, messages))


def _written(message: Any) -> str:
    return f"{type(message).__name__} {vars(message)!r} {message.model_extra!r}"


def is_permitted(scene: LangChainScene, returned: Sequence[Returned], protection: str) -> bool:
    """Return whether the list is a permitted edit under some reading."""
    return _is_permitted(scene, returned, protection, [_is_bare_text(one.message) for one in returned])


def is_plainly_permitted(scene: LangChainScene, returned: Sequence[Returned], protection: str) -> bool:
    """Return whether it is one when no copy of an entry passes for a new text: then nobody can read it otherwise."""
    known = set(written(scene.messages))
    new = [_is_bare_text(one.message) and _written(one.message) not in known for one in returned]
    return _is_permitted(scene, returned, protection, new)


def _is_permitted(
    scene: LangChainScene, returned: Sequence[Returned], protection: str, may_be_new: Sequence[bool]
) -> bool:
    if not _texts_answer_somebody(scene, returned):
        return False
    full = replace(scene, messages=written(scene.messages))
    texts = [Returned(one.entry, cast(Any, _written(one.message))) for one in returned]  # told by `repr` alone
    found = readings(full, texts, 0, frozenset(), may_be_new)
    return any(keeps_order(scene, reading, protection) for reading in found)


def _is_bare_text(message: Any) -> bool:
    """Return whether a message is nothing but non-blank text of the user or the assistant."""
    text = message.content
    if type(message) not in (HumanMessage, AIMessage) or not isinstance(text, str) or not text.strip():
        return False
    return _written(message) == _written(type(message)(text)) and not any("\ud800" <= sign <= "\udfff" for sign in text)


def _texts_answer_somebody(scene: LangChainScene, returned: Sequence[Returned]) -> bool:
    """A new assistant text stands behind a message of the user's side, or behind another new one."""
    before: Any = None
    for one in returned:
        message: Any = one.message
        is_new = one.entry is None and _written(message) not in written(scene.messages)
        if is_new and isinstance(message, AIMessage) and not _may_precede_an_answer(before):
            return False
        before = message if not isinstance(message, SystemMessage) else before
    return True


def _may_precede_an_answer(before: Any) -> bool:
    return before is not None and (not isinstance(before, AIMessage) or _is_bare_text(before))


def _has_blocks(message: Any) -> bool:
    return isinstance(message.content, list) and any(isinstance(block, dict) for block in message.content)


def _found(out: Messages, at: int, fits: Callable[[Any], object]) -> Iterator[Any]:
    """Yield the first fitting message at or after a place, if there is one."""
    place = at % len(out)
    yield from [message for message in (*out[place:], *out[:place]) if fits(message)][:1]
