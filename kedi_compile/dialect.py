"""All the core may know of a native message: facts about it, and the few operations a framework must offer.

A `Dialect` describes native objects as `MessageFacts`; the core computes with the facts and hands the objects back
untouched. `HistoryEntry` is the public face of one message, `HistoryOrigin` what the run itself knows about where it
came from. How entries form groups is in `history/groups.py`. Source: History specification, Recent Groups and Origins
and Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, TypeVar

MessageT = TypeVar("MessageT")

Role = Literal["system", "user", "assistant", "tool"]
TextRole = Literal["user", "assistant"]


class EntryKind(StrEnum):
    """What a native message is for; a message that holds several things has the first kind that applies."""

    TOOL_RESULT = "tool_result"
    ASSISTANT = "assistant"
    USER = "user"
    SYSTEM = "system"
    FEEDBACK = "feedback"
    STATE = "state"


class ProtectedReason(StrEnum):
    """Why a group must stay as it is."""

    SYSTEM = "system"
    GUIDANCE = "guidance"
    CURRENT_REQUEST = "current_request"
    PENDING_TOOL_CALL = "pending_tool_call"
    UNFINISHED = "unfinished"
    SIGNED_REASONING = "signed_reasoning"
    PROVIDER_RECORD = "provider_record"
    CHECKPOINT = "checkpoint"
    FRAMEWORK_STATE = "framework_state"


@dataclass(frozen=True, slots=True)
class HistoryOrigin:
    """Where a piece of history came from, as the run that made it knows; never part of a prompt.

    Only `kind` is always known. `source_location` is the caller's label or `file:line`.
    """

    kind: Literal["user", "assistant", "tool-call", "tool-result"]
    run_id: str | None = None
    source_location: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


GUIDANCE_MARK = "kedi_compile.guidance"
"""The key in a native message's own metadata, which no model reads, that says a compiled turn's policy is in it."""

CHECKPOINT_MARK = "kedi_compile.archive"
"""The key in a native message's own metadata, which no model reads, that holds the reference of an archived record."""


class MessageFacts(NamedTuple):
    """What a dialect reads off one native message."""

    kind: EntryKind
    role: Role
    calls: tuple[str, ...] = ()
    """Ids of the tool calls it opens, in order; provider-executed calls are no part of the pairing."""
    results: tuple[str, ...] = ()
    """Ids of the tool calls it answers, in order."""
    authored: bool = False
    """Whether it holds user content that may open a cycle."""
    holds_system: bool = False
    """Whether it holds system text, alone or beside other content."""
    reasons: frozenset[ProtectedReason] = frozenset()
    bound: bool = False
    """Whether it holds reasoning that a provider may have bound to everything before it."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Facts about one native message of the history.

    `index` is 0-based into `ctx.messages`. `calls` and `results` are tool call ids in order. `estimated_tokens`
    leaves out instructions and tool schemas. `protected` and `protected_reasons` speak of this entry alone; its
    group may be protected for more.
    """

    index: int
    kind: EntryKind
    role: Role
    calls: tuple[str, ...]
    results: tuple[str, ...]
    protected_reasons: frozenset[ProtectedReason]
    estimated_tokens: int
    origins: tuple[HistoryOrigin, ...]
    group_id: str

    @property
    def protected(self) -> bool:
        """Whether the entry itself is a reason to protect its group."""
        return bool(self.protected_reasons)


class TextFlaw(NamedTuple):
    """Why a message a callback added is not an acceptable new text message."""

    rule: Literal["fabricated_record", "blank_text", "unencodable_text", "system_altered"]
    detail: str


def fabricated(detail: str) -> TextFlaw:
    """Say that a new message holds what only a host or a provider may write."""
    return TextFlaw("fabricated_record", detail)


def flaw_of_texts(texts: Sequence[str]) -> TextFlaw | None:
    """Say why the texts of a new message are no words that can be sent, or None if they are."""
    if not texts or not all(text.strip() for text in texts):
        return TextFlaw("blank_text", "its text is empty or only white space; say something or leave it out")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        return TextFlaw("unencodable_text", f"its text cannot be written as UTF-8: {error.reason}")
    return None


