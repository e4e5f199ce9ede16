"""The sink: what `dump=` takes, that secrets never leave, and that a failure costs a line in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from canaries import CANARIES, full_dump, remains_of
from dump_writer import dump_of
from kedi_compile.dump.file import DumpFile
from kedi_compile.dump.reading import read_dumps
from kedi_compile.dump.schema import RequestDump
from kedi_compile.dump.sink import Sink, sink_of
from kedi_compile.errors import DumpError, HistoryConfigurationError


def put(sink: Sink | None, *dumps: RequestDump) -> None:
    """Put dumps into a sink that is one."""
    assert sink is not None
    for dump in dumps:
        sink.put(dump)


def full_disk(dump: RequestDump) -> NoReturn:
    """Fail as a disk does."""
    raise OSError(28, "No space left on device")


def test_nothing_configured_is_no_sink() -> None:
    """Without `dump=` nothing is kept."""
    assert sink_of(None) is None


def test_a_redaction_without_a_dump_is_refused() -> None:
    """It would do nothing, and whoever set it counts on it."""
    with pytest.raises(HistoryConfigurationError, match=r"^`redact` is set without a `dump`; there is nothing that it"):
        sink_of(None, redact=str.upper)


@pytest.mark.parametrize("of", [str, Path, DumpFile])
def test_a_path_and_a_file_are_appended_to(tmp_path: Path, of: Callable[[Path], str | Path | DumpFile]) -> None:
    """All three ways to name a file lead to its end."""
    path = tmp_path / "dump.jsonl"

    put(sink_of(of(path)), dump_of("one"), dump_of("two"))

    assert [dump.request_id for dump in read_dumps(path)] == ["one", "two"]


def test_two_sinks_append_to_one_file(tmp_path: Path) -> None:
    """Two adapters of a process may share a path."""
    path = tmp_path / "dump.jsonl"
    first, second = sink_of(path), sink_of(str(path))

    put(first, dump_of("a"))
    put(second, dump_of("b"))
    put(first, dump_of("c"))

    assert [dump.request_id for dump in read_dumps(path)] == ["a", "b", "c"]


def test_a_callable_gets_the_redacted_dump() -> None:
    """No canary reaches a callable either."""
    got: list[RequestDump] = []

    put(sink_of(got.append), *(full_dump(canary.text) for canary in CANARIES))

    assert [remains_of(canary, dump.model_dump_json()) for canary, dump in zip(CANARIES, got, strict=True)] == [
        set() for _ in CANARIES
    ]


def test_redactions_of_the_file_and_of_the_sink_both_run(tmp_path: Path) -> None:
    """The file's come first."""
    path = tmp_path / "dump.jsonl"
    file = DumpFile(path, redact=lambda text: text.replace("a", "b"))

    put(sink_of(file, redact=[lambda text: text.replace("b", "c")]), dump_of("abx"))

    assert [dump.request_id for dump in read_dumps(path)] == ["ccx"]


def test_a_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The request goes on, and one line stands for the same failure of every request."""
    put(sink_of(full_disk), *(dump_of(f"{number}") for number in range(100)))

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("kedi_compile.dump", logging.WARNING)
    assert record.getMessage() == (
        "A request's dump was not written, and the request goes on: OSError: [Errno 28] No space left on device"
    )


def test_each_different_failure_is_logged_up_to_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    """A failure that never looks the same does not fill the log."""

    def failing(dump: RequestDump) -> None:
        raise ValueError(dump.request_id)

    put(sink_of(failing), *(dump_of(f"{number}") for number in range(100)))

    assert len(caplog.records) == 32
    assert caplog.records[0].getMessage().endswith("the request goes on: ValueError: 0")
    assert caplog.records[-1].getMessage().endswith("ValueError: 31; further failures are not logged")


def test_a_failure_is_raised_where_that_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """With `dump_errors="raise"` the error names the request and keeps its cause."""
    with pytest.raises(DumpError) as caught:
        put(sink_of(full_disk, dump_errors="raise"), dump_of("r-1"))

    assert str(caught.value) == (
        "The dump of request 'r-1' was not written: OSError: [Errno 28] No space left on device"
    )
    assert isinstance(caught.value.__cause__, OSError)
    assert not caplog.records


@pytest.mark.parametrize("dump_errors", ["warn", "raise"])
def test_what_is_said_about_a_failure_holds_no_secret(caplog: pytest.LogCaptureFixture, dump_errors: str) -> None:
    """The words of an error are redacted as a dump is."""

    def failing(dump: RequestDump) -> None:
        raise ConnectionError("password=hunter2")

    try:
        put(sink_of(failing, dump_errors=dump_errors), dump_of("1"))  # type: ignore[arg-type]  # parametrised
    except DumpError as exc:
        said = str(exc)
    else:
        said = caplog.text

    assert "password=[redacted: secret]" in said
    assert "hunter2" not in said


def test_a_failure_that_cannot_say_what_it_is_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Its class has to do."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise LookupError

    def failing(dump: RequestDump) -> None:
        raise Mute

    put(sink_of(failing), dump_of("1"))

    assert "the request goes on: test_a_failure_that_cannot" in caplog.text


def test_a_folder_that_is_taken_away_breaks_no_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What worked when the adapter was made may fail later."""
    folder = tmp_path / "folder"
    folder.mkdir()
    sink = sink_of(folder / "dump.jsonl")
    (folder / "dump.jsonl.lock").unlink()
    folder.rmdir()

    put(sink, dump_of("1"))

    assert "FileNotFoundError" in caplog.text


async def _later(dump: RequestDump) -> None:
    """Be awaited by nobody."""


class _Later:
    """A callable whose call is a coroutine."""

    async def __call__(self, dump: RequestDump) -> None:
        """Be awaited by nobody."""


@pytest.mark.parametrize("dump", [_later, _Later()])
def test_an_async_callable_is_refused(dump: Callable[[RequestDump], None]) -> None:
    """Nobody would wait for it."""
    with pytest.raises(HistoryConfigurationError, match="which is async; nobody would wait for it"):
        sink_of(dump)


def test_an_awaitable_that_comes_back_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A coroutine in disguise is closed, and told."""

    def disguised(dump: RequestDump) -> None:
        return _later(dump)  # type: ignore[return-value]  # the point of the test

    put(sink_of(disguised), dump_of("1"))

    assert "the callable returned an awaitable" in caplog.text


@pytest.mark.parametrize(
    ("dump", "settings", "message"),
    [
        (7, {}, "`dump` is 7; it must be a path, a `DumpFile`, or a callable that takes a `RequestDump`"),
        (print, {"dump_errors": "ignore"}, '`dump_errors` is \'ignore\'; it must be "warn" or "raise"'),
        (print, {"redact": "x"}, "`redact` is 'x'; it must be a callable"),
        ("missing/dump.jsonl", {}, "There is no folder"),
    ],
)
def test_what_can_never_work_is_refused(dump: object, settings: dict[str, object], message: str) -> None:
    """The error comes when the adapter is made."""
    with pytest.raises(HistoryConfigurationError, match=message):
        sink_of(dump, **settings)  # type: ignore[arg-type]  # the point of the test
