"""A provider's own session, which a CLI model continues by itself once it has one.

There the provider keeps a history of its own and reads the last message only, whatever was compiled. So a model with a
session is refused, unless the caller says what to do with it; a turn that fails leaves the session as it was. Source:
Turn specification, D5.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal, get_args

from kedi_compile import CompiledChatRequest, TurnCompileError

Session = Literal["refuse", "resume", "new"]
"""What to do with a model that continues a provider's session: refuse it, continue it, or begin another one."""


_NAMES = ("resume", "continue_conversation", "continue_recent")
"""Arguments of LionAGI's CLI providers that continue a session."""


@contextmanager
def in_session(model: Any, turn: CompiledChatRequest, session: Session) -> Generator[None]:
    """Send a turn inside; a session that was set aside for it comes back if that fails.

    Raises:
        TurnCompileError: the model has a session, or the provider's arguments name one, and `session` says nothing,
            or it is an unknown word.
    """
    if session not in get_args(Session):
        raise TurnCompileError(f"`session` is {session!r}; it must be one of {get_args(Session)}", path="session")
    if not model.is_cli:
        yield
        return
    before = model.provider_session_id
    _refuse_session(
        next((turn.provider_kwargs[name] for name in _NAMES if turn.provider_kwargs.get(name)), None), session
    )
    if session == "refuse":
        _refuse_session(before, session)
    ours = model.endpoint.session_id = None if session == "new" else before
    try:
        yield
    except BaseException:
        if model.endpoint.session_id == ours:  # else another turn has set its own meanwhile
            model.endpoint.session_id = before
        raise


def _refuse_session(named: object, session: Session) -> None:
    if named is not None and session != "resume":
        raise TurnCompileError(
            f"The call would continue the provider's session {named!r}, which keeps a history of its own and reads the "
            "last message only. Pass session='resume' to continue it, or session='new', and no session among the "
            "provider's arguments, to begin one with the compiled history",
            path="session",
        )
