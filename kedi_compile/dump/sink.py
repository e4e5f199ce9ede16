"""Where an adapter's dumps go: what its `dump=` keyword becomes.

Secrets are replaced on every way out. A dump that cannot be written costs one line in the log and never the request,
unless `dump_errors="raise"`. The file is in `file.py`. Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from kedi_compile.errors import DumpError, HistoryConfigurationError

from .file import DumpFile, line_of
from .redaction import Redact, Redactor, redactor_of
from .schema import RequestDump

Dump = str | os.PathLike[str] | DumpFile | Callable[[RequestDump], None]
"""Where dumps go: a path, a file, or a callable that takes each, already redacted."""

DumpErrors = Literal["warn", "raise"]

_LOGGER: Final = logging.getLogger("kedi_compile.dump")

_SAID: Final = 32
"""How many different failures a sink tells of."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Take the dump of every request, replace its secrets, and hand it to `write`; made by `sink_of`."""

    redactor: Redactor
    write: Callable[[RequestDump], object]
    errors: DumpErrors
    _said: dict[tuple[str, str], object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def put(self, dump: RequestDump) -> None:
        """Redact and write a dump, in the calling thread.

        Raises:
            DumpError: it was not written, and `dump_errors` is "raise".
        """
        try:
            _refuse_awaitable(self.write(self.redactor.redact_dump(dump)))
        except Exception as exc:
            if self.errors == "raise":
                msg = f"The dump of request {dump.request_id!r} was not written: {self._words(exc)}"
                raise DumpError(self.redactor.redact(msg)) from exc
            self._say(exc)

    def _say(self, exc: Exception) -> None:
        words = self._words(exc)
        token = object()
        # `setdefault` is one step: of two threads with the same failure, one speaks.
        if len(self._said) < _SAID and self._said.setdefault((type(exc).__qualname__, words), token) is token:
            last = "; further failures are not logged" if len(self._said) == _SAID else ""
            _LOGGER.warning("A request's dump was not written, and the request goes on: %s%s", words, last)

    def _words(self, exc: Exception) -> str:
        try:
            return self.redactor.redact(f"{type(exc).__qualname__}: {exc}")
        except Exception:  # noqa: BLE001  # an error that cannot say what it is must not break the request either
            return type(exc).__qualname__


def sink_of(
    dump: Dump | None,
    *,
    dump_errors: DumpErrors = "warn",
    redact: Redact | Sequence[Redact] = (),
) -> Sink | None:
    """Return the sink for what a `dump=` keyword was given, None for None.

    A path becomes a `DumpFile` with its defaults. The redactions of a `DumpFile` run before those of `redact`.

    Raises:
        HistoryConfigurationError: it is no such thing, or nothing can be written there.
    """
    if dump_errors not in get_args(DumpErrors):
        msg = f'`dump_errors` is {dump_errors!r}; it must be "warn" or "raise"'
        raise HistoryConfigurationError(msg)
    redactor = redactor_of(redact)
    if dump is None:
        if redactor.redact_with:
            msg = "`redact` is set without a `dump`; there is nothing that it would redact"
            raise HistoryConfigurationError(msg)
        return None
    if isinstance(dump, (str, os.PathLike)):
        dump = DumpFile(Path(dump))
    if isinstance(dump, DumpFile):
        lines = dump.lines
        redactor = Redactor((*dump.redactor.redact_with, *redactor.redact_with))
        return Sink(redactor, lambda redacted: lines.append(line_of(redacted)), dump_errors)
    _check_callable(dump)
    return Sink(redactor, dump, dump_errors)


def _check_callable(dump: object) -> None:
    if not callable(dump):
        msg = f"`dump` is {dump!r}; it must be a path, a `DumpFile`, or a callable that takes a `RequestDump`"
        raise HistoryConfigurationError(msg)
    if inspect.iscoroutinefunction(dump) or inspect.iscoroutinefunction(getattr(dump, "__call__", None)):  # noqa: B004
        msg = f"`dump` is {dump!r}, which is async; nobody would wait for it, so it must be a plain callable"
        raise HistoryConfigurationError(msg)


def _refuse_awaitable(result: object) -> None:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        msg = "the callable returned an awaitable, and nobody waits for it; it must be a plain callable"
        raise TypeError(msg)
