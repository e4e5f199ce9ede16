"""A source of evidence: what was read, from where, how much of it, and how faithfully.

Coverage says which part of the source a record speaks of, fidelity whether its body is that part word for word. The
exact text of a source is never altered: it is shown whole, or not at all. Which sources are current is in
`evidence.py`. Source: Assembly specification, Dynamic frame requirements, Context budget and rehydration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal

from kedi_compile.assembly.typed import typed
from kedi_compile.assembly.wording import check_optional, check_text, check_texts, digest_of, fence_of
from kedi_compile.errors import AssemblyError


class Fidelity(StrEnum):
    """Whether a body is the covered part word for word, picked out of it, or told in other words."""

    FULL = "full"
    EXTRACTED = "extracted"
    SUMMARISED = "summarised"


class Visibility(StrEnum):
    """Whether the model sees the body in this request, saw it in an earlier tail that is sent again, or does not."""

    VISIBLE = "visible"
    VISIBLE_EARLIER = "visible_earlier"
    NOT_VISIBLE = "not_visible"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a record came from: a tool call, a path, or a person; `at` is in seconds since 1970.

    Raises:
        AssemblyError: it names nothing, or a text is no UTF-8.
    """

    tool_call_id: str | None = None
    path: str | None = None
    author: str | None = None
    at: float | None = None

    def __post_init__(self) -> None:
        if not (self.tool_call_id or self.path or self.author):
            msg = "A provenance names a tool call, a path, or an author; this one names nothing"
            raise AssemblyError(msg)
        for name in ("tool_call_id", "path", "author"):
            check_optional(getattr(self, name), f"`Provenance.{name}`")

    @property
    def is_tool(self) -> bool:
        """Whether a tool call produced it, so that nobody vouches for what it says."""
        return self.tool_call_id is not None

    def __str__(self) -> str:
        named = (("tool call", self.tool_call_id), ("path", self.path), ("author", self.author))
        return ", ".join(f"{kind} {name}" for kind, name in named if name)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of a source: all of it, or ranges of lines (1-based, both ends included) or bytes (`[start, end)`).

    Lines end in line feeds. A body that covers lines holds each with its line feed, which only the last may lack; so
    a last line that is blank keeps its own.

    Raises:
        AssemblyError: the unit is unknown, or the ranges are no numbers, empty, reversed, or overlap.
    """

    unit: Literal["whole", "lines", "bytes"] = "whole"
    ranges: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        is_known = self.unit in ("whole", "lines", "bytes") and self._are_numbers()
        if not is_known or (self.unit == "whole") == bool(self.ranges) or not self._is_in_order():
            msg = (
                f"The coverage {self.unit} {list(self.ranges)!r} is none: it takes the whole and no ranges, or ranges "
                "that ascend and do not overlap, lines from 1 with both ends included, bytes from 0 without the end"
            )
            raise AssemblyError(msg)

    def _are_numbers(self) -> bool:
        pairs: Any = self.ranges
        return isinstance(pairs, tuple) and all(
            isinstance(pair, tuple) and [type(end) for end in pair] == [int, int] for pair in pairs
        )

    def _is_in_order(self) -> bool:
        end = 0  # the last line, or byte, of the range before
        for start, stop in self.ranges:
            least = end + 1 if self.unit == "lines" else end
            if start < least or stop < start + (self.unit == "bytes"):
                return False
            end = stop
        return True

    @classmethod
    def whole(cls) -> Coverage:
        """Return the coverage of a whole source."""
        return cls()

    @classmethod
    def lines(cls, *ranges: tuple[int, int]) -> Coverage:
        """Return the coverage of ranges of lines, 1-based, both ends included."""
        return cls("lines", ranges)

    @classmethod
    def bytes(cls, *ranges: tuple[int, int]) -> Coverage:
        """Return the coverage of ranges of bytes, 0-based, without their ends."""
        return cls("bytes", ranges)

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the source is left out."""
        return self.unit == "whole"

    @property
    def size(self) -> int | None:
        """How many lines or bytes the ranges hold; None for a whole source."""
        if self.is_whole:
            return None
        return sum(end - start + (1 if self.unit == "lines" else 0) for start, end in self.ranges)

    def __str__(self) -> str:
        if self.is_whole:
            return "whole"
        return f"{self.unit} {', '.join(f'{start}-{end}' for start, end in self.ranges)}"


