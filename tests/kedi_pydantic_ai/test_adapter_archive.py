"""`history_archive=`: a long tool loop stays short, nothing of it is lost, and a failing request leaves no trace."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai import messages as m
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ModelHTTPError, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents import ENTRY_POINTS, Context, Script, adapter, calls, keep, lines, run_through, says, stored, turns
from kedi_compile import (
    ConversationState,
    HistoryArchiveSettings,
    HistoryConfigurationError,
    HistoryProcessingWarning,
    history_scope,
)
from kedi_compile.history.archive_record import read_record
from kedi_compile.stores.held import HeldRecords
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import ArchiveStore, Gone
from kedi_compile.stores.sql import SQLConversationStore
from kedi_pydantic_ai import PydanticDialect

DIALECT = PydanticDialect()
SEEN = "I saw a long street with many houses. " * 20
CHECKPOINT = re.compile(
    r"Archived (\d+) completed tool exchanges? \(\d+ messages\) of this task, unchanged\. Outcomes: (.*)\. "
    r"To read them back: read_archive\(reference='[\w-]+', page=1\)\."
)


class FailingStore(HeldRecords):
    """A store that takes nothing."""

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        raise OSError("disk full")


def archive(threshold: int = 800, **options: Any) -> HistoryArchiveSettings:
    """Return settings that archive a look or two at a time."""
    return HistoryArchiveSettings(threshold, 0, 100, **options)


def look(call: str = "") -> str:
    """Look around."""
    if call == "fail":
        raise ModelRetry("There is fog.")
    return SEEN


def agent_of(script: Script, *capabilities: Any) -> Agent[Any, str]:
    """Return an agent with one tool that answers at length."""
    agent: Agent[Any, str] = Agent(script.model, capabilities=capabilities)
    agent.tool_plain(retries=3)(look)
    return agent


def looking(count: int) -> list[ModelResponse]:
    """Return answers that call the tool `count` times, one after another."""
    return [calls(f"c{number}") for number in range(1, count + 1)]


def short(messages: Sequence[ModelMessage]) -> list[str]:
    """Write messages as lines, a checkpoint as its numbers."""
    told = [CHECKPOINT.sub(r"archived \1: \2", text) for message in messages for text in checkpoint_texts(message)]
    return [
        line.replace("UserPromptPart", told.pop(0)) if "UserPromptPart" in line else line for line in lines(messages)
    ]


def checkpoint_texts(message: ModelMessage) -> list[str]:
    """Return the texts of its checkpoints."""
    prompts = [part.content for part in message.parts if isinstance(part, m.UserPromptPart)]
    return [item.content for content in prompts if isinstance(content, list) for item in content]


def references(messages: Sequence[ModelMessage]) -> list[str]:
    """Return the references that the checkpoints name, in order."""
    return [reference for message in messages for reference in DIALECT.archived(message)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_later_requests_see_the_checkpoint(entry: str) -> None:
    """Every way in: once the loop is too long, its old exchanges are one text, here and in the run's own lists."""
    script = Script(*looking(4), "done")
    agent = agent_of(script, adapter(history_archive=archive()))

    finished = run_through(entry, agent, "now", message_history=turns(1))

    assert [short(request) for request in script.requests[2:5]] == [
        ["< question 1", "> answer 1", "< now", "> call c1", "< result c1", "> call c2", "< result c2"],
        ["< question 1", "> answer 1", "< now | archived 2: look 2 ok", "> call c3", "< result c3"],
        [
            *("< question 1", "> answer 1", "< now | archived 2: look 2 ok"),
            *("> call c3", "< result c3", "> call c4", "< result c4"),
        ],
    ]
    assert short(finished.new_messages) == [
        *("< now", "< archived 2: look 2 ok", "> call c3", "< result c3", "> call c4", "< result c4", "> done"),
    ]
    assert finished.all_messages[2:] == finished.new_messages


def test_a_record_holds_the_very_messages() -> None:
    """Byte for byte what the dialect writes of them, and the same messages when they are read."""
    settings = archive()
    script = Script(*looking(3), "done")

    finished = run_through("run", agent_of(script, adapter(history_archive=settings)), "now")

    (reference,) = references(finished.all_messages)
    record = settings.find(reference, now=0.0)
    assert isinstance(record, bytes)
    archived = script.requests[2][1:5]
    assert list(read_record(record)) == [DIALECT.dump(message) for message in archived]
    assert all(map(DIALECT.same, map(DIALECT.load, read_record(record)), archived))


def test_failures_are_counted_apart() -> None:
    """A result that asks the model to try again is no success."""
    script = Script(calls("c1", call="fail"), *looking(3), "done")

    finished = run_through("run", agent_of(script, adapter(history_archive=archive())), "now")

    assert short(finished.all_messages)[1] == "< archived 3: look 2 ok, 1 failed"


