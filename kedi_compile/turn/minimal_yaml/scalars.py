"""How a text may stand in YAML: by itself, in quotes, or as lines of a block.

The same questions that PyYAML's emitter asks of a text one character at a time, which takes a second for each
megabyte; here regular expressions ask them of the whole text. The tests hold both to the same answers. `BREAKS` are
the four line breaks of YAML 1.1.
"""

from __future__ import annotations

import re

import yaml

BREAKS = "\n\x85\u2028\u2029"

RESOLVERS = {first: list(found) for first, found in yaml.SafeDumper.yaml_implicit_resolvers.items()}
"""Which texts are read as another type, by their first character: a copy, since any program may add to PyYAML's."""

_BREAK = re.compile(f"[{BREAKS}]")
_SPECIAL = re.compile("[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]")
_BLANK_THEN_BREAK = re.compile(f" [{BREAKS}]")
_BREAK_THEN_BLANK = re.compile(f"[{BREAKS}] ")
_INDICATOR = re.compile(
    rf"""
    \A(?: --- | \.\.\. | [\#,\[\]{{}}&*!|>'"%@`] | [?:-](?=[\0\ \t\r{BREAKS}]|\Z) )
    | :(?=[\0\ \t\r{BREAKS}]|\Z)
    | (?<=[\0\ \t\r{BREAKS}])\#
    """,
    re.VERBOSE,
)
_FLOW_INDICATOR = re.compile(r"[,?\[\]{}:]")
_LINE_START = re.compile(f"(?:^|(?<=[{BREAKS}]))(?=[^{BREAKS}])")
_RUN_OF_BREAKS = re.compile(f"[{BREAKS}]+")
_ESCAPED = re.compile('["\\\\]|[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]')


def has_break(text: str) -> bool:
    """Tell whether a text has more than one line."""
    return _BREAK.search(text) is not None


def is_hard(text: str) -> bool:
    """Tell whether only double quotes can hold a text."""
    return _SPECIAL.search(text) is not None or _BLANK_THEN_BREAK.search(text) is not None


def may_be_single_quoted(text: str) -> bool:
    """Tell whether single quotes can hold a text that is not hard."""
    return _BREAK_THEN_BLANK.search(text) is None


def may_be_unquoted(text: str) -> bool:
    """Tell whether a text that is not hard and not empty needs no quotes, whatever type it may be read as."""
    padded = text[0] == " " or text[-1] == " "
    return not padded and not has_break(text) and _INDICATOR.search(text) is None


def may_be_unquoted_in_flow(text: str) -> bool:
    """Tell whether a text that needs no quotes needs none between brackets either."""
    return _FLOW_INDICATOR.search(text) is None


def is_read_as_text(text: str) -> bool:
    """Tell whether a text without quotes is read back as text, and not as a number, a date or a word of YAML."""
    return not any(pattern.match(text) for _, pattern in RESOLVERS.get(text[:1], ()))


def literal_hints(text: str) -> str:
    """Return what stands behind the bar of a literal block: an indent that is not evident, and how the text ends."""
    indent = "2" if text[0] in f" {BREAKS}" else ""
    if text[-1] not in BREAKS:
        return f"{indent}-"
    return f"{indent}+" if len(text) == 1 or text[-2] in BREAKS else indent


def indented(text: str, column: int) -> str:
    """Return a text with every line that is not empty moved to a column."""
    blanks = " " * column
    if text.isascii():  # LF is its only break
        return "\n".join([blanks + line if line else line for line in text.split("\n")])
    return _LINE_START.sub(blanks, text)


def single_quoted(text: str, column: int) -> str:
    """Return what stands between single quotes; a line that goes on does so at a column."""

    def go_on(breaks: re.Match[str]) -> str:
        lines = breaks[0]
        return ("\n" if lines[0] == "\n" else "") + lines + " " * column

    return _RUN_OF_BREAKS.sub(go_on, text.replace("'", "''"))


def double_quoted(text: str) -> str:
    """Return what stands between double quotes."""
    return _ESCAPED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if (short := yaml.SafeDumper.ESCAPE_REPLACEMENTS.get(char)) is not None:
        return f"\\{short}"
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004
