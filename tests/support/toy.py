"""A toy framework for the tests of the core: its message, its dialect, and short ways to build and edit a history.

One mutable dataclass can be everything a native message may be: text, tool calls and results, reasoning, provider
records, system text beside a user's. Nothing here decides anything that the core is tested for. The last part runs
one edit through the real session, so that a test says only which history and which callback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any, Literal

from kedi_compile import (
    EntryKind,
    HistoryOrigin,
    HistoryProcessingValidationError,
    HistoryProcessorContext,
    HistoryProcessorState,
    structure,
)
from kedi_compile.canonical import digest
from kedi_compile.dialect import MessageFacts, ProtectedReason, Role, TextFlaw, TextRole
from kedi_compile.history.archiving import Surroundings
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.detached import DetachedMessages
from kedi_compile.history.flow import Outcome, Staged, Unchanged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.proposal import Proposal, read_proposal
from kedi_compile.history.revision import Revision
from kedi_compile.session import RunSession


@dataclass
class Call:
    """A tool call."""

    call_id: str
    arguments: dict[str, Any] = field(default_factory=dict)
    name: str = "lookup"


FAILED: dict[str, Any] = {"failed": True}
"""What a tool that failed returns."""


@dataclass
class Result:
    """A tool result; `content` may be any object a tool returns."""

    call_id: str
    content: Any = "found"
    name: str = "lookup"


@dataclass(repr=False)
class Message:
    """One native message; `stamp` is the host's bookkeeping, everything else is content."""

    role: Role
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    reasoning: str = ""
    signature: str = ""
    system: str = ""
    feedback: str = ""
    provider: dict[str, Any] = field(default_factory=dict)
    checkpoint: bool = False
    framework: str = ""
    interrupted: bool = False
    message_id: str | None = None
    stamp: int = 0

    def __repr__(self) -> str:
        set_fields = [f"{name}={value!r}" for name, value in vars(self).items() if repr(value) != _UNSET.get(name)]
        return f"{type(self).__name__}({', '.join(set_fields)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show a failing example in a line, not in a column."""
        printer.text(repr(self))


_UNSET = {name: repr(value) for name, value in vars(Message("user")).items() if name not in ("role", "text")}


class Subclassed(Message):
    """A message of a class of the user's own."""


Context = HistoryProcessorContext[Message]
Edit = Callable[[Context], Any]

_BARE = frozenset({"role", "text", "stamp"})
_REASONS: dict[str, ProtectedReason] = {
    "system": ProtectedReason.SYSTEM,
    "signature": ProtectedReason.SIGNED_REASONING,
    "provider": ProtectedReason.PROVIDER_RECORD,
    "checkpoint": ProtectedReason.CHECKPOINT,
    "framework": ProtectedReason.FRAMEWORK_STATE,
    "interrupted": ProtectedReason.UNFINISHED,
}


