"""Secrets are replaced in every text of a dump before anything is written.

A replacement says what it stands for, `[redacted: bearer token]`, and nothing of the secret remains: neither its
beginning nor its length. The structure survives: a dump keeps its fields, numbers and closed words. What a secret
looks like is in `shapes.py`. A text is redacted whole, before anybody cuts it: half a key has no shape any more.

Not found are secrets in disguise: with invisible or look-alike characters within, encoded once more (base64 of a
key), spread over several texts, or words of prose that nothing names. Source: Assembly specification, Operational
observability.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from kedi_compile.errors import HistoryConfigurationError

from .schema import RequestDump
from .shapes import SHAPES, Shape

Redact = Callable[[str], str]
"""A redaction of the user's own: text in, text out; it may be called from any thread."""

FAILED: Final = "[redacted: the redaction failed]"
"""What stands in a text's place when a redaction of the user's own did not give one back."""

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replace known shapes of secrets, then run the user's own redactions in their order.

    Args:
        redact_with: What runs after the known shapes, on every text that is no closed word of the form.

    Raises:
        HistoryConfigurationError: one of them cannot be called.
    """

    redact_with: tuple[Redact, ...] = ()

    def __post_init__(self) -> None:
        for number, redact in enumerate(self.redact_with, start=1):
            _check_callable(number, redact)

    def redact(self, text: str) -> str:
        """Return `text` without its secrets, the same object where there are none; never raises.

        Where a redaction of the user's own raises, or returns no text, `FAILED` takes the place of the whole text.
        """
        return self._finish(_replace(text, _possible(text, SHAPES)))

    def redact_dump(self, dump: RequestDump) -> RequestDump:
        """Return `dump` with every text redacted, keys of mappings too; the same object where nothing changes.

        A text that is there several times is redacted once.
        """
        texts = dict.fromkeys(_texts(dump))
        redacted = {**texts, **_without_known_shapes(texts)}
        changes = {
            text: new
            for text, known in redacted.items()
            if (new := self._finish(text if known is None else known)) != text
        }
        return _rebuilt(dump, changes) if changes else dump

    def _finish(self, text: str) -> str:
        for redact in self.redact_with:
            redacted = _asked(redact, text)
            if redacted is None:
                return FAILED
            text = redacted
        return text


def redactor_of(redact: Redact | Sequence[Redact]) -> Redactor:
    """Return the redactor of what a `redact=` keyword was given: one callable, or several.

    Raises:
        HistoryConfigurationError: it is neither.
    """
    if callable(redact):
        return Redactor((redact,))
    _check_sequence(redact)
    return Redactor(tuple(redact))


def _check_sequence(redact: object) -> None:
    if isinstance(redact, str) or not isinstance(redact, Sequence):
        msg = f"`redact` is {redact!r}; it must be a callable that takes a text and returns one, or a sequence of such"
        raise HistoryConfigurationError(msg)


def _check_callable(number: int, redact: object) -> None:
    if not callable(redact):
        msg = f"Redaction {number} is {redact!r}; it must be a callable that takes a text and returns one"
        raise HistoryConfigurationError(msg)


def _asked(redact: Callable[[str], object], text: str) -> str | None:
    """Return what a redaction of the user's own makes of a text, None where that is no text."""
    try:
        redacted = redact(text)
    except Exception:  # noqa: BLE001  # whatever it is, the text must not get through, nor the request break
        return None
    return redacted if isinstance(redacted, str) else None


_ROUNDS: Final = 8

_CLEAN: Final[dict[str, None]] = {}
"""Short texts that were looked through and hold no known shape: most texts of a dump were in the one before it."""

_CLEAN_TEXTS: Final = 4_096
_CLEAN_LENGTH: Final = 2_000


def _without_known_shapes(texts: Iterable[str]) -> dict[str, str]:
    """Return those of `texts` that hold known shapes, with what they are without."""
    unknown = [text for text in texts if text not in _CLEAN]
    shapes = _possible("\n".join(unknown), SHAPES)
    redacted = {text: _replace(text, _possible(text, shapes)) for text in unknown}
    if len(_CLEAN) > _CLEAN_TEXTS:
        _CLEAN.clear()
    _CLEAN.update((text, None) for text, new in redacted.items() if new == text and len(text) <= _CLEAN_LENGTH)
    return {text: new for text, new in redacted.items() if new != text}


def _possible(text: str, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    lower = text.lower()
    return tuple(shape for shape in shapes if any(word in lower for word in shape.words))


def _replace(text: str, shapes: tuple[Shape, ...]) -> str:
    """Apply the table until nothing changes: a secret that ran into another one begins where that one was."""
    for _ in range(_ROUNDS):
        before = text
        for shape in shapes:
            text = shape.pattern.sub(_replacement(shape), text)
        if text == before:
            break
    return text


@cache
def _replacement(shape: Shape) -> Callable[[re.Match[str]], str]:
    def replacement(match: re.Match[str]) -> str:
        start, end = next((span for span in map(match.span, shape.groups) if span[0] >= 0), (-1, -1))
        whole, offset = match.group(), match.start()
        return whole if start < 0 else f"{whole[: start - offset]}[redacted: {shape.name}]{whole[end - offset :]}"

    return replacement


def _texts(dump: BaseModel) -> Iterator[str]:
    left: list[object] = [dump]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, BaseModel):
            left.extend(value.__dict__.values())
        elif isinstance(value, (tuple, list)):
            left.extend(value)
        elif isinstance(value, Mapping):
            left.extend(value)
            left.extend(value.values())


def _rebuilt(model: M, changes: Mapping[str, str]) -> M:
    closed = _closed(type(model))
    update: dict[str, object] = {}
    for name, value in model.__dict__.items():
        if name in closed and value in closed[name]:
            continue
        redacted = _redacted(value, changes)
        if redacted is not value:
            update[name] = redacted
    return model.model_copy(update=update) if update else model


def _redacted(value: object, changes: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return changes.get(value, value)
    if isinstance(value, BaseModel):
        return _rebuilt(value, changes)
    if isinstance(value, (tuple, list)):
        redacted = tuple(_redacted(inner, changes) for inner in value)
        return value if all(new is old for new, old in zip(redacted, value, strict=True)) else redacted
    if isinstance(value, Mapping):
        return _redacted_mapping(value, changes)
    return value


def _redacted_mapping(value: Mapping[str, object], changes: Mapping[str, str]) -> dict[str, object]:
    """Keys that are the same afterwards are numbered, so that no value gets lost."""
    redacted: dict[str, object] = {}
    for key, inner in value.items():
        name = new = changes.get(key, key)
        number = 1
        while name in redacted or (name != key and name in value):
            number += 1
            name = f"{new} ({number})"
        redacted[name] = _redacted(inner, changes)
    return redacted


@cache
def _closed(kind: type[BaseModel]) -> Mapping[str, frozenset[str]]:
    """The fields whose annotation lists their words, and those words."""
    annotations = {name: field.annotation for name, field in kind.model_fields.items()}
    return {
        name: frozenset(get_args(annotation))
        for name, annotation in annotations.items()
        if get_origin(annotation) is Literal
    }
