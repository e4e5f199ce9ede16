"""The `kedi-compile` command.

    demo       needs the extra `demo`
    explain    needs `cli`, and the extra of the framework whose history it is
    inspect    needs `cli`
    report     needs `report`

`demo` and `report` hold `cli`. What a command does lives in a package of its own that is imported when the command
runs: a missing extra is one clear line and exit status 2. Colours and width are left to rich, which knows pipes,
NO_COLOR and COLUMNS.
"""

import os
import sys
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

if TYPE_CHECKING:  # both are optional packages
    from rich.console import Console
    from typer import Typer

    from kedi_compile.explain.explanation import Inquiry
    from kedi_compile.report.selection import Selection

_WIDEST: Final = 100
"""Columns; longer lines are hard to read."""


def main() -> None:
    """Run the command line."""
    _require("kedi-compile", "cli", ["typer", "rich"])
    _app()()


def _app() -> "Typer":
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    version_option = typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)

    @app.callback()
    def options(*, version: Annotated[bool, version_option] = False) -> None:
        """Edit an agent's message history safely, and know exactly what every model request contains."""

    for add in (_add_demo, _add_explain, _add_inspect, _add_report):
        add(app)
    return app


# Options are evaluated where typer is at hand, so each command is defined within a function.


def _add_demo(app: "Typer") -> None:
    import typer

    dump_option = typer.Option(
        "--dump", metavar="FILE", help="Let an agent's requests be assembled instead, and write them to this new file."
    )

    @app.command()
    def demo(*, dump: Annotated[Path | None, dump_option] = None) -> None:
        """Let an agent edit its history, offline, and prove what was sent."""
        raise typer.Exit(_demo(dump))


def _add_explain(app: "Typer") -> None:
    import typer

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
        """Say what history processing sees in a saved history."""
        from kedi_compile.explain.explanation import Inquiry

        inquiry = Inquiry(keep, over, model, protection, prompt)
        raise typer.Exit(_explain(history, stack, inquiry, entries=entries, as_json=as_json))


_DUMP_HELP: Final = "The file of JSON lines that a run's requests were dumped to."


def _add_inspect(app: "Typer") -> None:
    import typer

    dump_argument = typer.Argument(metavar="DUMP", help=_DUMP_HELP)
    request_option = typer.Option("--request", metavar="N|ID", help="Expand one, by its number in the file or its id.")
    run_option = typer.Option("--run", metavar="ID", help="Only the requests of this run.")
    conversation_option = typer.Option(
        "--conversation", metavar="ID", help="Only those of this conversation or thread."
    )
    failed_option = typer.Option("--failed", help="Only the requests that failed or were refused.")
    json_option = typer.Option("--json", help="Print the chosen dumps as JSON lines.")

    @app.command()
    def inspect(
        dump: Annotated[Path, dump_argument],
        *,
        request: Annotated[str | None, request_option] = None,
        run: Annotated[str | None, run_option] = None,
        conversation: Annotated[str | None, conversation_option] = None,
        failed: Annotated[bool, failed_option] = False,
        as_json: Annotated[bool, json_option] = False,
    ) -> None:
        """List the requests of a dump, or show one in full, and why."""
        from kedi_compile.report.selection import Selection

        chosen = Selection(request, run, conversation, failed=failed)
        raise typer.Exit(_inspect(dump, chosen, as_json=as_json))


def _add_report(app: "Typer") -> None:
    import typer

    dump_argument = typer.Argument(metavar="DUMP", help=_DUMP_HELP)
    output_option = typer.Option(
        "--output", "-o", metavar="FILE", help="Where the page goes; overwritten if it is there."
    )

    @app.command()
    def report(dump: Annotated[Path, dump_argument], *, output: Annotated[Path, output_option]) -> None:
        """Draw the run of a dump as one self-contained HTML page."""
        raise typer.Exit(_report(dump, output))


def _version(value: bool) -> None:  # noqa: FBT001  # typer calls it so
    import typer

    if value:
        typer.echo(f"kedi-compile {version('kedi-compile')}")
        raise typer.Exit


def _demo(dump: Path | None) -> int:
    _require("kedi-compile demo", "demo", ["pydantic_ai", "anthropic"])
    # At a terminal the host introduces itself, with the name of the model that the demo only replays.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from kedi_compile.demo import desk_show, show

    if dump is None:
        return show.run(_console(), _console(stderr=True))
    return desk_show.run(_console(), _console(stderr=True), dump)


def _explain(history: str, stack: str | None, inquiry: "Inquiry", *, entries: bool, as_json: bool) -> int:
    from kedi_compile import KediError
    from kedi_compile.explain.command import complain, run
    from kedi_compile.explain.reading import UnreadableHistory, read
    from kedi_compile.explain.stacks import NEEDS

    try:
        inquiry.check()
        saved = read(history, stack)
        _require("kedi-compile explain", *NEEDS[saved.stack])
        run(_console(), saved, inquiry, entries=entries, as_json=as_json)
    except (KediError, UnreadableHistory) as error:
        complain(_console(stderr=True), error)
        return 2
    return 0


def _inspect(dump: Path, chosen: "Selection", *, as_json: bool) -> int:
    from kedi_compile.report.inspection import inspect

    return inspect(_console(), _console(stderr=True), dump, chosen, as_json=as_json)


def _report(dump: Path, target: Path) -> int:
    _require("kedi-compile report", "report", ["jinja2", "plotly"])
    from kedi_compile.report.writing import report

    return report(_console(), _console(stderr=True), dump, target)


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
