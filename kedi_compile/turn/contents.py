"""What the durable records hold: one dataclass for each kind of content, with the specification's field names.

Contents are plain and mutable, as the specification has them; the compiler only ever reads them. What belongs to a
single call (tool schemas, response format, structure) is no field here: it is on `TurnRequest`. Older serialised
contents that carry such a key are read without it. Source: Turn specification, D1.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self
from uuid import UUID

from kedi_compile.errors import TurnCompileError

from .ids import optional_id
from .refusals import refuse_other

ImageDetail = Literal["low", "high", "auto"]


@dataclass(slots=True)
class MessageContent:
    """The base of the typed contents."""

    transient: ClassVar[frozenset[str]] = frozenset()
    """Keys of one past call that older serialised contents carry; they are accepted and ignored."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; the values are the content's own, and ids are text."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a content from `to_dict`'s result.

        Raises:
            TurnCompileError: a key is no field of this content, so something would be lost.
        """
        return cls(**fields_in(data, cls, cls.transient))

    @classmethod
    def of(cls, held: object) -> Self:
        """Build a content from the fields of this class that an object has, as they are; what else it has is left."""
        return cls(**{item.name: getattr(held, item.name) for item in fields(cls) if hasattr(held, item.name)})


@dataclass(slots=True)
class SystemContent(MessageContent):
    """The policy of a conversation; `system_datetime` is text that is shown as it is."""

    system_message: str = ""
    system_datetime: str | None = None

    @property
    def rendered(self) -> str:
        """The text as it is shown: the time, if there is one, an empty line, and the message.

        Raises:
            TurnCompileError: the message or the time is no text.
        """
        time = [f"System Time: {text_of(self.system_datetime, 'system_datetime')}"] if self.system_datetime else []
        return "\n\n".join([*time, text_of(self.system_message, "system_message")])


@dataclass(slots=True)
class InstructionContent(MessageContent):
    """What a user asks: the parts of it that outlive the call.

    `prompt_context` is a list of values of any plain type. `images` are http(s) URLs, data URIs, or base64 text.
    """

    transient: ClassVar[frozenset[str]] = frozenset({"tool_schemas", "response_format", "structure"})

    instruction: Any = None
    guidance: Any = None
    prompt_context: list[Any] = field(default_factory=list)
    plain_content: str | None = None
    images: list[str] = field(default_factory=list)
    image_detail: ImageDetail | None = None


@dataclass(slots=True)
class AssistantResponseContent(MessageContent):
    """What the model answered."""

    assistant_response: str = ""


@dataclass(slots=True)
class ActionRequestContent(MessageContent):
    """A call the model asked for; it reaches a model only through its response."""

    function: str = ""
    arguments: Any = field(default_factory=dict)
    action_response_id: UUID | None = None

    def __post_init__(self) -> None:
        self.action_response_id = optional_id(self.action_response_id)


@dataclass(slots=True)
class ActionResponseContent(MessageContent):
    """What a call gave back, with the call itself; `error` is kept and not shown to a model."""

    function: str = ""
    arguments: Any = field(default_factory=dict)
    output: Any = None
    error: Any = None
    action_request_id: UUID | None = None

    def __post_init__(self) -> None:
        self.action_request_id = optional_id(self.action_request_id)


def fields_in(data: Mapping[str, Any], cls: type[Any], ignored: AbstractSet[str]) -> dict[str, Any]:
    """Return the fields of a dataclass that a mapping holds, by name.

    Raises:
        TurnCompileError: a key is neither a field nor ignored, so something would be lost.
    """
    refuse_other(data, Mapping, f"A serialised {cls.__name__} is a mapping")
    names = [item.name for item in fields(cls)]
    if unknown := sorted(map(str, data.keys() - set(names) - ignored)):
        raise TurnCompileError(f"{cls.__name__} has no field {', '.join(unknown)}; its fields are {', '.join(names)}")
    return {name: data[name] for name in names if name in data}


def exact(text: str) -> str:
    """Return a text as a plain `str`; a class derived from it may show itself as something else."""
    return str.__str__(text)


def text_of(value: object, field: str) -> str:
    """Return a text field of a content as a plain `str`.

    Raises:
        TurnCompileError: the value is no text.
    """
    if isinstance(value, str):
        return exact(value)
    raise TurnCompileError(f"`{field}` is a {type(value).__name__}; it must be text", path=field)
