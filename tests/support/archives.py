"""What an archived history has to be, whatever framework its messages are of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from kedi_compile import HistoryArchiveSettings
from kedi_compile.dialect import Dialect
from kedi_compile.history.archive_record import own_references, read_record
from kedi_compile.history.flow import Staged

MessageT = TypeVar("MessageT")


def check_nothing_is_lost(
    dialect: Dialect[MessageT],
    messages: Sequence[MessageT],
    loop: Collection[int],
    settings: HistoryArchiveSettings,
    outcome: Staged[MessageT],
) -> None:
    """Check that what is not in the record stayed, the same objects in the same order, around one checkpoint.

    `loop` are the entries of the group that is open, the only ones that may go.

    Raises:
        AssertionError: something is neither there nor in the record, or has moved.
    """
    (reference,) = own_references(dialect, outcome.messages)
    record = settings.find(reference, now=0.0)
    assert isinstance(record, bytes)
    kept = [entry for entry in outcome.entries if entry is not None]
    gone = [message for entry, message in enumerate(messages) if entry not in kept]
    assert list(read_record(record)) == list(map(dialect.dump, gone))
    assert kept == sorted(kept)
    assert outcome.entries.count(None) == 1
    pairs = zip(outcome.messages, outcome.entries, strict=True)
    assert all(message is messages[entry] for message, entry in pairs if entry is not None)
    assert set(range(len(messages))) - set(kept) <= set(loop)
