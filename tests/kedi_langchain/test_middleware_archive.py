"""`history_archive=` in an agent: the thread stays short, nothing of it is lost, and a failing call leaves no trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from chats import Answer, Chat, Context, Transport, adapter, calls, keep, lines, turns
from checkpointers import CHECKPOINTERS, aopened, opened
from kedi_compile import (
    ConversationState,
    HistoryArchiveSettings,
    HistoryConfigurationError,
    HistoryProcessingWarning,
    history_scope,
)
from kedi_compile.history.archive_record import own_references, read_record
from kedi_compile.stores.held import HeldRecords
from kedi_compile.stores.protocol import Gone
from kedi_langchain import LangChainDialect
from threads import THREAD, Graph, agent, answering, says

DIALECT = LangChainDialect()
SEEN = "I saw a long street with many houses. " * 20
CHECKPOINT = re.compile(
    r"Archived (\d+) completed tool exchanges? \(\d+ messages\) of this task, unchanged\. Outcomes: (.*)\. "
    r"To read them back: read_archive\(reference='[\w-]+', page=1\)\."
)


class FailingStore(HeldRecords):
    """A store that takes nothing."""

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        raise OSError("disk full")


class Overloaded(Exception):
    """What the provider raises in these tests."""


def look() -> str:
    """Look around."""
    return SEEN


def archive(**options: Any) -> HistoryArchiveSettings:
    """Return settings that archive two looks at a time."""
    return HistoryArchiveSettings(800, 0, 100, **options)


def looking(count: int) -> list[Answer]:
    """Return answers that call the tool `count` times, one after another."""
    return [calls(f"c{number}") for number in range(1, count + 1)]


def archiving(transport: Transport, saver: Any = None, *processors: Any, **options: Any) -> Graph:
    """Build an agent that archives, and looks around at length."""
    settings = options.pop("settings", None) or archive()
    return agent(transport, adapter(*processors, history_archive=settings), saver, tools=[look], **options)


def short(listed: Sequence[str]) -> list[str]:
    """Shorten a checkpoint to its numbers."""
    return [CHECKPOINT.sub(r"archived \1: \2", line) for line in listed]


def reference_in(messages: Sequence[BaseMessage]) -> str:
    """Return the reference of the only checkpoint."""
    (reference,) = own_references(DIALECT, messages)
    return reference


def result_of(finished: dict[str, Any], call_id: str) -> str:
    """Return the text of a tool result."""
    (found,) = [one for one in finished["messages"] if isinstance(one, ToolMessage) and one.tool_call_id == call_id]
    return str(found.text)


def reads(reference: str, page: int = 1, call_id: str = "r1") -> AIMessage:
    """Return an answer that reads an archive."""
    call = {"name": "read_archive", "args": {"reference": reference, "page": page}, "id": call_id}
    return AIMessage("", tool_calls=[call])


ARCHIVED = ["< now", "< archived 2: look 2 ok", "> call c3", "< result c3"]


def test_later_requests_see_the_checkpoint() -> None:
    """Once the loop is too long its old exchanges are one text, and the thread keeps them so."""
    transport = answering(*looking(4), "done")
    subject = archiving(transport, InMemorySaver())

    finished = subject.invoke(says("now"), THREAD)

    assert [short(sent) for sent in transport.sent[2:]] == [
        ["< now", "> call c1", "< result c1", "> call c2", "< result c2"],
        ARCHIVED,
        [*ARCHIVED, "> call c4", "< result c4"],
    ]
    assert short(lines(finished["messages"])) == [*ARCHIVED, "> call c4", "< result c4", "> done"]


def test_a_record_holds_the_very_messages() -> None:
    """Byte for byte what the dialect writes of them, ids and names too."""
    settings = archive()
    transport = answering(*looking(3), "done")

    finished = archiving(transport, settings=settings).invoke(says("now"))

    record = settings.find(reference_in(finished["messages"]), now=0.0)
    assert isinstance(record, bytes)
    archived = transport.requests[2][1:5]
    assert list(read_record(record)) == [DIALECT.dump(message) for message in archived]
    assert all(map(DIALECT.same, map(DIALECT.load, read_record(record)), archived))


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
def test_a_thread_goes_on_from_its_checkpoint_after_a_restart(checkpointer: str, tmp_path: Path) -> None:
    """The mark survives the checkpointer: protected, and readable by an agent that was made anew."""
    settings = archive()
    with opened(checkpointer, tmp_path) as saver:
        first = archiving(answering(*looking(3), "done"), saver, settings=settings).invoke(says("now"), THREAD)
        reference = reference_in(first["messages"])
        transport = answering(reads(reference), "again")
        with pytest.warns(HistoryProcessingWarning, match="every group before the current request is protected"):
            second = archiving(transport, saver, keep(0), settings=settings).invoke(says("next"), THREAD)

    assert short(transport.sent[0]) == [*ARCHIVED, "> done", "< next"]
    assert reference_in(second["messages"]) == reference
    assert result_of(second, "r1").startswith(f"Archive {reference!r}, page 1 of 1, one message a line:\n")


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
async def test_the_asynchronous_path_archives_too(checkpointer: str, tmp_path: Path) -> None:
    """And reads the archive back."""
    settings = archive()
    async with aopened(checkpointer, tmp_path) as saver:
        subject = archiving(answering(*looking(3), "done"), saver, settings=settings)
        first = await subject.ainvoke(says("now"), THREAD)
        transport = answering(reads(reference_in(first["messages"])), "again")
        second = await archiving(transport, saver, settings=settings).ainvoke(says("next"), THREAD)

    assert short(lines(first["messages"])) == [*ARCHIVED, "> done"]
    assert result_of(second, "r1").startswith("Archive ")


def test_the_pages_are_the_archived_messages() -> None:
    """Without the heads, one message a line."""
    store, saver = HeldRecords(), InMemorySaver()
    transport = answering(*looking(3), "done")
    first = archiving(transport, saver, settings=archive(store=store)).invoke(says("now"), THREAD)
    reference = reference_in(first["messages"])
    answers = [reads(reference, page, f"r{page}") for page in (1, 2, 3, 4)]
    roomy = HistoryArchiveSettings(100_000, 0, 100, store=store, page_characters=1_000)
    second = archiving(answering(*answers, "again"), saver, settings=roomy).invoke(says("next"), THREAD)

    texts = [result_of(second, f"r{page}").split("\n", 1)[-1] for page in (1, 2, 3)]
    assert [DIALECT.load(line.encode()) for line in "".join(texts).split("\n")] == transport.requests[2][1:5]
    assert result_of(second, "r4") == f"Archive {reference!r} has 3 pages; there is no page 4."


def test_the_tool_is_there_from_the_first_request_on() -> None:
    """So that no later request changes the tools; without an archive there is none."""
    transport, plain = answering(*looking(3), "done"), answering("done")

    archiving(transport).invoke(says("now"))
    agent(plain, adapter(keep(1)), tools=[look]).invoke(says("now"))

    named = [[tool["function"]["name"] for tool in kwargs["tools"]] for kwargs in transport.kwargs]
    assert [sorted(names) for names in named] == [["look", "read_archive"]] * 4
    assert [tool["function"]["name"] for tool in plain.kwargs[0]["tools"]] == ["look"]


def test_each_checkpoint_and_each_edit_advances_the_generation() -> None:
    """In one request as in two."""
    epochs: list[int] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(0) if len(epochs) == 4 else ctx.messages

    transport = answering(*looking(5), "done")
    archiving(transport, None, note).invoke({"messages": [*turns(1), HumanMessage("now")]})

    assert epochs == [0, 0, 0, 0, 2, 2]
    assert short(transport.sent[3]) == ARCHIVED


def test_two_archives_of_a_run_stand_side_by_side() -> None:
    """The older one first."""
    finished = archiving(answering(*looking(5), "done")).invoke(says("now"))

    assert short(lines(finished["messages"])) == [
        *("< now", "< archived 2: look 2 ok", "< archived 2: look 2 ok", "> call c5", "< result c5", "> done")
    ]


def test_a_failing_tool_is_counted_apart() -> None:
    """By the status of its result."""
    history = [
        HumanMessage("now"),
        calls("c1", "c2"),
        ToolMessage(SEEN, tool_call_id="c1", name="look"),
        ToolMessage(SEEN, tool_call_id="c2", name="look", status="error"),
        *(calls("c3"), ToolMessage(SEEN, tool_call_id="c3", name="look")),
    ]
    transport = answering("done")

    archiving(transport).invoke({"messages": history})

    assert short(transport.sent[0])[1] == "< archived 1: look 1 ok, 1 failed"


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
def test_a_provider_error_takes_the_archive_back(checkpointer: str, tmp_path: Path) -> None:
    """The thread is what it was, the record is gone, and a resume archives anew."""
    settings = archive()
    transport = answering(*looking(3), Overloaded(), "done")
    with opened(checkpointer, tmp_path) as saver:
        subject = archiving(transport, saver, settings=settings)
        with pytest.raises(Overloaded):
            subject.invoke(says("now"), THREAD)
        failed = lines(subject.get_state(THREAD).values["messages"])
        finished = subject.invoke(None, THREAD)

    assert failed == ["< now", *(line for n in (1, 2, 3) for line in (f"> call c{n}", f"< result c{n}"))]
    assert settings.find(reference_in(transport.requests[3]), now=0.0) is Gone.RELEASED
    assert short(lines(finished["messages"])) == [*ARCHIVED, "> done"]
    assert isinstance(settings.find(reference_in(finished["messages"]), now=0.0), bytes)


def test_a_retried_attempt_archives_anew() -> None:
    """What the failed one stored is gone, so it is never referred to again."""
    settings = archive()
    transport = answering(*looking(3), Overloaded(), "done")
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0.0, on_failure="error")

    finished = archiving(transport, settings=settings, outside=[retry]).invoke(says("now"))

    first, second = reference_in(transport.requests[3]), reference_in(transport.requests[4])
    assert settings.find(first, now=0.0) is Gone.RELEASED
    assert isinstance(settings.find(second, now=0.0), bytes)
    assert reference_in(finished["messages"]) == second


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"store": FailingStore()}, "Nothing was archived: the store raised OSError: disk full"),
        (
            {"quota_bytes": 100},
            "Nothing was archived: the store raised QuotaExceeded: .* do not fit: 0 of 100 are held",
        ),
    ],
    ids=["store", "quota"],
)
def test_a_failure_to_store_leaves_the_history_as_it_was(options: dict[str, Any], fault: str) -> None:
    """The run goes on with all of it, and a warning says why."""
    transport = answering(*looking(3), "done")

    with pytest.warns(HistoryProcessingWarning, match=fault):
        archiving(transport, settings=archive(**options)).invoke(says("now"))

    assert len(transport.sent[3]) == 7


def test_an_artifact_that_cannot_be_written_keeps_its_exchange() -> None:
    """Never pickled, never lost; the warning names it."""
    history = [
        HumanMessage("now"),
        *(calls("c1"), ToolMessage(SEEN, tool_call_id="c1", name="look", artifact=object())),
        *(calls("c2"), ToolMessage(SEEN, tool_call_id="c2", name="look")),
        *(calls("c3"), ToolMessage(SEEN, tool_call_id="c3", name="look")),
    ]
    transport = answering("done")

    with pytest.warns(
        HistoryProcessingWarning, match=r"entries 1, 2 stays .*: ToolMessage\.artifact cannot be written"
    ):
        archiving(transport).invoke({"messages": history})

    assert short(transport.sent[0]) == [
        *("< now", "< archived 1: look 1 ok", "> call c1", "< result c1", "> call c3", "< result c3"),
    ]


def test_signed_reasoning_stays() -> None:
    """An exchange that holds it is not archived, those around it are."""
    thought = {"type": "thinking", "thinking": "deep", "signature": "s"}
    history = [
        HumanMessage("now"),
        *(calls("c1"), ToolMessage(SEEN, tool_call_id="c1", name="look")),
        *(calls("s1"), ToolMessage(SEEN, tool_call_id="s1", name="look")),
        *(calls("c2"), ToolMessage(SEEN, tool_call_id="c2", name="look")),
    ]
    history[3].content = [thought]
    transport = answering("done")

    archiving(transport).invoke({"messages": history})

    assert short(transport.sent[0]) == [
        *("< now", "< archived 1: look 1 ok", "> call s1", "< result s1", "> call c2", "< result c2"),
    ]


def test_another_threads_archive_cannot_be_read() -> None:
    """Whatever reference the model was told."""
    settings = archive()
    first = archiving(answering(*looking(3), "done"), settings=settings).invoke(says("now"))
    reference = reference_in(first["messages"])

    other = archiving(answering(reads(reference), "done"), settings=settings).invoke(says("now"))

    assert result_of(other, "r1").startswith(f"There is no archive {reference!r} in this conversation")


def test_a_released_record_is_said_to_be_released() -> None:
    """The thread that names it stays as it is."""
    settings, saver = archive(), InMemorySaver()
    first = archiving(answering(*looking(3), "done"), saver, settings=settings).invoke(says("now"), THREAD)
    reference = reference_in(first["messages"])
    settings.release(reference)

    second = archiving(answering(reads(reference), "done"), saver, settings=settings).invoke(says("next"), THREAD)

    released = f"Archive {reference!r} was released; its text is gone for good. Go on without it."
    assert result_of(second, "r1") == released
    assert reference_in(second["messages"]) == reference


def test_a_turn_of_a_conversation_commits_its_checkpoint() -> None:
    """The next turn begins with it."""
    transport = answering(*looking(3), "done", "again")
    subject = archiving(transport)

    with history_scope(enabled=True, state=ConversationState()):
        subject.invoke(says("now"))
        subject.invoke(says("next"))

    assert short(transport.sent[4]) == [*ARCHIVED, "> done", "< next"]


def test_what_runs_no_tools_refuses_an_archive() -> None:
    """A wrapped model and a node of a raw graph could never read it."""
    model = Chat(transport=answering("done"))

    for refused in (adapter(history_archive=archive()).wrap, adapter(history_archive=archive()).model_node):
        with pytest.raises(HistoryConfigurationError, match="`history_archive` needs an agent that runs the tool"):
            refused(model)