class Dialect(Protocol[MessageT]):
    """How the core speaks to one framework's messages; every method is pure and leaves its arguments alone."""

    adapter_shortname: str
    merges_requests: bool
    """Whether the host may merge neighbouring request messages, so that their boundary means nothing."""

    def is_native(self, message: object) -> bool:
        """Tell whether `message` is one of the framework's own history messages."""
        ...

    def describe(self, message: MessageT) -> MessageFacts:
        """Read the facts off one native message.

        Raises:
            TypeError: it is no history message of the framework.
        """
        ...

    def estimate(self, message: MessageT) -> int:
        """Estimate its tokens from above: content, tool calls and media, by no tokenizer."""
        ...

    def digest(self, message: MessageT) -> bytes:
        """Return the 32-byte digest of its content, in a form that the host's own bookkeeping does not change."""
        ...

    def digests(self, messages: Sequence[MessageT]) -> list[bytes]:
        """Return the digest of each message; looking at many at a time may be faster."""
        ...

    def fingerprint(self, message: MessageT) -> bytes:
        """Return the 32-byte digest of all that `same` compares: equal for messages that are the same."""
        ...

    def clone(self, message: MessageT) -> MessageT:
        """Return a detached copy: no mutable object is shared."""
        ...

    def same(self, message: MessageT, other: MessageT) -> bool:
        """Tell whether two messages agree in type and every field, all the way down."""
        ...

    def dump(self, message: MessageT) -> bytes:
        """Write one message as UTF-8 JSON; writing again what `load` made of it gives the same bytes.

        Raises:
            TypeError: it holds something that JSON cannot carry; the error says what.
        """
        ...

    def load(self, data: bytes) -> MessageT:
        """Read one message that `dump` wrote; whatever the data says, nothing of it is executed.

        Raises:
            ValueError: the data is no JSON of one history message.
        """
        ...

    def name(self, message: MessageT) -> str | None:
        """Return the name the host keeps with this message for good, or None if it has none."""
        ...

    def carriers(self, message: MessageT) -> Sequence[object]:
        """Return the objects that carry its lineage: those that stay the same while the host keeps the content."""
        ...

    def origins(
        self, message: MessageT, run_id: str | None, location: str | None
    ) -> Sequence[tuple[object, tuple[HistoryOrigin, ...]]]:
        """List what the run that made this message knows about it, by carrier."""
        ...

    def text_message(self, text: str, role: TextRole) -> MessageT:
        """Build one native text message that carries nothing but its text."""
        ...

    def text_flaw(self, message: MessageT) -> TextFlaw | None:
        """Say why `message` is not a bare text message of the user or the assistant, or None if it is one."""
        ...

    def text(self, message: MessageT) -> str:
        """Return the text of a message that `text_message` or `checkpoint` built, for whoever reads about it."""
        ...

    def without_reasoning(self, message: MessageT) -> MessageT | None:
        """Return a copy without its reasoning, or None if nothing would be left to send."""
        ...

    def checkpoint(self, text: str, reference: str) -> MessageT:
        """Build the text message of the user's side that stands for an archived record, marked with `reference`."""
        ...

    def archived(self, message: MessageT) -> Sequence[str]:
        """Return the references of the records it stands for: of checkpoints, and of what a host merged with them."""
        ...

    def failed_calls(self, message: MessageT) -> Sequence[str]:
        """Return the ids of the tool calls that it answers with a failure, once for each answer."""
        ...


def native_messages(dialect: Dialect[MessageT], messages: Sequence[object]) -> list[MessageT]:
    """Return `messages` as a list of native messages; used where a host hands its history over.

    Raises:
        TypeError: one of them is not native; the message names its index and type.
    """
    if not all(map(dialect.is_native, messages)):
        index, kind = next((n, type(one).__name__) for n, one in enumerate(messages) if not dialect.is_native(one))
        msg = f"Message {index} is a {kind}, not a native message of the {dialect.adapter_shortname} adapter"
        raise TypeError(msg)
    return list(messages)  # type: ignore[arg-type]  # every item was just checked