class ToyDialect:
    """How the core reads and builds toy messages."""

    adapter_shortname = "toy"

    def __init__(self, *, merges_requests: bool = False) -> None:
        self.merges_requests = merges_requests

    def is_native(self, message: object) -> bool:
        return isinstance(message, Message)

    def describe(self, message: Message) -> MessageFacts:
        reasons = {reason for name, reason in _REASONS.items() if getattr(message, name)}
        if message.role == "system":
            reasons.add(ProtectedReason.SYSTEM)
        return MessageFacts(
            kind=_kind(message),
            role="tool" if message.results else message.role,
            calls=tuple(call.call_id for call in message.calls),
            results=tuple(result.call_id for result in message.results),
            authored=message.role in ("user", "tool") and bool(message.text),
            holds_system=ProtectedReason.SYSTEM in reasons,
            reasons=frozenset(reasons),
            bound=bool(message.signature),
        )

    def estimate(self, message: Message) -> int:
        return len(message.text) + len(message.reasoning) + sum(len(repr(item.content)) for item in message.results)

    def digest(self, message: Message) -> bytes:
        return digest(message, ignore=_bookkeeping)

    def digests(self, messages: Sequence[Message]) -> list[bytes]:
        return [self.digest(message) for message in messages]

    def fingerprint(self, message: Message) -> bytes:
        return digest(message)

    def clone(self, message: Message) -> Message:
        return structure.clone(message)

    def same(self, message: Message, other: Message) -> bool:
        return structure.same(message, other)

    def dump(self, message: Message) -> bytes:
        return json.dumps(asdict(message), separators=(",", ":")).encode()

    def load(self, data: bytes) -> Message:
        try:
            fields = json.loads(data)
            calls, results = fields.pop("calls"), fields.pop("results")
            return Message(
                calls=[Call(**call) for call in calls], results=[Result(**result) for result in results], **fields
            )
        except (AttributeError, LookupError, TypeError, RecursionError) as error:
            msg = f"The data is no toy message: {error}"
            raise ValueError(msg) from error

    def name(self, message: Message) -> None:
        """The toy's messages have no names."""

    def carriers(self, message: Message) -> tuple[Message]:
        return (message,)

    def origins(
        self, message: Message, run_id: str | None, location: str | None
    ) -> list[tuple[object, tuple[HistoryOrigin, ...]]]:
        kind: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        texts = (HistoryOrigin(kind, run_id, location),) if message.text else ()
        calls = (HistoryOrigin("tool-call", run_id, location, call.name, call.call_id) for call in message.calls)
        results = (HistoryOrigin("tool-result", run_id, location, item.name, item.call_id) for item in message.results)
        return [(message, (*texts, *calls, *results))]

    def text_message(self, text: str, role: TextRole) -> Message:
        return Message(role, text)

    def text_flaw(self, message: Message) -> TextFlaw | None:
        if message.system or message.role == "system":
            return TextFlaw("system_altered", "holds system text; system entries are not the callback's to add")
        if used := [name for name, value in vars(message).items() if name not in _BARE and value]:
            return TextFlaw("fabricated_record", f"sets {', '.join(used)}; build it with `ctx.text_message`")
        if message.role == "tool" or type(message) is not Message:
            return TextFlaw("fabricated_record", "is no text message; build it with `ctx.text_message`")
        if not message.text.strip():
            return TextFlaw("blank_text", "its text is empty or only white space; say something or leave it out")
        try:
            message.text.encode()
        except UnicodeEncodeError as error:
            return TextFlaw("unencodable_text", f"its text cannot be written as UTF-8: {error.reason}")
        return None

    def text(self, message: Message) -> str:
        return message.text

    def without_reasoning(self, message: Message) -> Message | None:
        bare = replace(message, reasoning="", signature="")
        return bare if bare.text or bare.calls else None

    def checkpoint(self, text: str, reference: str) -> Message:
        return Message("user", text, checkpoint=True, message_id=reference)

    def archived(self, message: Message) -> list[str]:
        return [message.message_id] if message.checkpoint and message.message_id else []

    def failed_calls(self, message: Message) -> list[str]:
        return [result.call_id for result in message.results if result.content == FAILED]


def _bookkeeping(cls: type) -> frozenset[str]:
    return frozenset({"stamp"}) if issubclass(cls, Message) else frozenset()


def _kind(message: Message) -> EntryKind:
    if message.results:
        return EntryKind.TOOL_RESULT
    if message.role == "assistant":
        return EntryKind.ASSISTANT
    if message.role == "system":
        return EntryKind.SYSTEM
    if message.text:
        return EntryKind.USER
    return EntryKind.FEEDBACK if message.feedback else EntryKind.STATE


def user(text: str, **more: Any) -> Message:
    """Return a user message."""
    return Message("user", text, **more)


def says(text: str, **more: Any) -> Message:
    """Return an assistant message."""
    return Message("assistant", text, **more)


def system(text: str = "Be brief.") -> Message:
    """Return a system message."""
    return Message("system", text)


def calls(*call_ids: str, **more: Any) -> Message:
    """Return an assistant message that opens tool calls, each with a nested argument."""
    return Message("assistant", calls=[Call(call_id, {"query": {"words": [call_id]}}) for call_id in call_ids], **more)


def answers(*call_ids: str, text: str = "", **more: Any) -> Message:
    """Return a message that answers tool calls, with user text beside them if given."""
    return Message("tool", text, results=[Result(call_id, {"rows": [call_id]}) for call_id in call_ids], **more)


