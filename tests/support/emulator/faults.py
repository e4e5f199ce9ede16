"""Faults on demand: a status instead of an answer, a stream that breaks, an answer that waits.

A fault belongs to a request by its number, counted from 1 over all requests to a model. Nothing sleeps: a
waiting answer goes on when its gate is opened.
"""

from dataclasses import dataclass, field
from threading import Event as Flag


@dataclass(frozen=True, slots=True)
class Failure:
    """An error answer; the client may retry it only if `should_retry`."""

    status: int
    message: str
    should_retry: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A place in an answer where the server waits.

    `reached` is set when the server waits there; `open` lets it go on.
    """

    after: int
    reached: Flag = field(default_factory=Flag)
    _opened: Flag = field(default_factory=Flag)

    def open(self) -> None:
        """Let the answer go on."""
        self._opened.set()

    def wait(self) -> None:
        """Say that the place is reached and wait until the gate is open."""
        self.reached.set()
        self._opened.wait()


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults by request number; `cuts` holds after how many events a stream breaks."""

    failures: dict[int, Failure] = field(default_factory=dict)
    cuts: dict[int, int] = field(default_factory=dict)
    gates: dict[int, Gate] = field(default_factory=dict)

    def release(self) -> None:
        """Open every gate."""
        for gate in self.gates.values():
            gate.open()
