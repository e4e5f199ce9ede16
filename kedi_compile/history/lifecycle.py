"""The legal moves of one model request, as a table.

    IDLE      -> INSPECTED
    INSPECTED -> SKIPPED | EDITING | FAILED        the condition said no / yes / raised or gave no bool
    EDITING   -> UNCHANGED | STAGED | FAILED       a no-op keeps identity / the rules proved the edit / refused
    SKIPPED, UNCHANGED, STAGED -> SENT | FAILED    only these three may reach the transport
    SENT      -> ANSWERED | FAILED
    ANSWERED  -> IDLE | COMMITTED | FAILED         next step of the loop / end of the run / the host dropped the answer
    FAILED    -> (nothing)                         there is no road from a failure to the wire

A move that is not listed is a bug in the caller and raises `RuntimeError`.
"""

from __future__ import annotations

from enum import Enum, auto


class RequestState(Enum):
    """Where one model request stands."""

    IDLE = auto()
    INSPECTED = auto()
    SKIPPED = auto()
    EDITING = auto()
    UNCHANGED = auto()
    STAGED = auto()
    SENT = auto()
    ANSWERED = auto()
    COMMITTED = auto()
    FAILED = auto()


_S = RequestState

MOVES: dict[RequestState, frozenset[RequestState]] = {
    _S.IDLE: frozenset({_S.INSPECTED}),
    _S.INSPECTED: frozenset({_S.SKIPPED, _S.EDITING, _S.FAILED}),
    _S.EDITING: frozenset({_S.UNCHANGED, _S.STAGED, _S.FAILED}),
    _S.SKIPPED: frozenset({_S.SENT, _S.FAILED}),
    _S.UNCHANGED: frozenset({_S.SENT, _S.FAILED}),
    _S.STAGED: frozenset({_S.SENT, _S.FAILED}),
    _S.SENT: frozenset({_S.ANSWERED, _S.FAILED}),
    _S.ANSWERED: frozenset({_S.IDLE, _S.COMMITTED, _S.FAILED}),
    _S.COMMITTED: frozenset(),
    _S.FAILED: frozenset(),
}


class Lifecycle:
    """The state of one request; `move` is the only way to change it."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = RequestState.IDLE

    @property
    def state(self) -> RequestState:
        """Where the request stands."""
        return self._state

    def may(self, target: RequestState) -> bool:
        """Tell whether `target` is a legal next state."""
        return target in MOVES[self._state]

    def move(self, target: RequestState) -> None:
        """Enter `target`.

        Raises:
            RuntimeError: the table does not list the move.
        """
        if not self.may(target):
            allowed = ", ".join(sorted(state.name for state in MOVES[self._state])) or "nothing"
            msg = f"A request that is {self._state.name} cannot become {target.name}; possible is {allowed}"
            raise RuntimeError(msg)
        self._state = target
