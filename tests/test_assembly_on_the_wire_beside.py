"""Assembled requests on the wire beside what else changes a request: others, attempts, edits, archives, budgets.

The table and the provider are those of `test_assembly_on_the_wire.py`. What of these differs between the frameworks has
its own test, with the reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from pydantic_ai import ImageUrl
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ModelFallback
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.tools import RunContext

from emulator import Answer
from kedi_compile import AssemblyError, BudgetExceeded, HistoryArchiveSettings
from kedi_compile.assembly import ContextBudget, Contract, LiveRequest, RequestCompiler, RequestInputs
from kedi_langchain import LangChainAdapter
from kedi_pydantic_ai import PydanticAdapter
from recording import Lane
from recording_langchain import ChatProvider
from teams import (
    EVERY_TEAM,
    OBJECTIVE,
    STEERING,
    SUCCESSOR,
    LangChainTeam,
    PydanticTeam,
    Sent,
    Task,
    Team,
    appended,
    compiler,
    lanes,
    loop,
    team,
)

BODY = "body of the valve"
RULES = "Rules of the pump."
RULE = Contract("pump", "1", RULES, explicit_only=True)
CAT = "https://example.com/cat.png"


@pytest.fixture
async def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatProvider]:
    """The emulator, whatever keys are in the environment; it fails a test in which it refused anything."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    lane: Lane = request.param
    async with ChatProvider(lane, recording=True) as provider:
        yield provider


@dataclass
class Instructs(AbstractCapability[Any]):
    """Changes the instructions of each attempt; `last` asks for a place behind the adapter."""

    change: Callable[[list[Any]], list[Any]]
    last: bool = False

    def get_ordering(self) -> CapabilityOrdering | None:
        return CapabilityOrdering(position="innermost", wrapped_by=(PydanticAdapter,)) if self.last else None

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        parts = self.change(list(parameters.instruction_parts or []))
        request_context.model_request_parameters = replace(parameters, instruction_parts=parts)
        return request_context


class Restates(AgentMiddleware[Any, Any]):
    """Changes the system message of each request."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request.override(system_message=SystemMessage(self._change(request.system_message.text))))


def ruled(kind: type[Team], provider: ChatProvider) -> Team:
    """Return a team with one contract that always applies."""
    task = Task()
    rules = RequestCompiler(compiler(task, RULE).contracts, inputs=task.inputs(), reference_contract_modules=["pump"])
    return kind(provider, rules, task)


@lanes()
async def test_instructions_changed_behind_a_contract_are_not_sent(provider: ChatProvider) -> None:
    """Pydantic AI lets the adapter look last, so a request without the contract's body never leaves."""
    crew = ruled(PydanticTeam, provider)

    with pytest.raises(AssemblyError, match="is not in the request any more"):
        await crew.ask("Go on.", behind=[Instructs(lambda parts: parts[1:], last=True)])

    assert provider.sent == []
    assert crew.dumped[-1].outcome == "refused"


@lanes()
async def test_a_system_message_changed_behind_a_contract_leaves_it_not_in_force(provider: ChatProvider) -> None:
    """LangChain hands the request on to a middleware behind; the dump goes by what the model was handed."""
    crew = ruled(LangChainTeam, provider)

    await crew.ask("Go on.", *loop(2, thinks=False), behind=[Restates(lambda text: text.replace(RULES, "None."))])

    assert [RULES in one.system for one in crew.sent] == [False, False]
    assert [[found.in_force for found in one.contracts] for one in crew.assembled] == [[False], [False]]


@lanes()
@EVERY_TEAM
@pytest.mark.parametrize("side", ["around", "behind"])
async def test_what_leaves_the_body_where_it_is_leaves_the_contract_in_force(
    kind: type[Team], provider: ChatProvider, side: str
) -> None:
    """Instructions that others add, in front or behind, are sent beside it."""
    crew = ruled(kind, provider)
    others: dict[type[Team], Any] = {
        PydanticTeam: Instructs(lambda parts: [*parts, replace(parts[-1], content="Be kind.")]),
        LangChainTeam: Restates(lambda text: f"{text}\n\nBe kind."),
    }

    await crew.ask("Go on.", *loop(2, thinks=False), **{side: [others[kind]]})

    assert [(RULES in one.system, "Be kind." in one.system) for one in crew.sent] == [(True, True)] * 2
    assert [[found.in_force for found in one.contracts] for one in crew.assembled] == [[True], [True]]
    assert appended(crew.sent) == [True]


def down(_body: object) -> Answer:
    """Be out of order."""
    raise ConnectionError


@dataclass
class Asked:
    """A callback that gives the inputs; the frame is changed each time it is asked."""

    task: Task
    indices: list[int]

    def __call__(self, live: LiveRequest) -> RequestInputs:
        self.indices.append(live.request_index)
        self.task.steer(f"s{len(self.indices)}")
        return self.task.inputs()