def feedback(text: str = "Try again.") -> Message:
    """Return feedback of the host to the model, which no user wrote."""
    return Message("user", feedback=text)


def talk(*topics: str) -> list[Message]:
    """Return one closed cycle per topic."""
    return [message for topic in topics for message in (user(f"About {topic}?"), says(f"It is {topic}."))]


def loop(call_id: str, topic: str = "tools") -> list[Message]:
    """Return one closed cycle with a tool exchange."""
    return [user(f"Look up {topic}."), calls(call_id), answers(call_id), says(f"Found {topic}.")]


NOW = "And now?"
_references = count(1)
SURROUNDINGS = Surroundings(lambda: f"ref-{next(_references)}", lambda: 0.0)
"""New references, and a clock that stands still."""

INFO = RequestInfo("toy:small", 1, run_id="run-1", model_names=("small",))


def session(
    processor: Edit | None = None, condition: Callable[[HistoryProcessorState], Any] | None = None, **options: Any
) -> RunSession[Message]:
    """Return the session of one run; without a processor it only describes histories."""
    dialect = ToyDialect(merges_requests=options.pop("merges_requests", False))
    reports = options.pop("reports", False)
    policy = HistoryPolicy(processor, condition, **options)
    return RunSession(policy, dialect, owner=policy, surroundings=SURROUNDINGS, reports=reports)


def revision(messages: Sequence[Message], **options: Any) -> Revision[Message]:
    """Describe a history apart from any run."""
    return session(**options).revision(messages)


def spans_of(messages: Sequence[Message], **options: Any) -> list[tuple[int, int]]:
    """Return the half-open bounds of each group."""
    return [(group.entry_start, group.entry_end) for group in revision(messages, **options).groups]


def context_of(messages: Sequence[Message], **options: Any) -> Context:
    """Return what a processor is given for the first request of a run."""
    seen: list[Context] = []

    def look(ctx: Context) -> Sequence[Message]:
        seen.append(ctx)
        return ctx.messages

    run_edit(messages, look, **options)
    return seen[0]


def propose(messages: Sequence[Message], edit: Edit, **options: Any) -> Proposal[Message]:
    """Return what the core understands of an edit."""
    context = context_of(messages, **options)
    handed_out = context.messages
    assert isinstance(handed_out, DetachedMessages)
    return read_proposal(edit(context), handed_out, context._revision)  # noqa: SLF001  # what the flow itself reads


def run_edit(messages: Sequence[Message], processor: Edit, **options: Any) -> Outcome[Message]:
    """Run one edit through a session on a synchronous path."""
    return session(processor, **options).edit_sync(messages, INFO)


def result_of(messages: Sequence[Message], processor: Edit, **options: Any) -> list[Message]:
    """Return what would be sent: the accepted edit, or the history as it was."""
    outcome = run_edit(messages, processor, **options)
    if isinstance(outcome, Staged):
        return list(outcome.messages)
    assert isinstance(outcome, Unchanged)
    return list(messages)


def broken_by(messages: Sequence[Message], processor: Edit, **options: Any) -> list[str]:
    """Return the names of the rules an edit breaks, in order, each once; none if it is accepted."""
    try:
        run_edit(messages, processor, **options)
    except HistoryProcessingValidationError as error:
        return list(dict.fromkeys(violation.rule for violation in error.violations))
    return []


def two_talks() -> list[Message]:
    """Return two closed groups and the current request, as objects of their own."""
    return [*talk("a", "b"), user(NOW)]


class Host:
    """An imaginary host that makes one request after another in one run."""

    def __init__(self, processor: Edit, **options: Any) -> None:
        self.session = session(processor, **options)
        self.messages = two_talks()
        self.step = 0

    def ask(self) -> Outcome[Message]:
        """Edit the next request, and keep what was staged as the history."""
        self.step += 1
        outcome = self.session.edit_sync(self.messages, replace(INFO, request_index=self.step))
        if isinstance(outcome, Staged):
            self.messages = list(outcome.messages)
        return outcome

    def answer(self, response: Message, *after: Message, tokens: int | None = None) -> None:
        """Send the request, take the response, and add what follows it."""
        self.session.sent()
        self.session.observe(self.messages, response, tokens, replace(INFO, request_index=self.step))
        self.messages += [response, *after]