def test_a_run_archives_as_often_as_it_must() -> None:
    """The checkpoints stand side by side behind the opening request, and each is a generation of its own."""
    epochs: list[int] = []

    def note(ctx: Context) -> Sequence[ModelMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.messages

    script = Script(*looking(5), "done")
    finished = run_through("run", agent_of(script, adapter(note, history_archive=archive())), "now")

    assert short(finished.all_messages) == [
        "< now",
        "< archived 2: look 2 ok",
        "< archived 2: look 2 ok",
        "> call c5",
        "< result c5",
        "> done",
    ]
    assert epochs == [0, 0, 0, 0, 1, 1]


def test_the_tool_is_there_from_the_first_request_on() -> None:
    """So that no later request changes the tools; without an archive there is none."""
    tools: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools.append([tool.name for tool in info.function_tools])
        return says("done") if len(messages) > 3 else calls(f"c{len(messages)}")

    for capability in (adapter(history_archive=archive()), adapter()):
        agent: Agent[Any, str] = Agent(FunctionModel(answer), capabilities=[capability])
        agent.tool_plain(look)
        run_through("run", agent, "now")

    assert tools[:3] == [["look", "read_archive"]] * 3
    assert tools[3:] == [["look"]] * 3


def test_the_model_reads_its_own_text_back() -> None:
    """Page by page; all pages together are the archived messages."""
    pages: list[str] = []

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        results = [part for message in messages for part in message.parts if isinstance(part, m.ToolReturnPart)]
        pages.extend(str(part.content) for part in results[-1:] if part.tool_name == "read_archive")
        if len(pages) == 3:
            return says("done")
        if found := references(messages):
            arguments = {"reference": found[0], "page": len(pages) + 1}
            return ModelResponse(parts=[m.ToolCallPart("read_archive", arguments, tool_call_id=f"r{len(pages)}")])
        return calls(f"c{len(messages)}")

    settings = archive(page_characters=1500)
    agent: Agent[Any, str] = Agent(FunctionModel(answer), capabilities=[adapter(history_archive=settings)])
    agent.tool_plain(look)
    run_through("run", agent, "now")

    heads, texts = zip(*(page.split("\n", 1) for page in pages), strict=True)
    assert [re.sub(r"'.*'", "it", head) for head in heads] == [
        f"Archive it, page {number} of 3, one message a line:" for number in (1, 2, 3)
    ]
    archived = [DIALECT.load(line.encode()) for line in "".join(texts).split("\n")]
    assert lines(archived) == ["> call c1", "< result c1", "> call c3", "< result c3"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_provider_error_takes_the_archive_back(entry: str) -> None:
    """The run's list is what it was, and the record is gone."""
    settings = archive()
    script = Script(*looking(3), ModelHTTPError(500, "scripted"))
    plain = Script(*looking(3), ModelHTTPError(500, "scripted"))

    left = []
    for agent in (agent_of(script, adapter(history_archive=settings)), agent_of(plain)):
        with capture_run_messages() as captured, pytest.raises(ModelHTTPError):
            run_through(entry, agent, "now")
        left.append(stored(captured))

    (reference,) = references(script.requests[3])
    assert left[0] == left[1]
    assert settings.find(reference, now=0.0) is Gone.RELEASED


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
    script = Script(*looking(3), "done")
    agent = agent_of(script, adapter(history_archive=archive(**options)))

    with pytest.warns(HistoryProcessingWarning, match=fault):
        run_through("run", agent, "now")

    assert len(script.requests[3]) == 7


def test_signed_reasoning_stays() -> None:
    """An exchange that holds it is not archived, those around it are."""
    script = Script(calls("c1"), calls("s1", thought="deep"), *looking(3)[1:], "done")

    finished = run_through("run", agent_of(script, adapter(history_archive=archive(1200))), "now")

    assert short(finished.all_messages)[:4] == [
        "< now",
        "< archived 2: look 2 ok",
        "> thought deep | call s1",
        "< result s1",
    ]


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")
def test_a_processor_cannot_remove_the_checkpoint() -> None:
    """It sees it, protected; keeping nothing keeps the group that holds it."""
    script = Script(*looking(3), "done", "again")
    agent = agent_of(script, adapter(keep(0), history_archive=archive()))
    first = run_through("run", agent, "now", message_history=turns(2))

    second = run_through("run", agent, "and then?", message_history=first.all_messages)

    assert short(first.all_messages)[:2] == ["< now", "< archived 2: look 2 ok"]
    assert short(second.all_messages) == [
        *("< now | archived 2: look 2 ok", "> call c3", "< result c3", "> done", "< and then?", "> again"),
    ]


def test_checkpoints_survive_the_hosts_cleaning_of_a_history() -> None:
    """It merges them with the question when the next run begins; they are not lost, nor by being written as JSON."""
    script = Script(*looking(5), "done", "again")
    agent = agent_of(script, adapter(history_archive=archive()))
    first = run_through("run", agent, "now")

    second = run_through("run", agent, "and then?", message_history=[*map(_written_and_read, first.all_messages)])

    assert len(references(first.all_messages)) == 2
    assert references(second.all_messages) == references(first.all_messages)


def _written_and_read(message: ModelMessage) -> ModelMessage:
    return DIALECT.load(DIALECT.dump(message))


def test_a_released_record_is_said_to_be_released() -> None:
    """The history that names it stays as it is."""
    settings = archive()
    script = Script(*looking(3), "done")
    agent = agent_of(script, adapter(history_archive=settings))
    first = run_through("run", agent, "now")
    (reference,) = references(first.all_messages)
    settings.release(reference)
    script = Script(_reads(reference), "done")

    second = run_through(
        "run", agent_of(script, adapter(history_archive=settings)), "go", message_history=first.all_messages
    )

    (answer,) = [part for message in second.new_messages for part in message.parts if part.part_kind == "tool-return"]
    assert answer.content == f"Archive {reference!r} was released; its text is gone for good. Go on without it."
    assert references(second.all_messages) == [reference]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_outlives_the_agent(kind: str, tmp_path: Path) -> None:
    """An agent that is made anew over the same store reads what the first one archived."""

    def store() -> ArchiveStore:
        return kept if kind == "memory" else SQLConversationStore(f"sqlite:///{tmp_path / 'archive.db'}")

    kept = MemoryConversationStore()
    first_agent = agent_of(Script(*looking(3), "done"), adapter(history_archive=archive(store=store())))
    first = run_through("run", first_agent, "now")
    (reference,) = references(first.all_messages)
    second_agent = agent_of(Script(_reads(reference), "done"), adapter(history_archive=archive(store=store())))

    second = run_through("run", second_agent, "go", message_history=first.all_messages)

    (answer,) = [part for message in second.new_messages for part in message.parts if part.part_kind == "tool-return"]
    assert str(answer.content).startswith(f"Archive {reference!r}, page 1 of 1, one message a line:\n{{")


def test_another_conversations_archive_cannot_be_read() -> None:
    """Whatever reference the model was told."""
    settings = archive()
    first = run_through("run", agent_of(Script(*looking(3), "done"), adapter(history_archive=settings)), "now")
    (reference,) = references(first.all_messages)
    script = Script(_reads(reference), "done")

    other = run_through("run", agent_of(script, adapter(history_archive=settings)), "now")

    (answer,) = [part for message in other.new_messages for part in message.parts if part.part_kind == "tool-return"]
    assert str(answer.content).startswith(f"There is no archive {reference!r} in this conversation")


def _reads(reference: str) -> ModelResponse:
    return ModelResponse(parts=[m.ToolCallPart("read_archive", {"reference": reference}, tool_call_id="r1")])


def test_a_conversation_keeps_its_checkpoints() -> None:
    """The turn commits the archived history, and the next one begins with it."""
    script = Script(*looking(3), "done", "again")
    agent = agent_of(script, adapter(history_archive=archive()))

    async def two_turns() -> None:
        await agent.run("now")
        await agent.run("and then?")

    with history_scope(enabled=True, state=ConversationState()):
        asyncio.run(two_turns())

    assert short(script.requests[4]) == [
        *("< now | archived 2: look 2 ok", "> call c3", "< result c3", "> done", "< and then?"),
    ]


def test_a_second_editor_is_refused() -> None:
    """A `ProcessHistory` would take checkpoints out, two archives would make two of each."""
    with pytest.raises(HistoryConfigurationError, match="`ProcessHistory` stands beside an adapter that edits"):
        agent_of(Script(), adapter(history_archive=archive()), ProcessHistory(lambda messages: messages))
    with pytest.raises(HistoryConfigurationError, match="2 `PydanticAdapter`s with a processor, an archive or a"):
        agent_of(Script(), adapter(history_archive=archive()), adapter(history_archive=archive()))


def test_what_is_no_archive_is_refused() -> None:
    """When the adapter is made."""
    with pytest.raises(HistoryConfigurationError, match="`history_archive` is True; it must be"):
        adapter(history_archive=True)


def test_a_result_beside_a_users_words_stays() -> None:
    """What a user said is never taken out of sight."""
    script = Script("done")
    history = [
        ModelRequest(parts=[m.UserPromptPart("now")]),
        calls("c1"),
        ModelRequest(parts=[m.ToolReturnPart("look", SEEN, tool_call_id="c1"), m.UserPromptPart("Mind the gap.")]),
        calls("c2"),
        ModelRequest(parts=[m.ToolReturnPart("look", SEEN, tool_call_id="c2")]),
        calls("c3"),
        ModelRequest(parts=[m.ToolReturnPart("look", SEEN, tool_call_id="c3")]),
    ]

    run_through("run", agent_of(script, adapter(history_archive=archive(300))), None, message_history=history)

    assert short(script.requests[0]) == [
        *("< now | archived 1: look 1 ok", "> call c1", "< result c1 | Mind the gap.", "> call c3", "< result c3"),
    ]
