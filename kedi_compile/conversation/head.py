"""What a conversation is, but for its messages, as versioned JSON: the same for stores and checkpoints.

Lanes name their messages' records in order. Fields that an older version did not write are optional; a newer version is
refused, because nobody here knows what it means. Source: History specification, Context Budget Accounting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.records import History
from kedi_compile.errors import ConversationError
from kedi_compile.history.carried import Carried

VERSION: Final = 1

ModelT = TypeVar("ModelT", bound=BaseModel)

Count = Annotated[int, Field(ge=0, lt=2**53)]
"""A number that every reader of JSON keeps exact."""

Name = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
"""A SHA-256: of a record, a history, or a checkpoint."""


class Strict(BaseModel):
    """Reads exact types only, and leaves out fields it does not know."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", hide_input_in_errors=True)


class KeyModel(Strict):
    """A lane's key."""

    adapter: str
    model: str
    settings: str = ""
    servers: str = ""
    tools: str = ""
    output: str = ""


class UsageModel(Strict):
    """Measured tokens, and the history they were measured on."""

    tokens: Count
    digest: Name
    length: Count


class LaneModel(Strict):
    """One lane; `entries` are the names of its messages' records."""

    key: KeyModel
    entries: tuple[Name, ...] = ()
    generation: Count = 0
    turns: Count = 0
    usage: UsageModel | None = None
    asks_usage: bool = False


class HeadModel(Strict):
    """All lanes, the one that was used last at the end."""

    version: Annotated[int, Field(ge=1, lt=2**53)]
    lanes: tuple[LaneModel, ...] = ()


_FIELDS: Final = frozenset(
    name for model in (KeyModel, UsageModel, LaneModel, HeadModel) for name in model.model_fields
)
"""The names an error may show; all others are content."""

_SHOWN: Final = 3
"""How many places an error names."""


def write_head(lanes: Iterable[tuple[Lane[object], tuple[str, ...]]]) -> HeadModel:
    """Return the head of these lanes with the names of their records."""
    return HeadModel(version=VERSION, lanes=tuple(_lane_model(lane, names) for lane, names in lanes))


def write_json(head: HeadModel) -> bytes:
    """Return a head's JSON."""
    return head.model_dump_json().encode()


def read_head(data: bytes) -> HeadModel:
    """Read a head's JSON.

    Raises:
        ConversationError: it is damaged, foreign, or of a newer version.
    """
    head = parse(HeadModel, data)
    check_version(head.version)
    return head


def lanes_of(head: HeadModel, records: Mapping[str, bytes]) -> dict[LaneKey, Lane[object]]:
    """Return the lanes of a head, by key; they read their messages when an adapter asks."""
    return {lane.key: lane for lane in (_lane(model, records) for model in head.lanes)}


def parse(model: type[ModelT], data: bytes | str) -> ModelT:
    """Read JSON as a model.

    Raises:
        ConversationError: it is no such JSON; the message names the places that are wrong, and shows nothing of it.
    """
    try:
        return model.model_validate_json(data)
    except (ValidationError, RecursionError) as error:
        places = _places(error, _FIELDS | set(model.model_fields))
        msg = f"This is no conversation of kedi-compile, or it is damaged: {places}"
        raise ConversationError(msg) from None  # the cause would show what the conversation holds


def check_version(version: int) -> None:
    """Refuse a version of the format that is newer than this one.

    Raises:
        ConversationError: it is.
    """
    if version > VERSION:
        msg = (
            f"This conversation was written in version {version} of its format, and this kedi-compile reads up to "
            f"{VERSION}; read it with a newer one"
        )
        raise ConversationError(msg)


def _places(error: ValidationError | RecursionError, fields: Collection[str]) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    found = error.errors(include_url=False, include_input=False, include_context=False)[:_SHOWN]
    return "; ".join(f"{_place(one['loc'], fields)}: {one['msg']}" for one in found)


def _place(way: Sequence[int | str], fields: Collection[str]) -> str:
    """Write the way to a place by the names of this format alone; any other key is content."""
    return ".".join(str(step) if isinstance(step, int) or step in fields else "…" for step in way) or "the text"


def _lane_model(lane: Lane[object], names: tuple[str, ...]) -> LaneModel:
    plain = lane.carried.to_plain()
    return LaneModel.model_validate({**plain, "key": asdict(lane.key), "entries": names, "turns": lane.turns})


def _lane(model: LaneModel, records: Mapping[str, bytes]) -> Lane[object]:
    carried = Carried.from_plain(model.model_dump(exclude={"key", "entries", "turns"}))
    return Lane(LaneKey(**model.key.model_dump()), History.stored(model.entries, records), carried, model.turns)
