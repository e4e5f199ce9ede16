"""Who may import whom: this table is the documentation, and the source files are held to it.

A file belongs to the room that its path names. Beside the table: no cycles, no framework in the core, no clock, no
random id and no environment there, no adapter behind the root package, and no file over 400 lines.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "kedi_compile"
ADAPTERS = ROOT / "adapters"

ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "message": set(),
    "structure": set(),
    "canonical": {"errors", "structure"},
    "dialect": {"errors"},
    "turn": {"errors", "message"},
    "stores": {"errors", "canonical"},
    "dump": {"errors"},
    "tokens": set(),
    "question": set(),
    "telemetry": {"errors"},
    "history": {"errors", "structure", "canonical", "dialect", "stores", "dump", "question", "telemetry"},
    "assembly": {"errors", "message", "canonical", "dump", "question", "tokens"},
    "conversation": {"errors", "canonical", "dialect", "stores", "history"},
    "session": {
        *("errors", "structure", "canonical", "dialect", "tokens", "question", "history", "assembly", "dump"),
    },
    "assembled_turn": {"errors", "turn", "assembly"},
    "__init__": {
        *("errors", "message", "dialect", "turn", "history", "conversation", "assembly", "assembled_turn", "dump"),
    },
    "demo": {"__init__", "errors", "history", "assembly", "dump", "kedi_pydantic_ai"},
    "explain": {"__init__", "errors", "dialect", "history", "session", "kedi_langchain", "kedi_pydantic_ai"},
    "report": {"errors", "dump"},
    "cli": {"__init__", "demo", "explain", "report"},
    "__main__": {"cli"},
    "kedi_langchain": {
        *("__init__", "structure", "canonical", "dialect", "tokens", "question", "turn", "history", "assembly"),
        *("dump", "conversation", "session"),
    },
    "kedi_lionagi": {"__init__", "turn", "conversation"},
    "kedi_pydantic_ai": {
        *("__init__", "structure", "canonical", "dialect", "tokens", "question", "turn", "history", "assembly"),
        *("dump", "conversation", "session"),
    },
}
"""Room -> the rooms of the package it may import. The root's public names count as `__init__`."""

LIBRARIES: dict[str, set[str]] = {
    **{room: set() for room in ("errors", "message", "structure", "canonical", "dialect", "tokens", "question")},
    **{room: set() for room in ("session", "assembled_turn", "__init__")},
    "turn": {"pydantic", "pydantic_core", "yaml"},
    "stores": {"sqlalchemy"},
    "history": {"anyio"},
    "telemetry": {"opentelemetry"},
    "conversation": {"anyio", "pydantic"},
    "dump": {"pydantic", "orjson"},
    "assembly": {"orjson", "yaml"},
    "demo": {"pydantic_ai", "anthropic", "httpx2", "rich"},
    "explain": {"langchain_core", "pydantic", "pydantic_ai", "rich"},
    "report": {"rich", "jinja2", "markupsafe", "plotly"},
    "cli": {"typer", "rich"},
    "__main__": set(),
    "kedi_langchain": {"langchain", "langchain_core", "langgraph", "orjson"},
    "kedi_lionagi": {"lionagi", "anyio"},
    "kedi_pydantic_ai": {"pydantic_ai", "orjson"},
}
"""Room -> the libraries it may import beside the standard library."""

OUTSIDE = {"time", "uuid", "random", "secrets", "os", "socket", "getpass", "platform"}
"""What would let the core read a clock, make an id, or look at its surroundings."""

NAMES_ONLY = {("structure", "uuid"), ("errors", "uuid"), ("turn", "uuid")}
"""Places that name a type of such a module and call nothing."""

FORKS = {("stores", "os")}
"""The room that must know when its process is forked, because a connection belongs to one process."""

APPENDS = {("dump", "os")}
"""The room that writes a file: several processes append to it, a write a line, which `open` cannot do."""

MAKES_RECORDS = CORE / "turn" / "records.py"
"""The one file of the core that may: a record built without an id and a time is given both."""

FRAMEWORK_FREE = (
    "errors",
    "message",
    "structure",
    "canonical",
    "dialect",
    "turn",
    "stores",
    "dump",
    "tokens",
    "question",
    "telemetry",
    "history",
    "assembly",
    "assembled_turn",
    "conversation",
    "session",
    "__init__",
)
FOLDERS = ("kedi_compile", "adapters", "tests", "examples", "benchmarks")
PACKAGES = ("kedi_compile", "kedi_langchain", "kedi_lionagi", "kedi_pydantic_ai")


def room_of(path: Path) -> str:
    """Return the room a source file belongs to."""
    if path.is_relative_to(ADAPTERS):
        return path.relative_to(ADAPTERS).parts[0]
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def room_of_module(module: str) -> str:
    """Return the room a module name belongs to."""
    package, _, rest = module.partition(".")
    return package if package != "kedi_compile" else rest.partition(".")[0] or "__init__"


SOURCES = sorted([*CORE.rglob("*.py"), *ADAPTERS.rglob("*.py")])


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a source file's syntax tree."""
    return ast.parse(path.read_text())


