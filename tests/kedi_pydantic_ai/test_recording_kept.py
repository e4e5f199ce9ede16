"""Where the dump of a Pydantic AI agent goes, what never gets there, and how it tells the lanes of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import ModelHTTPError

from agents import (
    ENTRY_POINTS,
    Answer,
    Context,
    Script,
    adapter,
    calls,
    keep,
    lines,
    run_through,
    turns,
)
from assemblies import Dumps, compiler, growing, no_disk, written
from assembling import PERSON, inputs, ledger, source
from canaries import CANARIES, remains_of
from kedi_compile import RequestDump
from kedi_compile.assembly import RequestCompiler, SteeringSlot
from kedi_compile.conversation import ConversationState
from kedi_compile.dump.file import DumpFile
from kedi_compile.errors import DumpError
from kedi_compile.history import account
from talks import talk, talking

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


def agent_with(*answers: Answer, processor: Any = None, **options: Any) -> AnyAgent:
    """Return an agent with one tool whose adapter writes its requests down."""
    return Agent(Script(*answers).model, capabilities=[adapter(processor, **options)], tools=[look])


def look() -> str:
    """Look around."""
    return "seen"


@pytest.mark.parametrize("of", [str, Path, DumpFile])
def test_a_dump_goes_into_a_file(of: Callable[[Path], Any], tmp_path: Path) -> None:
    """Two runs of one adapter append to it."""
    path = tmp_path / "dump.jsonl"
    agent = agent_with("done", dump=of(path))
    for _ in range(2):
        run_through("run", agent, "now")

    assert [dump.outcome for dump in written(path)] == ["answered", "answered"]


@EACH
def test_a_dump_that_cannot_be_written_goes_by(entry: str, caplog: pytest.LogCaptureFixture) -> None:
    """One line in the log, and the run goes on."""
    finished = run_through(entry, agent_with("done", dump=no_disk), "now")

    assert finished.output == "done"
    assert "A request's dump was not written, and the request goes on" in caplog.text


@EACH
def test_an_answer_that_is_not_in_the_dump_fails_the_run_if_asked_for(entry: str) -> None:
    """As if the provider had failed: the history is as it was, and the error says what happened."""
    agent = agent_with("dropped", processor=keep(1), dump=no_disk, dump_errors="raise")

    with capture_run_messages() as captured, pytest.raises(DumpError, match="was not written: OSError"):
        run_through(entry, agent, "now", message_history=turns(3))

    assert lines(captured)[:7] == [*lines(turns(3)), "< now"]


@EACH
def test_a_failed_request_keeps_its_error_where_the_dump_cannot_be_written(entry: str) -> None:
    """With a note."""
    with pytest.raises(ModelHTTPError) as caught:
        run_through(entry, agent_with(ModelHTTPError(529, "x"), dump=no_disk, dump_errors="raise"), "now")

    assert "was not written" in caught.value.__notes__[0]


def test_a_turn_that_is_not_in_the_dump_is_no_turn() -> None:
    """The conversation keeps nothing of it either."""
    state = ConversationState()

    with pytest.raises(DumpError):
        talk(talking(Script("one"), adapter(dump=no_disk, dump_errors="raise")), state, "first")

    assert state.turns == 0


@pytest.mark.parametrize("canary", CANARIES[:: len(CANARIES) // 12], ids=lambda one: one.name)
@pytest.mark.parametrize("entry", ["run", "run_stream"])
def test_no_secret_reaches_the_file(entry: str, canary: Any, tmp_path: Path) -> None:
    """From prompts, tool results, errors, objectives, steering, evidence, or what an edit adds."""
    path = tmp_path / "dump.jsonl"
    given = inputs(source(body=f"{canary.text}\n"), current_message=canary.text)
    given.frame.steer(SteeringSlot("s1", canary.text, PERSON))

    def add(ctx: Context) -> Any:
        return [ctx.text_message(canary.text, "user"), *ctx.messages]

    script = Script(calls("c1", words=canary.text), ModelHTTPError(529, "x", {"error": canary.text}))
    agent: AnyAgent = Agent(
        script.model, capabilities=[adapter(add, request_compiler=RequestCompiler(inputs=given), dump=path)]
    )

    @agent.tool_plain(name="look")
    def say(words: str) -> str:
        return words

    with pytest.raises(ModelHTTPError):
        run_through(entry, agent, canary.text)

    text = path.read_text()
    assert len(written(path)) == 2
    assert remains_of(canary, text) == set()


@EACH
def test_what_is_to_be_redacted_besides_is_redacted(entry: str) -> None:
    """By the caller's own functions."""
    dumps = Dumps()
    agent = agent_with(
        "done", request_compiler=compiler(), dump=dumps, redact=lambda text: text.replace("careful", "[word]")
    )

    run_through(entry, agent, "now")

    assert "You are a [word] engineer." in dumps.only.model_dump_json()
    assert "careful" not in dumps.only.model_dump_json()


@EACH
def test_nothing_of_a_dump_enters_a_later_request(entry: str) -> None:
    """Requests are the same with it and without."""
    quiet, told, dumps = Script(calls("c1"), "done"), Script(calls("c1"), "done"), Dumps()
    for script, dump in ((quiet, None), (told, dumps)):
        agent: AnyAgent = Agent(
            script.model, capabilities=[adapter(keep(1), request_compiler=compiler(growing(ledger())), dump=dump)]
        )
        agent.tool_plain(look)
        run_through(entry, agent, "now", message_history=turns(3))

    assert told.sent == quiet.sent
    assert told.instructions == quiet.instructions
    assert len(dumps) == 2
    assert not any(dump.request_id in str(told.requests) for dump in dumps)
    assert "You are a careful engineer." in str(told.instructions)


@EACH
def test_without_a_dump_no_report_is_computed(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody reads costs nothing."""
    asked: list[object] = []
    monkeypatch.setattr(account, "edit_report", lambda *args, **options: asked.append(args))

    run_through(entry, agent_with("done", processor=keep(1)), "now", message_history=turns(3))

    assert asked == []


def test_a_callable_gets_each_dump_as_a_value() -> None:
    """Frozen, and already redacted."""
    seen: list[object] = []

    run_through("run", agent_with("done", dump=seen.append), "now")

    assert [type(one) for one in seen] == [RequestDump]


def test_each_request_tells_its_lane() -> None:
    """The first, one that goes on, and a fresh one, which says what the model does not see."""
    dumps, state = Dumps(), ConversationState("talk-1")
    book = adapter(dump=dumps)

    talk(talking(Script("one", "two"), book), state, "first", "second")
    with pytest.warns(UserWarning, match="fresh lane"):
        talk(talking(Script("three", model_name="other"), book), state, "third")

    assert [dump.lane for dump in dumps] == [
        "the first",
        "goes on with 1 turn",
        "fresh: the model sees none of the 2 earlier turns, model changed",
    ]
    assert {dump.conversation_id for dump in dumps} == {"talk-1"}
