"""An archived record as bytes, and what a model is told that reads one.

The rule: the first line is a JSON header with the SHA-256 of the rest; each further line is the JSON of one native
message, the very bytes its dialect wrote. A page is a stretch of these lines as text: all pages together are the whole
record, character for character. A model reads only what a checkpoint in its own history names. Source: History
specification, Persistence and Continuation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar, assert_never

from kedi_compile.dialect import Dialect
from kedi_compile.history.archive_settings import HistoryArchiveSettings
from kedi_compile.stores.protocol import Gone

MessageT = TypeVar("MessageT")

READ_ARCHIVE: Final = "read_archive"
"""The name of the tool that reads records."""

READ_ARCHIVE_DESCRIPTION: Final = (
    "Read archived tool exchanges of this conversation back, word for word. A checkpoint in the conversation names the "
    "reference; long records have several pages, counted from 1."
)

_FORMAT: Final = "kedi_compile.archive"
_VERSION: Final = 1


def write_record(adapter_shortname: str, messages: Sequence[bytes]) -> bytes:
    """Write dumped messages, none of which may hold a line break, as one record."""
    body = b"\n".join(messages)
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "adapter": adapter_shortname,
        "messages": len(messages),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + body


def read_record(record: bytes) -> tuple[bytes, ...]:
    """Return the dumped messages of a record, the very bytes that were written.

    Raises:
        ValueError: it is no record of this version, or was changed.
    """
    head, _, body = record.partition(b"\n")
    try:
        header = json.loads(head)
    except (ValueError, RecursionError) as error:
        msg = "The data does not begin with the header of an archived record"
        raise ValueError(msg) from error
    if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (_FORMAT, _VERSION):
        msg = f"The data is no archived record of version {_VERSION}"
        raise ValueError(msg)
    if header.get("sha256") != hashlib.sha256(body).hexdigest():
        msg = "The archived record was changed after it was written"
        raise ValueError(msg)
    return tuple(body.split(b"\n"))


def own_references(dialect: Dialect[MessageT], messages: Iterable[MessageT]) -> frozenset[str]:
    """Return the references that the checkpoints of a history name."""
    return frozenset(chain.from_iterable(map(dialect.archived, messages)))


def read_archive(
    settings: HistoryArchiveSettings, reference: str, page: int, *, now: float, own: Collection[str]
) -> str:
    """Answer a model that reads page `page` (1-based) of a record; may block.

    `own` holds the references that its own history names. Whatever is wrong is said in the answer. Raises whatever
    the store raises.
    """
    if reference not in own:
        return f"There is no archive {reference!r} in this conversation; use a reference that a checkpoint names."
    found = settings.find(reference, now)
    if isinstance(found, Gone):
        return f"Archive {reference!r} {_why_gone(found)} Go on without it."
    try:
        text = b"\n".join(read_record(found)).decode()
    except ValueError as error:
        return f"Archive {reference!r} is damaged and cannot be read: {error}."
    return _page(reference, text, page, settings.page_characters)


def _page(reference: str, text: str, page: int, size: int) -> str:
    pages = -(-len(text) // size)
    if not 1 <= page <= pages:
        return f"Archive {reference!r} has {pages} page{'s' if pages != 1 else ''}; there is no page {page}."
    head = f"Archive {reference!r}, page {page} of {pages}, one message a line:\n"
    return head + text[(page - 1) * size : page * size]


def _why_gone(gone: Gone) -> str:
    match gone:
        case Gone.RELEASED:
            return "was released; its text is gone for good."
        case Gone.EXPIRED:
            return "has expired; its text is gone for good."
        case Gone.UNKNOWN:
            return "is not in this program's archive; its text cannot be read here."
        case _:
            assert_never(gone)
