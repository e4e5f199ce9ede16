"""Contracts as markdown files with YAML front matter, one file a contract.

    ---
    id: verification
    version: "2"
    phases: [verify]          # optional; or explicit_only: true
    ---
    Run the checks before you say that something works.

Source: Assembly specification, Contract selection policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kedi_compile.assembly.contract import Contract
from kedi_compile.errors import AssemblyError

_FRONT = re.compile(r"\A---[ \t]*\n(?P<front>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELDS: Final[dict[str, type | tuple[type, ...]]] = {
    "id": str,
    "version": (str, int),
    "phases": list,
    "explicit_only": bool,
}
"""Field -> what it must be."""
_RIGHT: Final = {
    "id": "text",
    "version": "text or a whole number",
    "phases": "a list of names",
    "explicit_only": "true or false",
}


def read_folder(folder: Path) -> Iterator[Contract]:
    """Yield the contract of each `*.md` file of a folder, by name.

    Raises:
        AssemblyError: there is no such folder, it holds no such file, one of them is no contract, or two have one id.
    """
    files = sorted(folder.glob("*.md")) if folder.is_dir() else []
    if not files:
        why = "holds no *.md file" if folder.is_dir() else "is no folder"
        msg = f"{folder} {why}; contracts are markdown files with YAML front matter"
        raise AssemblyError(msg)
    seen: dict[str, Path] = {}
    for file in files:
        contract = read_contract(file)
        if (other := seen.setdefault(contract.id, file)) is not file:
            msg = f"{file}: the id {contract.id!r} is that of {other} too; ids name one contract each"
            raise AssemblyError(msg)
        yield contract


def read_contract(file: Path) -> Contract:
    """Read one file.

    Raises:
        AssemblyError: it is no contract; the message names the file and what is wrong with it.
    """
    front, body = _split(file)
    if missing := [name for name in ("id", "version") if name not in front]:
        msg = f"{file}: the front matter lacks {' and '.join(missing)}"
        raise AssemblyError(msg)
    try:
        return Contract(
            front["id"],
            str(front["version"]),
            body,
            frozenset(front.get("phases", ())),
            explicit_only=front.get("explicit_only", False),
        )
    except AssemblyError as error:
        msg = f"{file}: {error}"
        raise AssemblyError(msg) from error


def _split(file: Path) -> tuple[Mapping[str, Any], str]:
    text = _text(file)
    match = _FRONT.match(text)
    if match is None:
        msg = f"{file}: it must begin with front matter between two lines of ---"
        raise AssemblyError(msg)
    try:
        front = yaml.safe_load(match["front"])
        _check_keys(match["front"], file)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        msg = f"{file}: the front matter is no YAML: {' '.join(str(error).split())[:200]}"
        raise AssemblyError(msg) from error
    _check_fields(front, file)
    return front, text[match.end() :]


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        msg = f"{file}: it is no UTF-8 at byte {error.start}"
        raise AssemblyError(msg) from error
    except OSError as error:
        msg = f"{file}: it cannot be read: {error.strerror}"
        raise AssemblyError(msg) from error


def _check_keys(front: str, file: Path) -> None:
    node = yaml.compose(front, Loader=yaml.SafeLoader)
    keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    if twins := sorted({str(key) for key in keys if keys.count(key) > 1}):
        msg = f"{file}: the front matter gives {' and '.join(twins)} more than once"
        raise AssemblyError(msg)


def _is_right(name: str, value: object) -> bool:
    if not isinstance(value, _FIELDS[name]):
        return False
    is_flag = name == "version" and isinstance(value, bool)
    return not is_flag and (not isinstance(value, list) or all(isinstance(one, str) for one in value))


def _check_fields(front: object, file: Path) -> None:
    if not isinstance(front, dict):
        msg = f"{file}: the front matter is {type(front).__name__}, and must be a mapping with id and version"
        raise AssemblyError(msg)
    for name, value in front.items():
        if name not in _FIELDS:
            msg = f"{file}: the front matter has the unknown field {name!r}; known are {', '.join(_FIELDS)}"
            raise AssemblyError(msg)
        if not _is_right(name, value):
            msg = f"{file}: {name} is {value!r}, and must be {_RIGHT[name]}"
            raise AssemblyError(msg)
