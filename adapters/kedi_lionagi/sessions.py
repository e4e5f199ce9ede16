"""A provider's own session, which a CLI model continues by itself once it has one.

There the provider keeps a history of its own and reads the last message only, whatever was compiled. So a model with a
session is refused, unless the caller says what to do with it; a turn that fails leaves the session as it was. Source:
Turn specification, D5.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

from kedi_compile import CompiledChatRequest, TurnCompileError

Session = Literal["refuse", "resume", "new"]
"""What to do with a model that continues a provider's session: refuse it, continue it, or begin another one."""


@contextmanager
def in_session(model: Any, turn: CompiledChatRequest, session: Session) -> Generator[None]:
    """Send a turn inside; what the model notes of a session meanwhile is undone if that fails.

    Raises:
        TurnCompileError: the model has a session, or the provider's arguments name one, and `session` says nothing.
    """
    if not model.is_cli:
        yield
        return
    before = model.provider_session_id
    named = turn.provider_kwargs.get("resume", before)
    if named is not None and session == "refuse":
        raise TurnCompileError(
            f"The model continues the provider's session {named!r}, which keeps a history of its own and would read "
            "the last message only. Pass session='resume' to continue it, or session='new' to begin one with the "
            "compiled history"
        )
    model.endpoint.session_id = None if session == "new" else before
    try:
        yield
    except BaseException:
        model.endpoint.session_id = before
        raise
