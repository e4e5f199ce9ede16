"""`ConversationCheckpoint`: a conversation as one piece of JSON that travels.

It is sealed by a digest over everything in it, so what was cut, changed or mixed is refused before any of it is used.
Measured usage has a digest of its own history, so it counts for that history alone and is dropped where another hand
has edited or extended it. Resources and origins never travel. Source: History specification, Context Budget Accounting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import Field

from kedi_compile.conversation.head import Count, HeadModel, Name, Strict, check_version, parse
from kedi_compile.conversation.records import check_records
from kedi_compile.errors import ConversationError

FORMAT: Final = "kedi_compile.conversation"


class _Sealed(Strict):
    """The JSON of a checkpoint; a record is text, so that its bytes stay what they are."""

    format: Literal["kedi_compile.conversation"]
    session_id: str | None = None
    head: HeadModel
    entries: Annotated[dict[Name, str], Field(default_factory=dict)]
    digest: Name


@dataclass(frozen=True, slots=True)
class ConversationCheckpoint:
    """A conversation between two turns: what each lane holds, its generation, and the usage measured on it.

    `entries` are the messages' JSON records by name. Nothing in it is shared with the conversation it came from.
    """

    session_id: str | None
    head: HeadModel
    entries: Mapping[str, bytes] = field(repr=False)

    @property
    def turns(self) -> int:
        """How many turns were committed, in all lanes."""
        return sum(lane.turns for lane in self.head.lanes)

    def to_json(self) -> str:
        """Return it as JSON text, with the digest that seals it."""
        texts = {name: record.decode() for name, record in self.entries.items()}
        sealed = _Sealed(format=FORMAT, session_id=self.session_id, head=self.head, entries=texts, digest=_seal(self))
        return sealed.model_dump_json()

    @classmethod
    def from_json(cls, text: str | bytes) -> ConversationCheckpoint:
        """Read what `to_json` returned; nothing in it is executed, and no message is built yet.

        Raises:
            ConversationError: it is damaged, truncated, foreign, or of a newer version.
        """
        _check_text(text)
        _refuse_newer(text)
        sealed = parse(_Sealed, text)
        checkpoint = cls(sealed.session_id, sealed.head, {name: one.encode() for name, one in sealed.entries.items()})
        check_records((name for lane in sealed.head.lanes for name in lane.entries), checkpoint.entries)
        if _seal(checkpoint) != sealed.digest:
            msg = "The checkpoint is not what was sealed: its digest does not fit; take the one that was saved"
            raise ConversationError(msg, session_id=sealed.session_id)
        return checkpoint


def _check_text(text: object) -> None:
    if not isinstance(text, (str, bytes)):
        msg = f"`from_json` was given a {type(text).__name__}; pass the text that `to_json` returned"
        raise ConversationError(msg)


class _Version(Strict):
    version: Count = 1


class _Versioned(Strict):
    """Just enough to know the version, whose other fields may mean anything."""

    format: str = ""
    head: _Version = _Version()


def _refuse_newer(text: str | bytes) -> None:
    found = parse(_Versioned, text)
    if found.format == FORMAT:
        check_version(found.head.version)


def _seal(checkpoint: ConversationCheckpoint) -> str:
    """The digest over all that is in it: the records by their names, which are digests themselves.

    What is as in a new lane is left out, so that a field to come breaks no seal of today.
    """
    head = checkpoint.head.model_dump_json(exclude_defaults=True)
    parts = [FORMAT, json.dumps(checkpoint.session_id), head, *sorted(checkpoint.entries)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
