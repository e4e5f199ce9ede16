"""The names a store takes: session ids, references and digests.

A name is text that every database can keep and find again, the same rule for all stores, so that a conversation may
move from one to another: not empty, at most 512 characters, no NUL (PostgreSQL refuses it), and no lone surrogate
(UTF-8 has none).
"""

from __future__ import annotations

from collections.abc import Iterable

from kedi_compile.errors import ConversationError

LONGEST = 512
"""Characters; with four bytes each, a name and a digest still fit into one entry of a PostgreSQL index."""

_SHOWN = 60
"""How many characters of a name an error shows."""


def is_utf8(text: str) -> bool:
    """Tell whether text can be written as UTF-8, which has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def check_session_id(session_id: str) -> None:
    """Refuse a session id that not every store can keep.

    Raises:
        ConversationError: it is no name; the message says what is wrong with it.
    """
    _check("session id", session_id, session_id=session_id)


def check_reference(reference: str) -> None:
    """Refuse a reference that not every store can keep; raises as `check_session_id` does."""
    _check("reference", reference)


def check_digests(session_id: str, digests: Iterable[str]) -> None:
    """Refuse digests that not every store can keep; raises as `check_session_id` does."""
    for digest in digests:
        _check("digest", digest, session_id=session_id)


def _check(what: str, name: object, *, session_id: str | None = None) -> None:
    if (fault := _fault(name)) is not None:
        shown = repr(name if not isinstance(name, str) or len(name) <= _SHOWN else name[:_SHOWN] + "…")
        raise ConversationError(
            f"The {what} {shown} {fault}; use text of 1 to {LONGEST} characters that UTF-8 can write, without NUL",
            session_id=session_id,
        )


def _fault(name: object) -> str | None:
    if not isinstance(name, str):
        return f"is of type {type(name).__name__}"
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name)} characters"
    if not is_utf8(name):
        return "contains a lone surrogate"
    return "contains NUL" if "\0" in name else None
