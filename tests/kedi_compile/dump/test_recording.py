"""The record of one request: begun once, filled in while it is under way, and written once, whatever becomes of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from assemblies import Dumps, no_disk
from assembling import compiled
from kedi_compile import AssemblyError, HistoryProcessingError
from kedi_compile.dump.recording import Recorder, RequestRecord
from kedi_compile.dump.schema import HistoryDump, RequestDump, UsageDump
from kedi_compile.dump.sink import sink_of
from kedi_compile.errors import DumpError


def recorder(dump: object, *, errors: str = "warn", clock: Iterator[float] | None = None) -> Recorder:
    """Return a recorder with ids "r1", "r2" and a clock that goes on by half a second."""
    sink = sink_of(dump, dump_errors=errors)  # type: ignore[arg-type]  # looked at there
    assert sink is not None
    ids, ticks = itertools.count(1), clock or itertools.count(100.0, 0.5)
    return Recorder(sink, "toy", lambda: f"r{next(ids)}", lambda: next(ticks))


def begun(dump: object, *, errors: str = "warn", clock: Iterator[float] | None = None) -> RequestRecord:
    """Return the record of a request that has begun."""
    return recorder(dump, errors=errors, clock=clock).begin(model_id="toy:small", request_index=2)


def test_an_answered_request_is_written_with_all_that_is_known() -> None:
    """What is filled in meanwhile is in it, and the time until the outcome."""
    dumps = Dumps()
    record = recorder(dumps).begin(model_id="toy:small", request_index=2, run_id="run-1", conversation_id="talk-1")
    record.history = HistoryDump(outcome="unchanged", generation_before=1, generation_after=1)
    record.assembly = compiled().dump
    record.lane = "goes on with 2 turns"

    record.answered(UsageDump(input=10, output=3, cache_read=4))

    assert dumps.only == RequestDump(
        request_id="r1",
        at=100.0,
        duration=0.5,
        run_id="run-1",
        conversation_id="talk-1",
        lane="goes on with 2 turns",
        request_index=2,
        adapter="toy",
        model_id="toy:small",
        outcome="answered",
        assembly=compiled().dump,
        history=HistoryDump(outcome="unchanged", generation_before=1, generation_after=1),
        usage=UsageDump(input=10, output=3, cache_read=4),
    )


def test_a_request_that_begins_writes_nothing() -> None:
    """A line is written where its outcome is known."""
    dumps = Dumps()
    begun(dumps)

    assert dumps == []


def test_a_request_whose_answer_nobody_sees_is_sent() -> None:
    """Its usage is unknown."""
    dumps = Dumps()
    begun(dumps).sent()

    assert (dumps.only.outcome, dumps.only.usage) == ("sent", UsageDump())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AssemblyError("no room"), "refused"),
        (HistoryProcessingError("no edit"), "refused"),
        (LookupError("overloaded"), "failed"),
        (DumpError("no disk"), "failed"),
        (asyncio.CancelledError("enough"), "cancelled"),
        (KeyboardInterrupt("^C"), "cancelled"),
    ],
)
def test_an_error_says_what_became_of_the_request(error: BaseException, outcome: str) -> None:
    """The package's own say that nothing was sent, but for one about a dump, which is written behind the request."""
    dumps = Dumps()
    begun(dumps).failed(error)

    assert (dumps.only.outcome, dumps.only.error) == (outcome, f"{type(error).__name__}: {error}")


def test_a_stream_that_was_left_says_so_in_words() -> None:
    """The host tells it by an exception without any."""
    dumps = Dumps()
    begun(dumps).failed(GeneratorExit())

    assert (dumps.only.outcome, dumps.only.error) == ("cancelled", "The stream was left before its end")


def test_an_error_that_cannot_say_what_it_is_goes_by_its_type() -> None:
    """Nothing comes up in its place."""

    class WordlessError(Exception):
        def __str__(self) -> str:
            raise LookupError

    dumps = Dumps()
    begun(dumps).failed(WordlessError())

    assert (dumps.only.outcome, dumps.only.error) == ("failed", "WordlessError")


def test_a_request_that_was_given_up_is_cancelled() -> None:
    """Whatever its caller gave it up by."""
    dumps = Dumps()
    begun(dumps).given_up(RuntimeError("a pause"))

    assert (dumps.only.outcome, dumps.only.error) == ("cancelled", "RuntimeError: a pause")


def test_a_stream_that_was_left_is_cancelled() -> None:
    """With what the provider had counted until then."""
    dumps = Dumps()
    begun(dumps).left(UsageDump(input=10, output=1))

    assert (dumps.only.outcome, dumps.only.error) == ("cancelled", "The stream was left before its end")
    assert dumps.only.usage == UsageDump(input=10, output=1)


def test_a_request_is_written_once() -> None:
    """The first outcome is the one that counts."""
    dumps = Dumps()
    record = begun(dumps)
    record.answered(UsageDump())
    record.failed(LookupError("later"))
    record.sent()

    assert dumps.outcomes == ["answered"]


def test_a_clock_that_goes_back_gives_no_time() -> None:
    """A duration is never negative."""
    dumps = Dumps()
    begun(dumps, clock=iter([100.0, 40.0])).sent()

    assert (dumps.only.at, dumps.only.duration) == (100.0, 0.0)


def test_an_answer_that_cannot_be_written_down_is_an_error_if_asked_for() -> None:
    """And costs nothing but a line in the log otherwise."""
    begun(no_disk).answered(UsageDump())

    with pytest.raises(DumpError, match=r"The dump of request 'r1' was not written: OSError: .*No space left"):
        begun(no_disk, errors="raise").answered(UsageDump())


@pytest.mark.parametrize("error", [LookupError("overloaded"), asyncio.CancelledError()])
def test_a_failed_request_keeps_its_error_where_the_dump_cannot_be_written(error: BaseException) -> None:
    """It says in a note that it is not in the dump, so that a cancel still cancels."""
    begun(no_disk, errors="raise").failed(error)

    assert error.__notes__ == ["The dump of request 'r1' was not written: OSError: [Errno 28] No space left on device"]


def test_a_record_that_could_not_be_written_is_not_tried_again() -> None:
    """The error it led to is not another outcome."""
    tried: list[RequestDump] = []

    def fail(dump: RequestDump) -> None:
        tried.append(dump)
        raise OSError

    record = begun(fail, errors="raise")
    with pytest.raises(DumpError) as caught:
        record.answered(UsageDump())
    record.failed(caught.value)

    assert [dump.outcome for dump in tried] == ["answered"]


def test_each_request_has_an_id_of_its_own() -> None:
    """As the adapter makes them."""
    dumps = Dumps()
    book = recorder(dumps)
    for index in (1, 2):
        book.begin(model_id="toy:small", request_index=index).sent()

    assert [(dump.request_id, dump.request_index) for dump in dumps] == [("r1", 1), ("r2", 2)]
