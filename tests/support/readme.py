"""The parts of README.md that a program makes: `python -m readme` writes them anew, a part of `make record`.

They are the first programs, what they print, and what the demo prints on 80 columns.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"
FIRST: Final = ("first", "langchain_first", "turn_first", "conversation_first")
"""The first programs, by their names in `examples`."""

_BLOCKS: Final = (
    *((re.compile(rf"(<!-- examples/{one}\.py -->\n```python\n)(.*?)(```)", re.DOTALL), one) for one in FIRST),
    *(
        (re.compile(rf"(<!-- output of examples/{one}\.py -->\n```text\n)(.*?)(```)", re.DOTALL), f"{one} output")
        for one in FIRST
    ),
    (re.compile(r"(<!-- kedi-compile demo -->\n```text\n)(.*?)(```)", re.DOTALL), "demo"),
)


def shown(text: str) -> dict[str, str]:
    """Return the made parts as a README shows them, by name."""
    found = {name: pattern.search(text) for pattern, name in _BLOCKS}
    return {name: match[2] for name, match in found.items() if match}


def made() -> dict[str, str]:
    """Make the parts."""
    files = {name: ROOT / "examples" / f"{name}.py" for name in FIRST}
    return {
        **{name: file.read_text(encoding="utf-8") for name, file in files.items()},
        **{f"{name} output": _printed(str(file)) for name, file in files.items()},
        "demo": _printed("-c", "from kedi_compile.cli import main; main()", "demo"),
    }


def _printed(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            **{name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PYTHONWARNINGS")},
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]),
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "80",
            "NO_COLOR": "1",
        },
        check=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def table(text: str, heading: str) -> Mapping[str, str]:
    """Return the rows of the table under a heading: the first column without its backquotes, and the second."""
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    return {first.strip().strip("`"): second.strip() for first, second in rows[2:]}


def programs(text: str) -> Sequence[str]:
    """Return the pieces of Python that are no file of the project."""
    return re.findall(r"(?<!py -->\n)```python\n(.*?)```", text, re.DOTALL)


def main() -> None:
    """Write the parts into README.md."""
    text, parts = README.read_text(encoding="utf-8"), made()
    for pattern, name in _BLOCKS:
        text = pattern.sub(lambda match, name=name: f"{match[1]}{parts[name]}{match[3]}", text)  # type: ignore[misc]  # mypy cannot see the default
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
