"""The words the core and its dialects share: enumerations, frozen facts, and the check of what a host hands over."""

from dataclasses import FrozenInstanceError

import pytest

from kedi_compile import EntryKind, HistoryEntry, HistoryOrigin, ProtectedReason
from kedi_compile.dialect import Dialect, MessageFacts, native_messages
from toy import Message, Result, Subclassed, ToyDialect, answers, calls, says, user

DIALECT: Dialect[Message] = ToyDialect()
ENTRY = HistoryEntry(0, EntryKind.USER, "user", (), (), frozenset(), 3, (), "g1")


def test_protected_reasons_are_the_specified_words() -> None:
    """The reasons are these strings, in this order, and compare as strings."""
    assert [str(reason) for reason in ProtectedReason] == [
        "system",
        "guidance",
        "current_request",
        "pending_tool_call",
        "unfinished",
        "signed_reasoning",
        "provider_record",
        "checkpoint",
        "framework_state",
    ]


def test_entry_kinds_are_strings() -> None:
    """A kind can be compared with its word."""
    assert [str(kind) for kind in EntryKind] == ["tool_result", "assistant", "user", "system", "feedback", "state"]


def test_only_the_kind_of_an_origin_must_be_known() -> None:
    """Everything else about an origin may be None."""
    origin = HistoryOrigin("user")

    assert (origin.run_id, origin.source_location, origin.tool_name, origin.tool_call_id) == (None, None, None, None)


@pytest.mark.parametrize("value", [HistoryOrigin("user"), ENTRY])
def test_public_facts_are_frozen(value: object) -> None:
    """A callback cannot change what it is told."""
    with pytest.raises(FrozenInstanceError):
        value.kind = "assistant"  # type: ignore[attr-defined]  # the point of the test


def test_an_entry_is_protected_by_its_own_reasons() -> None:
    """`protected` of an entry says whether it is itself a reason."""
    reasons = frozenset({ProtectedReason.SYSTEM})

    assert not ENTRY.protected
    assert HistoryEntry(0, EntryKind.SYSTEM, "system", (), (), reasons, 3, (), "g1").protected


def test_facts_of_a_message_default_to_nothing() -> None:
    """A dialect names only what it found."""
    facts = MessageFacts(EntryKind.USER, "user")

    assert facts == (EntryKind.USER, "user", (), (), False, False, frozenset(), False)


def test_native_messages_are_handed_over_as_a_list() -> None:
    """The host's objects themselves are kept, in a list of its own."""
    messages = [user("a"), says("b"), Subclassed("user", "c")]

    checked = native_messages(DIALECT, tuple(messages))

    assert all(one is other for one, other in zip(checked, messages, strict=True))
    assert native_messages(DIALECT, messages) is not messages


@pytest.mark.parametrize(("stranger", "kind"), [({"role": "user"}, "dict"), ("text", "str"), (None, "NoneType")])
def test_a_message_that_is_not_native_is_named(stranger: object, kind: str) -> None:
    """The error says which message is no message of the framework, and what it is."""
    with pytest.raises(TypeError, match=f"^Message 1 is a {kind}, not a native message of the toy adapter$"):
        native_messages(DIALECT, [user("a"), stranger])


@pytest.mark.parametrize(
    "message", [user("hello", stamp=3), calls("c1"), answers("c1")], ids=["user", "call", "result"]
)
def test_what_a_dialect_writes_it_reads_back(message: Message) -> None:
    """The same message in every field, and again the same bytes."""
    data = DIALECT.dump(message)

    assert DIALECT.same(DIALECT.load(data), message)
    assert DIALECT.dump(DIALECT.load(data)) == data


def test_a_dialect_refuses_what_it_cannot_write_or_read() -> None:
    """Each with the error the protocol names."""
    with pytest.raises(TypeError):
        DIALECT.dump(Message("tool", results=[Result("c1", object())]))
    with pytest.raises(ValueError, match="The data is no toy message"):
        DIALECT.load(b"[]")
