"""The durable records of a conversation: who said what to whom, and when.

A record's identity never changes; its content is described in `contents.py`. `Message` itself is routed traffic: its
role is unset and no model reads it. A new kind that takes part in a conversation needs a case in `project.py`, which
refuses the kinds it does not know. This is the one file of the core that makes an id and reads a clock, for records
built without them. Source: Turn specification, D1 and D2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Self, TypedDict, Unpack
from uuid import UUID, uuid4

from kedi_compile.errors import TurnCompileError, UnknownRecordError
from kedi_compile.message import MessageRole

from .contents import (
    ActionRequestContent,
    ActionResponseContent,
    AssistantResponseContent,
    ImageDetail,
    InstructionContent,
    MessageContent,
    SystemContent,
    fields_in,
    text_of,
)
from .ids import record_id
from .images import as_uri
from .refusals import refuse_other


def _now() -> datetime:
    return datetime.now(UTC)


IGNORED = frozenset({"kind", "role", "embedding", "channel"})
"""Keys of a serialised record that are no fields: what its class says, and what LionAGI keeps beside them."""


class RecordFields(TypedDict, total=False):
    """The fields that every record has beside its content; a factory takes them by name."""

    id: UUID
    created_at: datetime
    sender: str | None
    recipient: str | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A routed record, and the base of all others.

    `created_at` has a time zone. `sender` and `recipient` are names or ids as text.
    """

    role: ClassVar[MessageRole] = MessageRole.UNSET
    content_type: ClassVar[type[MessageContent] | None] = None

    content: Any = None
    id: UUID = field(default_factory=uuid4)
    created_at: datetime = field(default_factory=_now)
    sender: str | None = None
    recipient: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_other(self.content, self.content_type or object, f"The content of a {self.kind} has a class of its own")
        refuse_other(self.id, UUID, f"The id of a {self.kind} is a UUID")
        refuse_other(self.metadata, dict, f"The metadata of a {self.kind} are a dict")
        refuse_other(self.created_at, datetime, f"The time of a {self.kind} is a datetime")
        if self.created_at.tzinfo is None:
            raise TurnCompileError(f"The time of a {self.kind} has a time zone; {self.created_at} has none")

    @property
    def kind(self) -> str:
        """What the record calls itself: its class's name."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a mapping of deep copies; ids and `created_at` (ISO 8601) are text.

        The values inside the content and the metadata are as they are: for JSON, let them be JSON's own. A record of a
        derived class is written, and comes back, as what it derives from.

        Raises:
            UnknownRecordError: it has a role and derives from none of the known kinds, so it could not be read again.
        """
        kind = self._known_kind()
        content = self.content if kind.content_type is None else kind.content_type.of(self.content).to_dict()
        return {
            "kind": kind.__name__,
            "id": str(self.id),
            "created_at": self.created_at.isoformat(),
            "sender": self.sender,
            "recipient": self.recipient,
            "metadata": deepcopy(self.metadata),
            "content": deepcopy(content),
        }

    def _known_kind(self) -> type[Message]:
        kind = next(base for base in type(self).__mro__ if KINDS.get(base.__name__) is base)
        if kind is Message and self.role != MessageRole.UNSET:
            raise UnknownRecordError(
                f"Record {self.id} is a {self.kind} with the role '{self.role}', and derives from no known kind",
                record_ids=[self.id],
            )
        return kind

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a record of this class from `to_dict`'s result; `created_at` may also be seconds since 1970.

        A time without zone is in UTC. The record keeps none of the containers in `data`. To read records of several
        kinds, use `record_from_dict`.

        Raises:
            TurnCompileError: a key is neither a field nor in `IGNORED`, so something would be lost.
        """
        held = deepcopy(fields_in(data, cls, IGNORED))
        if "id" in held:
            held["id"] = record_id(held["id"])
        if "created_at" in held:
            held["created_at"] = _time(held["created_at"])
        if cls.content_type is not None:
            held["content"] = cls.content_type.from_dict(held.get("content") or {})
        return cls(**held)


def _time(value: object) -> datetime:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise TurnCompileError(f"`created_at` is {value!r}; it must be ISO 8601 text or seconds since 1970") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class System(Message):
    """The policy of a conversation."""

    role: ClassVar[MessageRole] = MessageRole.SYSTEM
    content_type: ClassVar[type[MessageContent]] = SystemContent

    content: SystemContent = field(default_factory=SystemContent)

    @classmethod
    def create(
        cls, system_message: str, *, system_datetime: str | bool | None = None, **record: Unpack[RecordFields]
    ) -> Self:
        """Build a system record; `system_datetime=True` is now, in UTC, to the minute."""
        shown = _now().isoformat(timespec="minutes") if system_datetime is True else system_datetime or None
        return cls(content=SystemContent(system_message, shown), **record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction(Message):
    """What a user asked."""

    role: ClassVar[MessageRole] = MessageRole.USER
    content_type: ClassVar[type[MessageContent]] = InstructionContent

    content: InstructionContent = field(default_factory=InstructionContent)

    @classmethod
    def create(
        cls,
        instruction: Any = None,
        *,
        guidance: Any = None,
        prompt_context: Any = None,
        plain_content: str | None = None,
        images: str | Sequence[str] | None = None,
        image_detail: ImageDetail | None = None,
        **record: Unpack[RecordFields],
    ) -> Self:
        """Build an instruction the way callers mean it.

        A single context value or image becomes a list of one, base64 text becomes a data URI, and with images the
        detail is "auto" unless given. `record` takes the fields of every record: `id`, `sender`, `metadata` and so on.
        """
        given: Any = images or ()
        several = given if isinstance(given, list | tuple) else [given]
        uris = [as_uri(image) if isinstance(image, str) else image for image in several]
        content = InstructionContent(
            instruction=instruction,
            guidance=guidance,
            prompt_context=_as_list(prompt_context),
            plain_content=plain_content,
            images=uris,
            image_detail=image_detail or ("auto" if uris else None),
        )
        return cls(content=content, **record)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantResponse(Message):
    """What the model answered."""

    role: ClassVar[MessageRole] = MessageRole.ASSISTANT
    content_type: ClassVar[type[MessageContent]] = AssistantResponseContent

    content: AssistantResponseContent = field(default_factory=AssistantResponseContent)

    @classmethod
    def create(cls, assistant_response: str, **record: Unpack[RecordFields]) -> Self:
        """Build a response from its text.

        Raises:
            TurnCompileError: it is no text; an object that a framework parsed has to be written as text first.
        """
        return cls(content=AssistantResponseContent(text_of(assistant_response, "assistant_response")), **record)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest(Message):
    """A call the model asked for."""

    role: ClassVar[MessageRole] = MessageRole.ACTION
    content_type: ClassVar[type[MessageContent]] = ActionRequestContent

    content: ActionRequestContent = field(default_factory=ActionRequestContent)

    @classmethod
    def create(cls, function: str, arguments: dict[str, Any] | None = None, **record: Unpack[RecordFields]) -> Self:
        """Build a request to call a function."""
        return cls(content=ActionRequestContent(function, arguments or {}), **record)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResponse(Message):
    """What a call gave back."""

    role: ClassVar[MessageRole] = MessageRole.ACTION
    content_type: ClassVar[type[MessageContent]] = ActionResponseContent

    content: ActionResponseContent = field(default_factory=ActionResponseContent)

    @classmethod
    def answering(
        cls, request: ActionRequest, output: Any = None, *, error: Any = None, **record: Unpack[RecordFields]
    ) -> Self:
        """Build the response to a request, with the request's function and a copy of its arguments.

        A model is shown `output` and not `error`: say in the output that a call failed.
        """
        refuse_other(request, ActionRequest, "A response answers an ActionRequest")
        asked = request.content
        content = ActionResponseContent(asked.function, deepcopy(asked.arguments), output, error, request.id)
        return cls(content=content, **record)


KINDS: dict[str, type[Message]] = {
    kind.__name__: kind for kind in (Message, System, Instruction, AssistantResponse, ActionRequest, ActionResponse)
}
"""The records by the name they are serialised under."""


def record_from_dict(data: Mapping[str, Any]) -> Message:
    """Build a record of the kind that `data` names under "kind".

    Raises:
        TurnCompileError: the kind is missing or not one of `KINDS`.
    """
    refuse_other(data, Mapping, "A serialised record is a mapping")
    found = data.get("kind")
    kind = KINDS.get(str(found))
    if kind is None:
        raise TurnCompileError(f"{found!r} is no kind of record; under the key 'kind' stands one of {sorted(KINDS)}")
    return kind.from_dict(data)
