"""One request on its way to the dump: begun when it is made, written once its outcome is known.

A request that is refused, fails or is cancelled is written too. With `dump_errors="raise"` an answer that cannot be
written down is an error, and a request that fails anyway keeps its own. The clock and the ids are the adapters'. Where
dumps go is in `sink.py`. Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kedi_compile.errors import DumpError, KediError, error_text

from .schema import AssemblyDump, Outcome, RequestDump, UsageDump
from .sink import Sink


@dataclass(frozen=True, slots=True)
class Recorder:
    """What an adapter makes the records of its requests with; `now` gives seconds since 1970."""

    sink: Sink
    adapter: str
    new_id: Callable[[], str]
    now: Callable[[], float]

    def begin(
        self,
        *,
        model_id: str,
        request_index: int,
        run_id: str | None = None,
        conversation_id: str | None = None,
    ) -> RequestRecord:
        """Return the record of a request that begins now."""
        dump = RequestDump(
            request_id=self.new_id(),
            at=self.now(),
            run_id=run_id,
            conversation_id=conversation_id,
            request_index=request_index,
            adapter=self.adapter,
            model_id=model_id,
            outcome="answered",
        )
        return RequestRecord(self, dump)


_LEFT: Final = "The stream was left before its end"


class RequestRecord:
    """The record of one request; `history`, `assembly` and `lane` are filled in as they become known."""

    def __init__(self, recorder: Recorder, dump: RequestDump) -> None:
        self._recorder = recorder
        self._dump = dump
        self._is_written = False
        self.history = dump.history
        self.assembly: AssemblyDump | None = None
        self.lane: str | None = None

    def answered(self, usage: UsageDump) -> None:
        """Write that an answer came."""
        self._write("answered", None, usage)

    def left(self, usage: UsageDump) -> None:
        """Write that its caller left the stream of its answer before the end."""
        self._write("cancelled", _LEFT, usage)

    def sent(self) -> None:
        """Write that it was sent, where nobody sees what comes back."""
        self._write("sent", None, UsageDump())

    def failed(self, error: BaseException) -> None:
        """Write why none came; where that cannot be written, the error says so in a note, and goes on as itself."""
        self._write_error(_outcome(error), error)

    def given_up(self, error: BaseException) -> None:
        """Write that its caller gave it up, by an exception that is no failure; a note tells as in `failed`."""
        self._write_error("cancelled", error)

    def _write_error(self, outcome: Outcome, error: BaseException) -> None:
        try:
            self._write(outcome, _LEFT if isinstance(error, GeneratorExit) else error_text(error), UsageDump())
        except DumpError as unwritten:
            error.add_note(str(unwritten))

    def _write(self, outcome: Outcome, error: str | None, usage: UsageDump) -> None:
        if self._is_written:
            return
        self._is_written = True
        known = {
            "duration": max(0.0, self._recorder.now() - self._dump.at),
            "outcome": outcome,
            "error": error,
            "history": self.history,
            "lane": self.lane,
            "assembly": self.assembly,
            "usage": usage,
        }
        self._recorder.sink.put(self._dump.model_copy(update=known))


def _outcome(error: BaseException) -> Outcome:
    if not isinstance(error, Exception):
        return "cancelled"
    # A dump is written behind the request, so what was not written was sent.
    is_refused = isinstance(error, KediError) and not isinstance(error, DumpError)
    return "refused" if is_refused else "failed"