def asking(kind: type[Team], provider: ChatProvider) -> tuple[Team, Asked]:
    """Return a team whose inputs change whenever they are asked for."""
    task = Task()
    asked = Asked(task, [])
    return kind(provider, RequestCompiler(inputs=asked), task), asked


class Retries(AbstractCapability[Any]):
    """Wants each failed attempt again."""

    async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> ModelResponse:
        raise RetryModelRequest


@dataclass
class Rejects(AbstractCapability[Any]):
    """Wants each first answer of a request again."""

    answers: int = 0

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: ModelResponse) -> ModelResponse:
        self.answers += 1
        if self.answers % 2:
            raise RetryModelRequest
        return response


FIRST, SECOND = loop(2, thinks=False)


def retrying(_provider: ChatProvider) -> dict[str, Any]:
    """Retry at once."""
    return {"around": [ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)]}


def retrying_behind(provider: ChatProvider) -> dict[str, Any]:
    """Retry between our middleware and the model."""
    return {"behind": retrying(provider)["around"]}


ATTEMPTS: Mapping[str, tuple[type[Team], Callable[[ChatProvider], dict[str, Any]]]] = {
    "FallbackModel": (
        PydanticTeam,
        lambda provider: {"model": FallbackModel(provider.model(), provider.model(), fallback_on=(Exception,))},
    ),
    "ModelFallback": (
        PydanticTeam,
        lambda provider: {"behind": [ModelFallback(provider.model(), fallback_on=(Exception,))]},
    ),
    "RetryModelRequest": (PydanticTeam, lambda _provider: {"around": [Retries()]}),
    "ModelRetryMiddleware": (LangChainTeam, retrying),
    "ModelRetryMiddleware behind": (LangChainTeam, retrying_behind),
    "ModelFallbackMiddleware": (
        LangChainTeam,
        lambda provider: {"around": [ModelFallbackMiddleware(provider.chat())]},
    ),
    "ModelFallbackMiddleware behind": (
        LangChainTeam,
        lambda provider: {"behind": [ModelFallbackMiddleware(provider.chat())]},
    ),
}


@lanes()
@pytest.mark.parametrize("name", ATTEMPTS)
async def test_each_attempt_sends_the_same_bytes(name: str, provider: ChatProvider) -> None:
    """The inputs are asked for once a request, however often it is tried."""
    kind, options = ATTEMPTS[name]
    crew, asked = asking(kind, provider)

    await crew.ask("Go on.", down, FIRST, down, SECOND, **options(provider))

    _check_twice(crew, asked)


@lanes(streams=False)
async def test_an_answer_that_is_rejected_is_asked_for_with_the_same_bytes(provider: ChatProvider) -> None:
    """`RetryModelRequest` behind an answer, which the host does not take for one that was streamed."""
    crew, asked = asking(PydanticTeam, provider)

    await crew.ask("Go on.", FIRST, FIRST, SECOND, SECOND, around=[Rejects()])

    _check_twice(crew, asked)


def _check_twice(crew: Team, asked: Asked) -> None:
    first, again, second, second_again = crew.sent
    assert (first.head, first.messages) == (again.head, again.messages)
    assert (second.head, second.messages) == (second_again.head, second_again.messages)
    assert asked.indices == [1, 2]
    assert appended([again, second]) == [True]


@lanes(streams=False)
@pytest.mark.parametrize("way", ["with_retry", "with_fallbacks"])
async def test_each_attempt_of_a_wrapped_model_sends_the_same_bytes(way: str, provider: ChatProvider) -> None:
    """A runnable that tries again is one call of the model."""
    task = Task()
    asked = Asked(task, [])
    wrapped = LangChainAdapter(request_compiler=RequestCompiler(inputs=asked)).wrap(provider.chat())
    trying: dict[str, Callable[[], Runnable[Any, Any]]] = {
        "with_retry": lambda: wrapped.with_retry(stop_after_attempt=2, wait_exponential_jitter=False),
        "with_fallbacks": lambda: wrapped.with_fallbacks([provider.chat()]),
    }
    provider.script(down, "Done.")

    await trying[way]().ainvoke([HumanMessage("Go on.")])

    first, again = (Sent(body) for body in provider.bodies)
    assert (first.head, first.messages) == (again.head, again.messages)
    assert first.user[1] == "Go on."
    assert asked.indices == [1]


