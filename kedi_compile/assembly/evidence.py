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
from kedi_compile.assembly.sources import Coverage, Extraction, Fidelity, Source
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
        self._keys: dict[str, Key] = {}  # of the current sources, by handle
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

        An anchor whose words do not stand in the body, as far as it is at hand, makes it a summary, whatever it says.

        Raises:
            UnknownInputError: it is no Extraction.
            AssemblyError: no current source has this handle.
        """
        typed(extraction, Extraction, f"The evidence ledger, as the extraction of {handle!r},")
        with self._lock:
            self._extractions[handle] = _as_faithful_as_it_is(extraction, self._find(handle))

    def snapshot(self) -> Evidence:
        """Return what the ledger holds now."""
        with self._lock:
            return Evidence(
                self._sources.current, dict(self._extractions), frozenset(self._rehydrated), self._sources.retired
            )

    def _record(self, source: Source) -> Source:
        typed(source, Source, "The evidence ledger")
        self._check_handles(source)
        old = self._sources.get(source.key)
        if old is not None and (old.handle, old.digest) != (source.handle, source.digest):
            self._forget(old)
        self._keys[source.handle] = source.key
        self._sources.put(source.key, source, "superseded by a newer record of the same path, version and coverage")
        return source

    def _check_handles(self, source: Source) -> None:
        """Refuse a handle that another source has, and a derivation that leads back to itself."""
        holder = self._at(source.handle)
        if holder is not None and holder.key != source.key:
            msg = (
                f"Two sources have the handle {source.handle!r}: {holder.path!r} and {source.path!r}; handles are "
                "unique"
            )
            raise AssemblyError(msg)
        way, at = [source.handle], source
        while at.derived_from is not None:
            way.append(at.derived_from)
            if at.derived_from in way[:-1]:
                msg = f"The handles are circular: {' -> '.join(way)}; a source is derived from another one that is not"
                raise AssemblyError(msg)
            parent = self._at(at.derived_from)
            if parent is None:
                return
            at = parent

    def _at(self, handle: str) -> Source | None:
        key = self._keys.get(handle)
        return None if key is None else self._sources.get(key)

    def _find(self, handle: str) -> Source:
        if (source := self._at(handle)) is not None:
            return source
        known = ", ".join(repr(source.handle) for source in self._sources.current[-SHOWN:]) or "none at all"
        msg = f"No current source has the handle {handle!r}; the newest are {known}"
        raise AssemblyError(msg)

    def _forget(self, source: Source) -> None:
        self._keys.pop(source.handle, None)
        self._extractions.pop(source.handle, None)
        self._rehydrated.discard(source.handle)


def _as_faithful_as_it_is(extraction: Extraction, source: Source) -> Extraction:
    """Label what is told in other words as a summary: nobody may take it for the source's own."""
    if source.body is None or all(anchor.text in source.body for anchor in extraction.anchors):
        return extraction
    return replace(extraction, fidelity=Fidelity.SUMMARISED)


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
