"""Where the dump of a LangChain agent goes, what never gets there, and how it tells the lanes of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asking import ASKS, RUNS
from assemblies import Dumps, compiler, growing, no_disk, written
from assembling import PERSON, inputs, ledger, source
from canaries import CANARIES, remains_of
from chats import Chat, Context, StreamingChat, adapter, asked, calls, keep
from kedi_compile import RequestDump
from kedi_compile.assembly import RequestCompiler, SteeringSlot
from kedi_compile.conversation import ConversationState, history_scope
from kedi_compile.dump.file import DumpFile
from kedi_compile.errors import DumpError
from kedi_compile.history import account
from threads import THREAD, agent, answering, asks, says

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)


@pytest.mark.parametrize("of", [str, Path, DumpFile])
def test_a_dump_goes_into_a_file(of: Callable[[Path], Any], tmp_path: Path) -> None:
    """Two models of one adapter append to it."""
    path = tmp_path / "dump.jsonl"
    given = adapter(dump=of(path))
    for _ in range(2):
        given.wrap(Chat(transport=answering("done"))).invoke("now")

    assert [dump.outcome for dump in written(path)] == ["answered", "answered"]


def test_a_callable_gets_each_dump_as_a_value() -> None:
    """Frozen, and already redacted."""
    seen: list[object] = []

    adapter(dump=seen.append).wrap(Chat(transport=answering("done"))).invoke("now")

    assert [type(one) for one in seen] == [RequestDump]


@EACH_ASK
def test_a_dump_that_cannot_be_written_goes_by(ask: Any, caplog: pytest.LogCaptureFixture) -> None:
    """One line in the log, and the call goes on."""
    out = ask(adapter(dump=no_disk).wrap(StreamingChat(transport=answering("done"))), "now")

    assert "done" in str(out)
    assert "A request's dump was not written, and the request goes on" in caplog.text


@EACH_RUN
def test_an_answer_that_is_not_in_the_dump_fails_the_run_if_asked_for(run: Any) -> None:
    """As if the provider had failed: the history is as it was, and the error says what happened."""
    built = agent(answering("dropped"), adapter(keep(1), dump=no_disk, dump_errors="raise"), InMemorySaver())

    with pytest.raises(DumpError, match="was not written: OSError"):
        run(built, asks("now"), THREAD)

    assert built.get_state(THREAD).values["messages"] == asks("now")["messages"]


@EACH_ASK
def test_an_answer_that_is_not_in_the_dump_fails_a_call_and_is_no_turn(ask: Any) -> None:
    """The conversation keeps nothing of it either."""
    state = ConversationState()
    model = adapter(dump=no_disk, dump_errors="raise").wrap(StreamingChat(transport=answering("dropped")))

    with history_scope(True, state), pytest.raises(DumpError, match="was not written"):
        ask(model, "now")

    assert (state.turns, state.ledger.line.tickets) == (0, [])


@EACH_ASK
def test_a_failed_request_keeps_its_error_where_the_dump_cannot_be_written(ask: Any) -> None:
    """With a note."""
    transport = answering(LookupError("overloaded"))

    with pytest.raises(LookupError, match="overloaded") as caught:
        ask(adapter(dump=no_disk, dump_errors="raise").wrap(StreamingChat(transport=transport)), "now")

    assert "was not written" in caught.value.__notes__[0]


def test_an_answer_that_is_not_in_the_dump_does_not_refuse_its_neighbours() -> None:
    """Both prompts of one call were answered."""
    dumps = Dumps()

    def first_fails(dump: RequestDump) -> None:
        dumps(dump)
        if len(dumps) == 1:
            raise OSError

    model = adapter(dump=first_fails, dump_errors="raise").wrap(Chat(transport=answering("done")))
    with pytest.raises(DumpError):
        model.generate([asked(), asked(1)])

    assert dumps.outcomes == ["answered", "failed"]


@pytest.mark.parametrize("canary", CANARIES[:: len(CANARIES) // 12], ids=lambda one: one.name)
@pytest.mark.parametrize("is_async", [False, True])
def test_no_secret_reaches_the_file(is_async: bool, canary: Any, tmp_path: Path) -> None:
    """From prompts, tool results, errors, objectives, steering, evidence, or what an edit adds."""
    path = tmp_path / "dump.jsonl"
    given = inputs(source(body=f"{canary.text}\n"), current_message=canary.text)
    given.frame.steer(SteeringSlot("s1", canary.text, PERSON))

    def add(ctx: Context) -> Any:
        return [ctx.text_message(canary.text, "user"), *ctx.messages]

    def look() -> str:
        """Look around."""
        return str(canary.text)

    transport = answering(calls("c1"), LookupError(canary.text))
    built = agent(transport, adapter(add, request_compiler=RequestCompiler(inputs=given), dump=path), tools=[look])
    with pytest.raises(LookupError):
        RUNS["ainvoke" if is_async else "invoke"](built, says(canary.text))

    assert len(written(path)) == 2
    assert remains_of(canary, path.read_text()) == set()


@EACH_ASK
def test_what_is_to_be_redacted_besides_is_redacted(ask: Any) -> None:
    """By the caller's own functions."""
    dumps = Dumps()
    given = adapter(request_compiler=compiler(), dump=dumps, redact=lambda text: text.replace("careful", "[word]"))

    ask(given.wrap(StreamingChat(transport=answering("done"))), "now")

    assert "You are a [word] engineer." in dumps.only.model_dump_json()
    assert "careful" not in dumps.only.model_dump_json()


