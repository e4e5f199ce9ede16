"""Names that every store can keep; the stores' own tests hold each method to them."""

from __future__ import annotations

from typing import Any

import pytest

from kedi_compile.errors import ConversationError
from kedi_compile.stores.names import check_digests, check_reference, check_session_id

ADVICE = "; use text of 1 to 512 characters that UTF-8 can write, without NUL"


@pytest.mark.parametrize("name", ["a", " ", "ü" * 512, "\U0010ffff", "\x01"])
def test_text_is_a_name(name: str) -> None:
    """Whatever is text of a fair length may be one."""
    check_session_id(name)
    check_reference(name)
    check_digests("a", [name, name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "'' is empty"),
        ("a\0b", "'a\\x00b' contains NUL"),
        ("ü\0", "'ü\\x00' contains NUL"),
        ("a\udfff", "'a\\udfff' contains a lone surrogate"),
        ("x" * 513, f"'{'x' * 60}…' has 513 characters"),
        (None, "None is of type NoneType"),
        (b"a", "b'a' is of type bytes"),
    ],
)
def test_what_is_no_name_is_shown(name: Any, said: str) -> None:
    """The message shows the name, what is wrong with it, and what would be right."""
    with pytest.raises(ConversationError) as session:
        check_session_id(name)
    with pytest.raises(ConversationError) as reference:
        check_reference(name)

    assert str(session.value) == f"The session id {said}{ADVICE}"
    assert str(reference.value) == f"The reference {said}{ADVICE}"
    assert (session.value.session_id, reference.value.session_id) == (name, None)


def test_a_wrong_digest_names_the_conversation() -> None:
    """The first one that cannot be kept is shown."""
    with pytest.raises(ConversationError, match="The digest '' is empty") as refused:
        check_digests("a", ["fine", ""])

    assert refused.value.session_id == "a"
