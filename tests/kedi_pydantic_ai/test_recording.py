"""The dump of a Pydantic AI agent's requests: one line each, whatever became of it.

What is in a refused or cancelled one is also in `test_assembly_failures.py`, where the lines go in
`test_recording_kept.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError, RetryModelRequest, SkipModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from agents import (
    ENTRY_POINTS,
    STREAMING,
    Answer,
    Context,
    Partial,
    Script,
    adapter,
    calls,
    keep,
    run_through,
    says,
    signed,
    turns,
)
from assemblies import Dumps, compiler, phased, steered
from assembling import inputs
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.assembly import Acknowledgement, RequestCompiler
from kedi_compile.dump.schema import GroupDump, HistoryDump, UsageDump

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)
WHOLE = pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry not in STREAMING])
OPTIONS: list[dict[str, Any]] = [{}, {"processor": keep(1)}, {"request_compiler": compiler()}]
OVERLOADED = ModelHTTPError(529, "scripted", {"error": "overloaded"})


def agent_with(*answers: Answer, beside: tuple[Any, ...] = (), processor: Any = None, **options: Any) -> AnyAgent:
    """Return an agent with one tool whose adapter writes its requests down."""
    agent: AnyAgent = Agent(Script(*answers).model, capabilities=[*beside, adapter(processor, **options)])
    agent.tool_plain(look)
    return agent


def look() -> str:
    """Look around."""
    return "seen"


@EACH
def test_each_request_of_a_run_is_one_line(entry: str) -> None:
    """With the run, its place in it, and who made it."""
    dumps = Dumps()

    run_through(entry, agent_with(calls("c1"), "done", dump=dumps), "now")

    assert dumps.outcomes == ["answered", "answered"]
    assert [dump.request_index for dump in dumps] == [1, 2]
    assert {(dump.adapter, dump.model_id, dump.lane) for dump in dumps} == {("pydantic", "function:scripted", None)}
    assert len({dump.conversation_id for dump in dumps} - {None}) == 1  # the host names each
    assert len({dump.run_id for dump in dumps}) == 1
    assert len({dump.request_id for dump in dumps}) == 2
    assert all(dump.duration is not None and dump.duration >= 0 for dump in dumps)


@EACH
def test_a_dump_alone_looks_at_no_history(entry: str) -> None:
    """Without a processor nobody processes it."""
    dumps = Dumps()

    run_through(entry, agent_with("done", dump=dumps), "now", message_history=turns(3))

    assert (dumps.only.history, dumps.only.assembly) == (HistoryDump(outcome="not_processed"), None)


@EACH
def test_the_edit_of_the_request_is_told_group_by_group(entry: str) -> None:
    """What was dropped and what was protected, from where on, and the generations."""
    dumps = Dumps()
    history = turns(3)
    history[3] = ModelResponse([signed("hm"), *says("answer 2").parts])

    run_through(entry, agent_with("done", processor=keep(1), dump=dumps), "now", message_history=history)

    told = dumps.only.history
    assert [(one.start, one.end, one.closed, one.protected_reasons, one.decision) for one in told.groups] == [
        (0, 2, True, (), "dropped"),
        (2, 4, True, ("signed_reasoning",), "kept"),
        (4, 6, True, (), "kept"),
        (6, 7, False, ("current_request",), "kept"),
    ]
    assert (told.outcome, told.first_change, told.generation_before, told.generation_after) == ("edited", 0, 0, 1)
    assert (told.tokens_before or 0) > (told.tokens_after or 0) > 0
    assert told.continuation != ()


@EACH
def test_the_next_request_is_told_of_its_own_edit(entry: str) -> None:
    """The generation goes on from that of the one before."""
    dumps = Dumps()

    run_through(entry, agent_with(calls("c1"), "done", processor=keep(1), dump=dumps), "now", message_history=turns(3))

    found = [(dump.history.outcome, dump.history.generation_before, dump.history.generation_after) for dump in dumps]
    assert found == [("edited", 0, 1), ("unchanged", 1, 1)]
    assert all(isinstance(group, GroupDump) for dump in dumps for group in dump.history.groups)


def split(ctx: Context) -> Any:
    """Break a group in two."""
    return ctx.messages[1:]


@EACH
def test_a_refused_edit_is_told_with_what_it_breaks(entry: str) -> None:
    """Nothing was sent, and nothing was assembled."""
    dumps = Dumps()
    agent = agent_with("never", processor=split, dump=dumps, request_compiler=compiler())

    with pytest.raises(HistoryProcessingValidationError):
        run_through(entry, agent, "now", message_history=turns(3))

    assert (dumps.only.outcome, dumps.only.history.outcome) == ("refused", "refused")
    assert [text.partition(":")[0] for text in dumps.only.history.violations] == ["split_group", "turn_order"]
    assert (dumps.only.error or "").startswith("HistoryProcessingValidationError: ")
    assert dumps.only.assembly is None


@EACH
def test_a_failed_request_is_told_with_its_error(entry: str) -> None:
    """And with the edit, which was taken back behind it."""
    dumps = Dumps()

    with pytest.raises(ModelHTTPError):
        run_through(entry, agent_with(OVERLOADED, processor=keep(1), dump=dumps), "now", message_history=turns(3))

    assert (dumps.only.outcome, dumps.only.history.outcome) == ("failed", "edited")
    assert (dumps.only.error or "").startswith("ModelHTTPError: status_code: 529")
    assert dumps.only.usage == UsageDump()


@EACH
def test_an_answer_that_breaks_off_is_a_failure(entry: str) -> None:
    """Also in a stream, where the host raises it in front of the reader and not around the request."""
    dumps = Dumps()

    async def fail() -> None:
        raise OVERLOADED

    with pytest.raises(ModelHTTPError):
        run_through(entry, agent_with(Partial("par", fail), dump=dumps), "now")

    assert dumps.outcomes == ["failed"]
    assert (dumps.only.error or "").startswith("ModelHTTPError: status_code: 529")


@WHOLE
def test_the_usage_is_the_providers(entry: str) -> None:
    """With what it read from its cache and wrote into it."""
    dumps = Dumps()
    usage = RequestUsage(input_tokens=60, output_tokens=40, cache_read_tokens=30, cache_write_tokens=20)

    run_through(entry, agent_with(says("done", usage=usage), dump=dumps), "now")

    assert dumps.only.usage == UsageDump(input=60, output=40, cache_read=30, cache_write=20)


@EACH
def test_the_assembly_is_told_with_what_was_sent(entry: str) -> None:
    """A contract is in force where its body was in the instructions that a model was handed."""
    dumps = Dumps()
    script = Script(calls("c1", tool="read"), "done")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=phased(), dump=dumps)])
    agent.tool_plain(name="read")(look)

    run_through(entry, agent, "now")

    told = [dump.assembly for dump in dumps]
    assert [[(one.id, one.in_force) for one in each.contracts] for each in told if each] == [
        [],
        [("discovery", True)],
    ]
    assert [each.contracts_changed for each in told if each] == [False, True]
    assert [[(tail.number, tail.new) for tail in each.tails] for each in told if each] == [[(1, True)], [(1, False)]]
    assert [each.phase for each in told if each] == [None, "explore"]


@EACH
def test_a_contract_that_was_not_sent_is_not_in_force(entry: str) -> None:
    """The provider was never asked, because another capability gave up the request."""
    dumps = Dumps()
    used = RequestCompiler(phased().contracts, inputs=inputs(calls=("read",)), tool_phases={"read": "explore"})
    skips = Prepare(raising(SkipModelRequest(says("from a cache"))))

    run_through(entry, agent_with("never", beside=(skips,), request_compiler=used, dump=dumps), "now")

    told = dumps.only.assembly
    assert told is not None
    assert [(one.id, one.in_force) for one in told.contracts] == [("discovery", False)]


@EACH
def test_steering_is_told_from_its_beginning_to_its_end(entry: str) -> None:
    """By the structured acknowledgement, which a tool may make."""
    dumps, given = Dumps(), steered()

    def acknowledge() -> str:
        given.frame.acknowledge(Acknowledgement("s1", "the agent"))
        return "done"

    script = Script(calls("c1"), "done")
    agent: AnyAgent = Agent(
        script.model, capabilities=[adapter(request_compiler=RequestCompiler(inputs=given), dump=dumps)]
    )
    agent.tool_plain(name="look")(acknowledge)
    run_through(entry, agent, "now")

    told = [dump.assembly for dump in dumps]
    assert [[(one.id, one.state, one.by) for one in each.steering] for each in told if each] == [
        [("s1", "active", None)],
        [("s1", "acknowledged", "the agent")],
    ]


Act = Callable[[RunContext[Any]], None]


@dataclass
class Prepare(AbstractCapability[Any]):
    """Does `act` while each attempt is prepared."""

    act: Act

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.act(ctx)
        return request_context


@dataclass
class Before(AbstractCapability[Any]):
    """Does `act` before each request."""

    act: Act

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.act(ctx)
        return request_context


@dataclass
class After(AbstractCapability[Any]):
    """Does `act` after each answer."""

    act: Act

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        self.act(ctx)
        return response


def raising(error: Exception) -> Act:
    """Return an act that raises the first time."""
    pending = [error]

    def act(ctx: RunContext[Any]) -> None:
        if pending:
            raise pending.pop()

    return act


@pytest.mark.parametrize("options", OPTIONS, ids=["dump", "edited", "assembled"])
@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_stream"])
def test_an_answer_that_a_hook_has_said_again_was_answered(entry: str, options: dict[str, Any]) -> None:
    """A retry keeps it and asks again: two requests, two lines."""
    dumps = Dumps()
    again = After(raising(ModelRetry("say more")))

    run_through(entry, agent_with("wrong", "right", beside=(again,), dump=dumps, **options), "now")

    assert dumps.outcomes == ["answered", "answered"]


@pytest.mark.parametrize("hook", [Before, Prepare])
@pytest.mark.parametrize("options", OPTIONS, ids=["dump", "edited", "assembled"])
@EACH
def test_a_request_that_another_capability_answers_was_given_up(
    entry: str, options: dict[str, Any], hook: Callable[[Act], AbstractCapability[Any]]
) -> None:
    """No model was asked, and nobody failed."""
    dumps = Dumps()
    skips = hook(raising(SkipModelRequest(says("from a cache"))))

    run_through(entry, agent_with("never", beside=(skips,), dump=dumps, **options), "now", message_history=turns(2))

    assert dumps.outcomes == ["cancelled"]
    assert (dumps.only.error or "").startswith("SkipModelRequest")
    assert dumps.only.usage == UsageDump()


@EACH
def test_all_attempts_of_a_fallback_are_one_request(entry: str) -> None:
    """It is one request of the run, and its outcome is the last one's."""
    dumps = Dumps()
    model = FallbackModel(Script(OVERLOADED).model, Script("done").model)
    agent: AnyAgent = Agent(model, capabilities=[adapter(keep(1), dump=dumps)])

    run_through(entry, agent, "now", message_history=turns(3))

    assert dumps.outcomes == ["answered"]


@dataclass
class OnError(AbstractCapability[Any]):
    """Raises `instead` when a model has failed."""

    instead: Exception

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        raise self.instead


@pytest.mark.parametrize("options", OPTIONS, ids=["dump", "edited", "assembled"])
def test_an_answer_that_was_rejected_is_not_that_of_the_next_attempt(options: dict[str, Any]) -> None:
    """The second attempt failed, and another capability answered in its place."""
    dumps = Dumps()
    rejects, skips = After(raising(RetryModelRequest())), OnError(SkipModelRequest(says("from a cache")))
    agent = agent_with("rejected", OVERLOADED, beside=(rejects, skips), dump=dumps, **options)

    run_through("run", agent, "now", message_history=turns(2))

    assert dumps.outcomes == ["cancelled"]
    assert dumps.only.usage == UsageDump()