@EACH_RUN
def test_nothing_of_a_dump_enters_a_later_request(run: Any) -> None:
    """Requests are the same with it and without."""
    quiet, told, dumps = answering(calls("c1"), "done"), answering(calls("c1"), "done"), Dumps()
    for transport, dump in ((quiet, None), (told, dumps)):
        used = adapter(keep(1), request_compiler=compiler(growing(ledger())), dump=dump)
        run(agent(transport, used), asks("now"))

    assert told.sent == quiet.sent
    assert len(dumps) == 2
    assert not any(dump.request_id in str(told.requests) for dump in dumps)


@EACH_RUN
def test_without_a_dump_no_report_is_computed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody reads costs nothing."""
    computed: list[object] = []
    monkeypatch.setattr(account, "edit_report", lambda *args, **options: computed.append(args))

    run(agent(answering("done"), adapter(keep(1))), asks("now"))

    assert computed == []


@EACH_ASK
def test_each_request_tells_its_lane(ask: Any) -> None:
    """The first, one that goes on, and a fresh one, which says what the model does not see."""
    dumps, state = Dumps(), ConversationState("talk-1")
    given = adapter(dump=dumps)
    model = given.wrap(StreamingChat(transport=answering("one", "two")))
    other = given.wrap(StreamingChat(transport=answering("three"), model_name="other"))

    with history_scope(True, state):
        ask(model, "first")
        ask(model, "second")
        with pytest.warns(UserWarning, match="fresh lane"):
            ask(other, "third")

    assert [dump.lane for dump in dumps] == [
        "the first",
        "goes on with 1 turn",
        "fresh: the model sees none of the 2 earlier turns, model changed",
    ]
    assert {dump.conversation_id for dump in dumps} == {"talk-1"}


@pytest.mark.parametrize("is_async", [False, True])
def test_each_request_of_an_agent_tells_its_lane(is_async: bool) -> None:
    """All requests of a run are in one turn."""
    dumps, state = Dumps(), ConversationState("talk-1")
    built = agent(answering(calls("c1"), "one", "two"), adapter(dump=dumps))
    run = RUNS["ainvoke" if is_async else "invoke"]

    with history_scope(True, state):
        run(built, says("first"))
        run(built, says("second"))

    assert [dump.lane for dump in dumps] == ["the first", "the first", "goes on with 1 turn"]
    assert {dump.conversation_id for dump in dumps} == {"talk-1"}
