"""The parts of README.md that a program makes: `python -m readme` writes them anew, a part of `make record`.

They are the first programs, what they and some others print, and what the command prints on 80 columns. In what it says
of a dump, times and ids of runs are filled in: they differ from run to run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"
FIRST: Final = ("first", "langchain_first", "turn_first", "conversation_first", "assembly_first", "dump_first")
"""The first programs, by their names in `examples`."""
OTHERS: Final = ("explain_history",)
"""Programs of which the output alone is shown."""
DUMP: Final = "run.jsonl"

_BLOCKS: Final = tuple(
    (re.compile(rf"(<!-- {re.escape(comment)} -->\n(````*){language}\n)(.*?)(^\2\n)", re.DOTALL | re.MULTILINE), name)
    for comment, language, name in (
        *((f"examples/{one}.py", "python", one) for one in FIRST),
        *((f"output of examples/{one}.py", "text", f"{one} output") for one in (*FIRST, *OTHERS)),
        ("kedi-compile inspect", "text", "inspect"),
        ("kedi-compile inspect, in part", "text", "inspect in part"),
        ("kedi-compile demo", "text", "demo"),
    )
)


def shown(text: str) -> dict[str, str]:
    """Return the made parts as a README shows them, by name."""
    found = {name: pattern.search(text) for pattern, name in _BLOCKS}
    return {name: match[3] for name, match in found.items() if match}


def made() -> dict[str, str]:
    """Make the parts."""
    files = {name: ROOT / "examples" / f"{name}.py" for name in FIRST}
    return {
        **{name: file.read_text(encoding="utf-8") for name, file in files.items()},
        **{f"{name} output": _printed(str(file)) for name, file in files.items()},
        **{f"{name} output": _printed(str(ROOT / "examples" / f"{name}.py")) for name in OTHERS},
        **_inspected(),
        "demo": _printed(*_COMMAND, "demo"),
    }


_COMMAND: Final = ("-m", "kedi_compile")


def _inspected() -> dict[str, str]:
    """Make what the command says of the dump of its own demo."""
    with TemporaryDirectory() as folder:
        dump = str(Path(folder) / DUMP)
        _printed(*_COMMAND, "demo", "--dump", dump)
        whole = _printed(*_COMMAND, "inspect", dump, "--request", "5")
        part = whole[whole.index("What went in") : whole.index("\nContracts\n")]
        return {"inspect": _filled_in(_printed(*_COMMAND, "inspect", dump)), "inspect in part": part}


def _filled_in(listed: str) -> str:
    """Return a list of requests with one day, one time, and ids of runs that count them."""
    runs = dict.fromkeys(re.findall(r"run ([0-9a-f-]{36})", listed))
    for number, run in enumerate(runs, 1):
        listed = listed.replace(run, f"01a22f58-0000-7000-8000-{number:012}")
    return re.sub(r"\d\d:\d\d:\d\d", "09:30:00", re.sub(r"\d{4}-\d\d-\d\d UTC", "2026-12-01 UTC", listed))


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
        text = pattern.sub(lambda match, name=name: f"{match[1]}{parts[name]}{match[4]}", text)  # type: ignore[misc]  # mypy cannot see the default
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
