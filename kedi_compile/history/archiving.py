"""One request's archiving: what is written, stored and, if the request fails, released again.

What may be archived is decided in `archive.py`; the flow asks for the storing as it asks for callbacks. A fault of one
exchange keeps that exchange, a fault of the store keeps them all; either is a `HistoryProcessingWarning`, and the
request goes on. References and the time come from the host, because the core makes neither.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from kedi_compile.errors import HistoryConfigurationError, HistoryProcessingWarning, entries_text
from kedi_compile.history.archive import ArchivePlan, Exchange
from kedi_compile.history.archive_record import write_record
from kedi_compile.history.archive_settings import HistoryArchiveSettings
from kedi_compile.history.revision import Revision


class Surroundings(NamedTuple):
    """What a host gives to a session that archives: unguessable references, and the time in seconds."""

    new_reference: Callable[[], str]
    clock: Callable[[], float]


class Archiving:
    """The archive of one session; `stored` names the records of the current request, `kept` those of earlier ones."""

    def __init__(self, settings: HistoryArchiveSettings, surroundings: Surroundings | None) -> None:
        if surroundings is None:
            msg = "`history_archive` needs references and a clock; give the session its `surroundings`"
            raise HistoryConfigurationError(msg)
        self.settings = settings
        self.stored: list[str] = []
        self.kept: list[str] = []
        self._surroundings = surroundings
        self._faults: list[str] = []

    def begin(self) -> None:
        """Begin a request: what earlier ones stored stays."""
        self.kept += self.stored
        self.stored = []
        self._faults = []

    def new_reference(self) -> str:
        """Return a reference for a record."""
        return self._surroundings.new_reference()

    def write(self, revision: Revision[Any], plan: ArchivePlan) -> tuple[ArchivePlan | None, bytes]:
        """Write the plan's entries as a record; an exchange that cannot be written is left out of both."""
        written: dict[int, bytes] = {}
        exchanges = []
        for exchange in plan.exchanges:
            if (dumped := self._dump(revision, exchange)) is not None:
                exchanges.append(exchange)
                written.update(dumped)
        if not exchanges:
            return None, b""
        name = revision.dialect.adapter_shortname
        return plan._replace(exchanges=tuple(exchanges)), write_record(name, [written[n] for n in sorted(written)])

    def _dump(self, revision: Revision[Any], exchange: Exchange) -> dict[int, bytes] | None:
        """Return the bytes of its messages by entry, or note why they cannot be written."""
        try:
            return {entry: revision.dialect.dump(revision.messages[entry]) for entry in exchange}
        except (TypeError, ValueError) as error:
            self._faults.append(f"The tool exchange in {entries_text(exchange)} stays in the history: {error}")
            return None

    def is_worth_it(self, revision: Revision[Any], plan: ArchivePlan, checkpoint: Any) -> bool:
        """Tell whether the plan saves what the settings ask for, the checkpoint counted."""
        saved = sum(revision.tokens[entry] for entry in plan.entries) - revision.count(checkpoint)
        return saved >= self.settings.minimum_reduction_tokens

    def announce(self, reference: str) -> None:
        """Note that a record is about to be stored, so that a cancelled request releases it."""
        self.stored.append(reference)

    def store(self, record: tuple[str, bytes]) -> Exception | None:
        """Store a record under its reference, and return what went wrong; may block."""
        try:
            self.settings.keep(*record, self._surroundings.clock())
        except Exception as error:  # noqa: BLE001  # whatever a store raises, the history stays as it is
            return error
        return None

    def confirm(self, answer: object) -> bool:
        """Take the answer of `store`, and tell whether the record is there; if not, it is a fault to warn of."""
        if not isinstance(answer, Exception):
            return True
        self.stored.pop()
        self._faults.append(f"Nothing was archived: the store raised {type(answer).__name__}: {answer}")
        return False

    def warn(self) -> None:
        """Say what went wrong, once."""
        faults, self._faults = self._faults, []
        for fault in faults:
            _warn(fault)

    def give_up(self) -> Callable[[], None]:
        """Forget what the current request stored, and return what releases it; calling that may block."""
        stored, self.stored = self.stored, []
        return lambda: _release(self.settings, stored)

    def give_up_all(self) -> Callable[[], None]:
        """Do what `give_up` does with the records of all requests."""
        self.stored, self.kept = [*self.kept, *self.stored], []
        return self.give_up()


def _release(settings: HistoryArchiveSettings, references: list[str]) -> None:
    for reference in references:
        try:
            settings.release(reference)
        except Exception as error:  # noqa: BLE001  # the request has failed already, and its error is the one to see
            _warn(f"A record of a failed request was not released: {type(error).__name__}: {error}")


def _warn(fault: str) -> None:
    warnings.warn(
        f"{fault}. Silence with warnings.filterwarnings('ignore', category=HistoryProcessingWarning)",
        HistoryProcessingWarning,
        stacklevel=3,
    )
