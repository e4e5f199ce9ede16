"""The neutral message: its roles, and what it holds."""

from dataclasses import FrozenInstanceError, fields

import pytest

from kedi_compile import CompiledMessage
from kedi_compile.message import MessageRole


def test_a_role_is_its_text() -> None:
    """A role goes into a provider's request as it is."""
    assert [str(role) for role in MessageRole] == ["system", "user", "assistant", "action", "unset"]
    assert MessageRole.USER.value == "user"


def test_a_message_is_a_role_and_content_and_nothing_else() -> None:
    """No id and no metadata of a record has a place in a message."""
    assert [item.name for item in fields(CompiledMessage)] == ["role", "content"]
    assert not hasattr(CompiledMessage(MessageRole.USER, "Hi."), "__dict__")


def test_a_messages_fields_are_not_reassigned() -> None:
    """What was compiled stays what was compiled."""
    message = CompiledMessage(MessageRole.USER, "Hi.")

    with pytest.raises(FrozenInstanceError):
        message.content = "Bye."  # type: ignore[misc]  # the point of the test


def test_messages_are_equal_by_role_and_content() -> None:
    """Two compilations can be compared as they are."""
    assert CompiledMessage(MessageRole.USER, "Hi.") == CompiledMessage(MessageRole.USER, "Hi.")
    assert CompiledMessage(MessageRole.USER, "Hi.") != CompiledMessage(MessageRole.ASSISTANT, "Hi.")
