"""`EvidenceLedger`: the current sources of a task, their extractions, and what is to be shown word for word again.

The ledger belongs to the caller and lives as long as the task does; a request sees a snapshot of it. A record of the
same path, version and coverage replaces the older one. Source: Assembly specification, Dynamic frame requirements,
Context budget and rehydration.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kedi_compile.assembly.records import Records, Retired
from kedi_compile.assembly.sources import Coverage, Extraction, Source, by_handle
from kedi_compile.assembly.typed import typed
from kedi_compile.errors import SHOWN, AssemblyError

Key = tuple[str, str, Coverage | None]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a ledger held at one moment, by which a request is compiled."""

    sources: tuple[Source, ...] = ()
    extractions: Mapping[str, Extraction] = field(default_factory=dict)
    rehydrated: frozenset[str] = frozenset()
    retired: tuple[Retired[Source], ...] = ()


class EvidenceLedger:
    """The sources of one task; safe for threads, and shared by as many requests as there are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: Records[Key, Source] = Records(_without_body)
        self._extractions: dict[str, Extraction] = {}
        self._rehydrated: set[str] = set()

    def record(self, source: Source) -> Source:
        """Make a source current, in the place of one with the same path, version and coverage.

        What was extracted from it, and whether it is rehydrated, stays while its handle and body do.

        Raises:
            UnknownInputError: it is no Source.
            AssemblyError: another source has its handle, or its `derived_from` leads back to itself.
        """
        with self._lock:
            return self._record(source)

    def supersede(self, source: Source) -> Source:
        """Make a source current, and retire the other versions of its path: a file that was read again, for example.

        Raises:
            UnknownInputError: it is no Source.
            AssemblyError: another source has its handle, or its `derived_from` leads back to itself.
        """
        with self._lock:
            self._record(source)
            for other in self._sources.current:
                if other.path == source.path and other.version != source.version:
                    self._forget(other)
                    self._sources.drop(other.key, f"superseded by version {source.version} of the same path")
        return source

    def retire(self, handle: str, reason: str) -> None:
        """Take a source out of what is current.

        Raises:
            AssemblyError: no current source has this handle.
        """
        with self._lock:
            source = self._find(handle)
            self._forget(source)
            self._sources.drop(source.key, reason)

    def rehydrate(self, handle: str, body: str | None = None) -> Source:
        """Have the exact text of a source shown again from the next request on.

        `body` is the text where the ledger does not hold it; it must be what the record was made with.

        Raises:
            AssemblyError: no current source has this handle, its text is not at hand, or `body` is another text.
        """
        with self._lock:
            source = self._find(handle)
            whole = _with_body(source, body)
            self._sources.amend(source.key, whole)
            self._rehydrated.add(handle)
        return whole

    def extracted(self, handle: str, extraction: Extraction) -> None:
        """Keep what was extracted from a source; it is shown where the body is not.

        Raises:
            UnknownInputError: it is no Extraction.
            AssemblyError: no current source has this handle.
        """
        typed(extraction, Extraction, f"The evidence ledger, as the extraction of {handle!r},")
        with self._lock:
            self._find(handle)
            self._extractions[handle] = extraction

    def snapshot(self) -> Evidence:
        """Return what the ledger holds now."""
        with self._lock:
            return Evidence(
                self._sources.current, dict(self._extractions), frozenset(self._rehydrated), self._sources.retired
            )

    def _record(self, source: Source) -> Source:
        typed(source, Source, "The evidence ledger")
        others = [one for one in self._sources.current if one.key != source.key]
        _check_ancestry(source, by_handle([*others, source]))
        old = self._sources.get(source.key)
        if old is not None and (old.handle, old.digest) != (source.handle, source.digest):
            self._forget(old)
        self._sources.put(source.key, source, "superseded by a newer record of the same path, version and coverage")
        return source

    def _find(self, handle: str) -> Source:
        for source in self._sources.current:
            if source.handle == handle:
                return source
        known = ", ".join(repr(source.handle) for source in self._sources.current[-SHOWN:]) or "none at all"
        msg = f"No current source has the handle {handle!r}; the newest are {known}"
        raise AssemblyError(msg)

    def _forget(self, source: Source) -> None:
        self._extractions.pop(source.handle, None)
        self._rehydrated.discard(source.handle)


def _without_body(source: Source) -> Source:
    """What is kept of a retired source: its identity, for whoever asks later; its text may be long."""
    return replace(source, body=None)


def _with_body(source: Source, body: str | None) -> Source:
    if source.body is None and body is None:
        msg = f"The text of {source.handle!r} is not at hand; {source.recovery_path}, and give it as `body`"
        raise AssemblyError(msg)
    if body is None or body == source.body:
        return source
    if source.body is not None:
        msg = f"The text given for {source.handle!r} is not the one it was recorded with; record it as another version"
        raise AssemblyError(msg)
    return replace(source, body=body)


def _check_ancestry(source: Source, sources: Mapping[str, Source]) -> None:
    path = [source.handle]
    while (parent := sources.get(path[-1])) is not None and parent.derived_from is not None:
        path.append(parent.derived_from)
        if path.count(path[-1]) > 1:
            msg = f"The handles are circular: {' -> '.join(path)}; a source is derived from another one that is not"
            raise AssemblyError(msg)
