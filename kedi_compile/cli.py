"""The `kedi-compile` command.

Needs the extra `cli`, and `kedi-compile demo` the extra `demo`, which holds the other.
What a command does lives in a package of its own that is imported when the command runs: a missing extra is one clear
line and exit status 2. Colours and width are left to rich, which knows pipes, NO_COLOR and COLUMNS.
"""

import os
import sys
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Final

if TYPE_CHECKING:  # both are optional packages
    from rich.console import Console
    from typer import Typer

    from kedi_compile.explain.explanation import Question

_WIDEST: Final = 100
"""Columns; longer lines are hard to read."""


def main() -> None:
    """Run the command line."""
    _require("kedi-compile", "cli", ["typer", "rich"])
    _app()()


def _app() -> "Typer":
    import typer

    # Options are evaluated where typer is at hand, so the commands are defined in here.
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    version_option = typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)

    @app.callback()
    def options(*, version: Annotated[bool, version_option] = False) -> None:
        """Edit an agent's message history safely, and know exactly what every model request contains."""

    @app.command()
    def demo() -> None:
        """Let a real agent edit its history, offline, and prove what was sent."""
        raise typer.Exit(_demo())

    @app.command()
    def explain(
        history: Annotated[str, typer.Argument(help="A saved history, or - for standard input.", metavar="HISTORY")],
        *,
        keep: Annotated[int, typer.Option(help="How many eligible groups keep_recent_groups keeps.")] = 10,
        over: Annotated[int | None, typer.Option(help="Above how many eligible groups it drops any.")] = None,
        model: Annotated[str | None, typer.Option(help="The request's model, as provider:name.")] = None,
        protection: Annotated[
            str, typer.Option("--reasoning-protection", help="always, or open_cycle.", metavar="WHEN")
        ] = "always",
        prompt: Annotated[str | None, typer.Option(help="The next user message.")] = None,
        entries: Annotated[bool, typer.Option("--entries", help="Show each entry too.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
        stack: Annotated[str | None, typer.Option(help="pydantic-ai, or langchain; found out without it.")] = None,
    ) -> None:
        """Say what history processing sees in a saved history, without running anything."""
        from kedi_compile.explain.explanation import Question

        question = Question(keep, over, model, protection, prompt)
        raise typer.Exit(_explain(history, stack, question, entries=entries, as_json=as_json))

    return app


def _version(value: bool) -> None:  # noqa: FBT001  # typer calls it so
    import typer

    if value:
        typer.echo(f"kedi-compile {version('kedi-compile')}")
        raise typer.Exit


def _demo() -> int:
    _require("kedi-compile demo", "demo", ["pydantic_ai", "anthropic"])
    # At a terminal the host introduces itself, with the name of the model that the demo only replays.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from kedi_compile.demo.show import run

    return run(_console(), _console(stderr=True))


def _explain(history: str, stack: str | None, question: "Question", *, entries: bool, as_json: bool) -> int:
    from kedi_compile import KediError
    from kedi_compile.explain.command import complain, run
    from kedi_compile.explain.reading import UnreadableHistory, read
    from kedi_compile.explain.stacks import NEEDS

    try:
        question.check()
        saved = read(history, stack)
        _require("kedi-compile explain", *NEEDS[saved.stack])
        run(_console(), saved, question, entries=entries, as_json=as_json)
    except (KediError, UnreadableHistory) as error:
        complain(_console(stderr=True), error)
        return 2
    return 0


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")  # rich cuts with an ellipsis, which not every terminal can write
    console = Console(stderr=stderr, highlight=False)
    console.width = min(console.width, _WIDEST)
    return console


def _require(program: str, extra: str, modules: Iterable[str]) -> None:
    """Exit with status 2 and the command that installs them if any of the modules is not there."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        sys.stderr.write(f"{program} needs {names}; install with, in a checkout: pip install '.[{extra}]'\n")
        raise SystemExit(2)
