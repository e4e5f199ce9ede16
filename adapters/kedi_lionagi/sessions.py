"""A provider's own session, which a CLI model continues by itself once it has one.

There the provider keeps a history of its own and reads the last message only, whatever was compiled. So a model with a
session is refused, unless the caller says what to do with it; a turn that fails leaves the session as it was. Source:
Turn specification, D5.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

from kedi_compile import CompiledChatRequest, TurnCompileError

Session = Literal["refuse", "resume", "new"]
"""What to do with a model that continues a provider's session: refuse it, continue it, or begin another one."""


_NAMES = ("resume", "continue_conversation", "continue_recent")
"""Arguments of LionAGI's CLI providers that continue a session."""


@dataclass
class _Endpoint:
    """What is known of an endpoint: the session it had after the last turn that succeeded, and the turns under way."""

    kept: Any = None
    turns: int = 0


_ENDPOINTS: WeakKeyDictionary[Any, _Endpoint] = WeakKeyDictionary()


@contextmanager
def in_session(model: Any, turn: CompiledChatRequest, session: Session) -> Generator[None]:
    """Send and record a turn inside; if that fails, the model has the session of the last turn that did not.

    A session that is set aside for one turn is still the model's for those beside it.

    Raises:
        TurnCompileError: the model has a session, or the provider's arguments name one, and `session` says nothing,
            or it is an unknown word.
    """
    if session not in get_args(Session):
        raise TurnCompileError(f"`session` is {session!r}; it must be one of {get_args(Session)}", path="session")
    if not model.is_cli:
        yield
        return
    endpoint = model.endpoint
    known = _ENDPOINTS.setdefault(endpoint, _Endpoint())
    if not known.turns:
        known.kept = endpoint.session_id
    _refuse_named(turn, session)
    if session == "refuse":
        _refuse_session(known.kept, session)
    endpoint.session_id = None if session == "new" else known.kept
    known.turns += 1
    try:
        yield
    except BaseException:
        endpoint.session_id = known.kept
        raise
    else:
        known.kept = endpoint.session_id
    finally:
        known.turns -= 1


def _refuse_named(turn: CompiledChatRequest, session: Session) -> None:
    named = (turn.provider_kwargs.get(name) for name in _NAMES)
    _refuse_session(next(filter(None, named), None), session)


def _refuse_session(named: object, session: Session) -> None:
    if named is not None and session != "resume":
        raise TurnCompileError(
            f"The call would continue the provider's session {named!r}, which keeps a history of its own and reads the "
            "last message only. Pass session='resume' to continue it, or session='new', and no session among the "
            "provider's arguments, to begin one with the compiled history",
            path="session",
        )
