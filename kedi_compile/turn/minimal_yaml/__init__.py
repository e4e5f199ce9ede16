"""Minimal YAML: block style, insertion order, no wrapping, no anchors, empty parts left out.

PyYAML's pure Python emitter decides every byte. Two ways around its slowest parts give the same bytes: `_Dumper`
analyses and writes a text at once (`scalars.py`), and everyday values need no emitter at all (`layout.py`). Source:
Turn specification, D2.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml
from yaml.emitter import ScalarAnalysis

from kedi_compile.errors import TurnCompileError

from . import layout, scalars
from .plain import Members, plain

_WIDTH = 2**31 - 1


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, with whole texts analysed and written at once.

    The layout is fixed: block style, indent 2, unlimited width, Unicode as it is. So a text is never split, and no
    plain text ever holds a break. Which words are read as another type is PyYAML's own table, whatever else a program
    adds to it.
    """

    yaml_implicit_resolvers = scalars.RESOLVERS

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        if not scalar:
            return super().analyze_scalar(scalar)
        hard = scalars.is_hard(scalar)
        unquoted = not hard and scalars.may_be_unquoted(scalar)
        return ScalarAnalysis(
            scalar=scalar,
            empty=False,
            multiline=scalars.has_break(scalar),
            allow_flow_plain=unquoted and scalars.may_be_unquoted_in_flow(scalar),
            allow_block_plain=unquoted,
            allow_single_quoted=not hard and scalars.may_be_single_quoted(scalar),
            allow_double_quoted=True,
            allow_block=not hard and scalar[-1] != " ",
        )

    def write_plain(self, text: str, split: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        if self.root_context:
            self.open_ended = True
        if text:
            self._write(text if self.whitespace else f" {text}")
            self.whitespace = self.indention = False

    def write_single_quoted(self, text: str, split: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
        self.write_indicator("'", need_whitespace=True)
        self._write(scalars.single_quoted(text, self.indent or 0))
        self.write_indicator("'", need_whitespace=False)

    def write_double_quoted(self, text: str, split: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
        self.write_indicator('"', need_whitespace=True)
        self._write(scalars.double_quoted(text))
        self.write_indicator('"', need_whitespace=False)

    def write_literal(self, text: str) -> None:
        hints = scalars.literal_hints(text)
        self.write_indicator(f"|{hints}", need_whitespace=True)
        self.open_ended = hints.endswith("+")
        self.write_line_break()
        self.stream.write(scalars.indented(text, self.indent or 0))
        self.write_line_break("" if text[-1] in scalars.BREAKS else None)

    def _write(self, text: str) -> None:
        last = max(map(text.rfind, scalars.BREAKS))
        self.column = len(text) - last - 1 if last >= 0 else self.column + len(text)
        self.stream.write(text)


def _represent_str(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _represent_members(dumper: _Dumper, members: Members) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:set", dict.fromkeys(members))


_Dumper.add_representer(str, _represent_str)
_Dumper.add_representer(Members, _represent_members)


def minimal_yaml(value: Any, root: str = "") -> str:
    """Return a value as minimal YAML; every line ends in LF. `root` is the name of the place, for messages.

    Raises:
        TurnCompileError: a part of the value cannot be written; `path` is the way to it.
    """
    return write(plain(value, root))


def write(pruned: Any) -> str:
    """Return what `plain` made of a value, as YAML.

    Raises:
        TurnCompileError: the emitter refuses the value.
    """
    try:
        with suppress(layout.NeedsEmitter):
            return layout.write(pruned)
        return _dump(pruned)
    except Exception as exc:  # a time's own zone may raise anything
        raise TurnCompileError(f"A value cannot be written ({type(exc).__name__}: {exc})") from exc


def _dump(pruned: Any) -> str:
    text: str = yaml.dump(
        pruned,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        indent=2,
        width=_WIDTH,
    )
    return text