@lanes("anthropic", "responses")
@EVERY_TEAM
async def test_the_late_part_stands_around_the_users_text_and_behind_results(
    kind: type[Team], provider: ChatProvider
) -> None:
    """Places 5 to 7 in front and steering behind, with images where they are; by results both behind."""
    task = Task({2: lambda task: task.steer("s2")})
    task.steer("s1")
    crew = team(kind, provider, task)
    prompts: dict[type[Team], Any] = {
        PydanticTeam: ["Look at", ImageUrl(CAT), "and say."],
        LangChainTeam: [
            {"type": "text", "text": "Look at"},
            {"type": "image_url", "image_url": {"url": CAT}},
            {"type": "text", "text": "and say."},
        ],
    }

    await crew.ask(prompts[kind], *loop(2, thinks=False))

    before, *said, slot = crew.sent[0].user
    assert before.startswith('# Task epoch "e1"')
    assert said == ["Look at", "<image>", "and say."]
    assert slot.startswith(f'{STEERING}s1"')
    assert crew.sent[1].user[:6] == [*crew.sent[0].user, "<result>"]
    late = "\n\n".join(crew.sent[1].user[6:])
    assert late.startswith(f'{SUCCESSOR}\n\n# Task epoch "e1"')
    assert 0 < late.find(OBJECTIVE) < late.find(f'{STEERING}s2"')
    assert CAT in str(provider.bodies[1])


@lanes()
@EVERY_TEAM
@pytest.mark.parametrize("remembers", [False, True], ids=["own history", "conversation"])
async def test_an_edit_and_a_tail_in_one_request(kind: type[Team], provider: ChatProvider, remembers: bool) -> None:
    """The first request of the third turn loses the first turn; the dump says so, and all others are appended to."""
    crew = team(
        kind,
        provider,
        Task({2: lambda task: task.read("valve.txt", BODY)}),
        remembers=remembers,
        history_processor=lambda ctx: ctx.keep_recent_groups(1),
    )

    for prompt in ("One.", "Two.", "Three."):
        await crew.ask(prompt, *loop(3, thinks=False))

    assert [dump.history.outcome for dump in crew.dumped] == ["unchanged"] * 6 + ["edited"] + ["unchanged"] * 2
    assert appended(crew.sent) == [True, True, False, True, True, False, True, True]
    assert [len(one.tails) for one in crew.sent] == [1, 2, 2, 1, 1, 1, 1, 1, 1]
    assert crew.sent[6].user == ["Two.", *["<result>"] * 2, crew.sent[6].tails[0], "Three."]
    assert OBJECTIVE not in crew.kept


@lanes()
@EVERY_TEAM
async def test_tails_leave_with_archived_exchanges_and_their_evidence_is_shown_again(
    kind: type[Team], provider: ChatProvider
) -> None:
    """The dump says which left; the body stands in the tail of the very request that lost the other one."""
    crew = team(
        kind,
        provider,
        Task({2: lambda task: task.read("valve.txt", BODY)}),
        history_archive=HistoryArchiveSettings(500, 200, 0),
    )

    await crew.ask("Go on.", *loop(9, thinks=False))

    assert [dump.history.outcome for dump in crew.dumped] == ["skipped"] * 7 + ["edited", "skipped"]
    assert appended(crew.sent) == [True] * 6 + [False, True]
    note = "earlier tails left with the messages they stood by: tail 2"
    assert [one.notes for one in crew.assembled] == [()] * 7 + [(note,), ()]
    assert [[tail.number for tail in one.tails] for one in crew.assembled[6:]] == [[1, 2], [1, 3], [1, 3]]
    assert ["".join(one.tails).count(BODY) for one in crew.sent] == [0] + [1] * 8
    assert BODY in crew.sent[7].tails[-1]
    assert [one.sources[0].visibility for one in crew.assembled[6:]] == [
        "visible_earlier",
        "visible",
        "visible_earlier",
    ]
    assert OBJECTIVE not in crew.kept


@lanes()
@EVERY_TEAM
async def test_the_budget_counts_the_history_and_all_tails(kind: type[Team], provider: ChatProvider) -> None:
    """Where there is no room for earlier tails they are left out, and a request that is too long is not sent."""
    task = Task({2: _reads(2), 3: _reads(3), 4: _reads(4)})
    crew = kind(provider, compiler(task, budget=ContextBudget(900)), task)

    with pytest.raises(BudgetExceeded, match=r"history +460"):
        await crew.ask("Go on.", *loop(9, thinks=False))

    assert [one.budget.by_source["history"] for one in crew.assembled] == [10, 85, 160, 235, 310, 385]
    assert all(one.budget.total <= 900 for one in crew.assembled)
    assert [one.budget.by_source["tails"] for one in crew.assembled] == [0, 90, 340, 0, 0, 0]
    assert [[tail.tokens for tail in one.tails] for one in crew.assembled[:4]] == [
        *([55], [55, 250], [55, 250, 212], [444]),
    ]
    no_room = "earlier tails were left out, because there is no room for them: tail 1, tail 2, tail 3"
    assert [one.notes for one in crew.assembled[:4]] == [(), (), (), (no_room,)]
    assert [len(one.tails) for one in crew.sent] == [1, 2, 3, 1, 1, 1]


def _reads(number: int) -> Callable[[Task], None]:
    return lambda task: task.read(f"{number}.txt", BODY * 20)