def is_module(name: str) -> bool:
    """Tell whether a dotted name of the core is a module or a package."""
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[str]:
    """Yield the absolute name of every module that a file imports anywhere."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, path)
            for alias in node.names:
                yield f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base


def names_of(path: Path) -> set[str]:
    """Return every name that a file uses or imports."""
    nodes = list(ast.walk(tree_of(path)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """Return the absolute name of the module that names are taken from."""
    if not node.level:
        return node.module or ""
    package = path.relative_to(ADAPTERS if path.is_relative_to(ADAPTERS) else ROOT).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def ids(path: Path) -> str:
    """Name a source file in a test's id."""
    return str(path.relative_to(ROOT))


SOURCE = pytest.mark.parametrize("path", SOURCES, ids=ids)


def test_every_room_is_in_the_table() -> None:
    """A new room needs a line in both tables, and a room that is gone takes its lines along."""
    rooms = {room_of(path) for path in SOURCES}

    assert rooms == set(ROOMS)
    assert rooms == set(LIBRARIES)


@SOURCE
def test_a_room_imports_only_what_the_table_lists(path: Path) -> None:
    """No file reaches a room of the house that its own room may not know."""
    own = room_of(path)
    reached = {room_of_module(name) for name in imports_of(path) if name.partition(".")[0] in PACKAGES}

    assert reached - {own} <= ROOMS[own]


@SOURCE
def test_a_room_imports_only_its_libraries(path: Path) -> None:
    """Beside the standard library a file imports what its room is listed with."""
    own = room_of(path)
    tops = {name.partition(".")[0] for name in imports_of(path)}

    assert tops - sys.stdlib_module_names - set(PACKAGES) <= LIBRARIES[own]


def test_the_table_has_no_cycles() -> None:
    """Imports go down the house only."""
    left = {room: set(targets) for room, targets in ROOMS.items()}
    while ground := {room for room, targets in left.items() if not targets & set(left)}:
        left = {room: targets for room, targets in left.items() if room not in ground}

    assert left == {}


def test_no_two_modules_import_each_other() -> None:
    """Inside a room there is no cycle either."""
    names = {".".join(path.relative_to(_home(path)).with_suffix("").parts): path for path in SOURCES}
    left = {name: {other for other in imports_of(path) if other in names} for name, path in names.items()}
    while ground := {name for name, targets in left.items() if not targets & set(left)}:
        left = {name: targets for name, targets in left.items() if name not in ground}

    assert left == {}


def test_the_map_of_the_assembly_names_each_of_its_files_once() -> None:
    """A room of many files opens with where to look for what."""
    room = CORE / "assembly"
    docstring = ast.get_docstring(tree_of(room / "__init__.py"), clean=False) or ""
    lines = [line for line in docstring.splitlines() if line.startswith("    ")]
    named = sorted(words.split()[-1] for line in lines for words in line.split(" · "))

    assert named == sorted(path.stem for path in room.glob("[!_]*.py"))


def _home(path: Path) -> Path:
    return ADAPTERS if path.is_relative_to(ADAPTERS) else ROOT


def test_the_core_never_reaches_a_framework() -> None:
    """Importing the core loads no framework and no adapter, whatever is installed."""
    program = "import sys, kedi_compile, kedi_compile.session; print(*sorted(sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
    tops = {name.partition(".")[0] for name in loaded}

    assert not tops & {"pydantic_ai", "langchain", "langchain_core", "langgraph", "lionagi", "openai", "anthropic"}
    assert not tops & {"sqlalchemy", "psycopg"}
    assert not {top for top in tops if top.startswith("kedi_")} - {"kedi_compile"}
    assert not {name for name in loaded if name.startswith(("kedi_compile.demo", "kedi_compile.cli"))}


CLOCKED = [path for path in SOURCES if room_of(path) in FRAMEWORK_FREE and path != MAKES_RECORDS]


@pytest.mark.parametrize("path", CLOCKED, ids=ids)
def test_the_core_reads_no_clock_no_id_and_no_environment(path: Path) -> None:
    """Times, ids and settings come in as parameters."""
    tops = {name.partition(".")[0] for name in imports_of(path)}
    calls = {
        f"{node.func.value.id}.{node.func.attr}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }

    assert {name for name in tops & OUTSIDE if (room_of(path), name) not in NAMES_ONLY | FORKS | APPENDS} == set()
    assert not {call for call in calls if call.startswith(("uuid.", "dt.", "datetime."))}
    assert not {name for name in names_of(path) if name.startswith(("uuid1", "uuid4"))}


def test_the_root_only_re_exports() -> None:
    """The root package holds a docstring, imports and the list of public names."""
    docstring, *rest = tree_of(CORE / "__init__.py").body

    assert isinstance(docstring, ast.Expr)
    assert {type(node) for node in rest} == {ast.ImportFrom, ast.Assign}


@pytest.mark.parametrize("path", sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")), ids=ids)
def test_no_file_is_longer_than_400_lines(path: Path) -> None:
    """A file that outgrows a reader's patience is two files."""
    assert len(path.read_text().splitlines()) <= 400