@dataclass(frozen=True)
class Source:
    """One source record; its key is path, version and coverage.

    - `path`: what was read: a file, a URL, the name of a result.
    - `version`: which one of it: a commit, an etag, a digest.
    - `body`: the exact text of the covered part; None where only the identity is at hand.
    - `coverage`, `visibility`: None says that nobody knows, which the compiler refuses; `NOT_VISIBLE` keeps the body
      out of the request until it is rehydrated.
    - `requested`: a bounded full read that was asked for; it is reduced last.
    - `extract`: asks for an extraction in place of the body.
    - `size`: the bytes of the whole source as UTF-8, where they are known: a body that covers the whole has as many,
      and no range of bytes goes beyond.
    - `is_cached`: the result of a cache: its body must be visible, or `durable_handle` must say where it is.
    - `derived_from`: the handle of the source that this one was extracted or summarised from.
    - `recovery`: how the exact text can be had again; a sentence of its own where there is none.

    Raises:
        AssemblyError: a text is blank, is no str, or is no UTF-8, or `size` is negative.
        UnknownInputError: another value is of another type.
    """

    path: str
    version: str
    body: str | None
    provenance: Provenance
    coverage: Coverage | None = Coverage()
    visibility: Visibility | None = Visibility.VISIBLE
    fidelity: Fidelity = Fidelity.FULL
    requested: bool = False
    extract: bool = False
    size: int | None = None
    is_cached: bool = False
    durable_handle: str | None = None
    derived_from: str | None = None
    recovery: str | None = None

    def __post_init__(self) -> None:
        check_text(self.path, "The path of a source")
        check_text(self.version, f"The version of source {self.path!r}")
        if self.body is not None:
            check_text(self.body, f"The body of source {self.path!r}", may_be_blank=True)
        for name in ("durable_handle", "derived_from", "recovery"):
            check_optional(getattr(self, name), f"`{name}` of source {self.path!r}")
        for name, kind in _KINDS.items():
            if (value := getattr(self, name)) is not None or name in ("provenance", "fidelity"):
                typed(value, kind, f"`{name}` of source {self.path!r}")
        if self.size is not None and (type(self.size) is not int or self.size < 0):
            msg = f"`size` of source {self.path!r} is {self.size!r}; it is a number of bytes, 0 or more"
            raise AssemblyError(msg)

    @cached_property
    def handle(self) -> str:
        """The name that the record goes by: its durable handle, or its key."""
        return self.durable_handle or f"{self.path}@{self.version}#{self.coverage or 'unknown'}"

    @cached_property
    def digest(self) -> str | None:
        """The sha256 of the body, in hexadecimal; None without one."""
        return None if self.body is None else digest_of(self.body)

    @cached_property
    def fence(self) -> str:
        """What the body can stand between, so that nothing in it ends the quotation; empty without one."""
        return "" if self.body is None else fence_of(self.body)

    @property
    def key(self) -> tuple[str, str, Coverage | None]:
        """What is current once: path, version, and coverage."""
        return self.path, self.version, self.coverage

    @property
    def is_unhandled(self) -> bool:
        """Whether it is the result of a cache that nothing but its body stands for."""
        return self.is_cached and self.durable_handle is None

    @property
    def recovery_path(self) -> str:
        """How the exact text can be had again; the same record gives the same words."""
        part = "all of it" if self.coverage is None or self.coverage.is_whole else str(self.coverage)
        return self.recovery or f"read {self.path} again at version {self.version}, {part}"


_KINDS: Final[Mapping[str, type]] = MappingProxyType(
    {"provenance": Provenance, "coverage": Coverage, "visibility": Visibility, "fidelity": Fidelity}
)
"""Field of a source -> what it must be."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in a source that matters: where (for example `lines 10-12`), and its words, exactly.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    where: str
    text: str

    def __post_init__(self) -> None:
        check_text(self.where, "`Anchor.where`")
        check_text(self.text, f"The text of the anchor {self.where!r}")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extraction callback returns in place of a body.

    `satisfied` and `unresolved` are requirements, by id or in words. An extraction is never `FULL`; it is `EXTRACTED`
    only as long as its anchors are the source's own words.

    Raises:
        AssemblyError: it says nothing, is labelled full, or a text is no UTF-8.
        UnknownInputError: an anchor or the fidelity is of another type.
    """

    anchors: tuple[Anchor, ...] = ()
    satisfied: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    summary: str = ""
    fidelity: Fidelity = Fidelity.EXTRACTED
    recovery: str | None = None

    def __post_init__(self) -> None:
        for anchor in self.anchors:
            typed(anchor, Anchor, "`Extraction.anchors`")
        check_text(self.summary, "The summary of an extraction", may_be_blank=True)
        check_texts(self.satisfied, "The satisfied requirements of an extraction")
        check_texts(self.unresolved, "The unresolved requirements of an extraction")
        check_optional(self.recovery, "The recovery path of an extraction")
        typed(self.fidelity, Fidelity, "`Extraction.fidelity`")
        if self.fidelity is Fidelity.FULL:
            msg = "An extraction is labelled full; it is extracted or summarised, and the source itself is full"
            raise AssemblyError(msg)
        if not self.anchors and not self.summary.strip() and not self.unresolved:
            msg = "An extraction holds no anchor, no summary and no unresolved requirement; say at least one of them"
            raise AssemblyError(msg)


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """What an extraction callback is given: the source and the questions to it, and nothing of the conversation."""

    source: Source
    objective: str
    requirements: tuple[str, ...]
    reason: Literal["overwhelming", "requested"]
    room: int | None
    """Tokens there would be for the result; None for any number."""
