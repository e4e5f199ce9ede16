"""What a permitted edit is, said a second time and by brute force, for lists that a test has mutated.

A returned list is permitted if there is *some* way to read it as whole groups, unchanged and in their own order, and
bare texts between them, such that everything protected is there in its order, groups stay between their protected
neighbours, and the current request is last. The reading knows a handed-out object by identity and anything else by
its full `repr`; the groups are those the scene was drawn with. None of the code under test is used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from histories import Block, Scene


@dataclass(frozen=True)
class Returned:
    """One message of a returned list; `entry` is its index if it is the very object that was handed out."""

    entry: int | None
    message: ModelMessage


Reading = tuple[Block | None, ...]
"""The groups of a returned list in order, None for each bare text."""


def is_permitted(scene: Scene, returned: Sequence[Returned], protection: str) -> bool:
    """Return whether the list is a permitted edit under some reading."""
    return _is_permitted(scene, returned, protection, [is_bare_text(one.message) for one in returned])


def is_plainly_permitted(scene: Scene, returned: Sequence[Returned], protection: str) -> bool:
    """Return whether it is one when no copy of an entry passes for a new text: then nobody can read it otherwise."""
    known = set(map(repr, scene.messages))
    new = [is_bare_text(one.message) and repr(one.message) not in known for one in returned]
    return _is_permitted(scene, returned, protection, new)


def _is_permitted(scene: Scene, returned: Sequence[Returned], protection: str, may_be_new: Sequence[bool]) -> bool:
    if not _texts_answer_somebody(scene, returned):
        return False
    found = readings(scene, returned, 0, frozenset(), may_be_new)
    return any(keeps_order(scene, reading, protection) for reading in found)


def is_bare_text(message: ModelMessage) -> bool:
    """Return whether a message is nothing but non-blank text of the user or the assistant."""
    texts = [getattr(part, "content", None) for part in message.parts]
    if not texts or not all(isinstance(text, str) and text.strip() and _is_encodable(text) for text in texts):
        return False
    return repr(message) == repr(_bare(message, texts))


def _bare(message: ModelMessage, texts: Sequence[Any]) -> ModelMessage:
    """Build the message anew from its texts and times alone."""
    if isinstance(message, ModelRequest):
        times = [getattr(part, "timestamp", None) for part in message.parts]
        prompts = [m.UserPromptPart(text, timestamp=time) for text, time in zip(texts, times, strict=True) if time]
        return ModelRequest(parts=prompts, timestamp=message.timestamp)
    return ModelResponse(parts=[m.TextPart(text) for text in texts], timestamp=message.timestamp)


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def readings(
    scene: Scene, returned: Sequence[Returned], place: int, used: frozenset[int], may_be_new: Sequence[bool]
) -> Iterator[Reading]:
    """Yield every way to read the rest of the list, from `place` on, without the groups used already."""
    if place == len(returned):
        yield ()
        return
    for block in scene.blocks:
        if block.start not in used and _stands_at(scene, returned, place, block):
            rest = readings(scene, returned, place + len(block.entries), used | {block.start}, may_be_new)
            yield from ((block, *reading) for reading in rest)
    if returned[place].entry is None and may_be_new[place]:
        yield from ((None, *reading) for reading in readings(scene, returned, place + 1, used, may_be_new))


def _stands_at(scene: Scene, returned: Sequence[Returned], place: int, block: Block) -> bool:
    found = returned[place : place + len(block.entries)]
    return len(found) == len(block.entries) and all(
        one.entry in (None, entry) and repr(one.message) == repr(scene.messages[entry])
        for entry, one in zip(block.entries, found, strict=True)
    )


def keeps_order(scene: Scene, reading: Reading, protection: str) -> bool:
    """Return whether everything protected is there in its order, and each group between its protected neighbours."""
    walls = [block for block in scene.blocks if not block.is_eligible(protection)]
    groups = [block for block in reading if block is not None]
    if [block for block in groups if block in walls] != walls or reading[-1] != walls[-1]:
        return False
    if scene.begins_with_system and reading[0] != scene.blocks[0]:
        return False
    return all(_walls_before(block, groups, walls) == _walls_before(block, scene.blocks, walls) for block in groups)


def _walls_before(block: Block, order: Sequence[Block], walls: Sequence[Block]) -> list[Block]:
    return [other for other in order[: order.index(block)] if other in walls]


def _texts_answer_somebody(scene: Scene, returned: Sequence[Returned]) -> bool:
    """A new assistant text stands behind a message of the user's side, or behind another new one."""
    before: ModelMessage | None = None
    for one in returned:
        is_new = one.entry is None and repr(one.message) not in map(repr, scene.messages)
        if is_new and isinstance(one.message, ModelResponse) and not _may_precede_an_answer(before):
            return False
        before = one.message
    return True


def _may_precede_an_answer(before: ModelMessage | None) -> bool:
    if before is None or isinstance(before, ModelResponse):
        return before is not None and is_bare_text(before)
    return not all(isinstance(part, m.SystemPromptPart) for part in before.parts)
