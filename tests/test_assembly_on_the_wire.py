"""Assembled requests on the wire: one table of loops that both adapters drive against a provider on this machine.

The vendors' own clients talk to the emulator, which refuses what the providers refuse: on a binding model every thought
whose prefix changed, and on the Responses API what does not fit what it holds. What is asserted is the bytes that were
sent, not what the adapters say of them; where they say something too, both must agree.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from emulator import Step
from kedi_compile import HistoryArchiveSettings, HistoryProcessingValidationError
from kedi_compile.assembly import (
    Acknowledgement,
    Contract,
    ExperimentalFlag,
    Mutation,
    Phase,
)
from recording import Lane
from recording_langchain import ChatProvider
from teams import (
    BINDING_MODEL,
    EVERY_TEAM,
    OBJECTIVE,
    PydanticTeam,
    Task,
    Team,
    appended,
    compiler,
    lanes,
    loop,
    team,
)

BODY = "body of the valve"

CHANGES = {
    2: lambda task: task.frame.mutate(Mutation("m1", "Turned the valve.")),
    4: lambda task: task.read("valve.txt", BODY),
    7: lambda task: task.steer("s1"),
    9: lambda task: task.frame.acknowledge(Acknowledgement("s1", "the tool look")),
}

RULES = "Rules of implementation."

STATE = {"previous_response_id", "conversation"}

EVERY_MEMORY = pytest.mark.parametrize("remembers", [False, True], ids=["own history", "conversation"])


@pytest.fixture
async def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatProvider]:
    """The emulator, whatever keys are in the environment; it fails a test in which it refused anything."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    lane: Lane = request.param
    async with ChatProvider(lane, recording=True) as provider:
        yield provider


def binding(provider: ChatProvider, kind: type[Team]) -> Any:
    """Return the host's model of the lane; on Anthropic one that binds thinking to its prefix."""
    name = BINDING_MODEL if provider.lane.dialect == "anthropic" else None
    return provider.model(name) if kind is PydanticTeam else provider.chat(name)


@lanes()
@EVERY_TEAM
@EVERY_MEMORY
async def test_tails_are_appended_where_the_frame_changes(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """In a loop of ten requests each is a prefix of the next, and nothing of the tails outlives the run."""
    thinks = provider.lane.dialect == "anthropic"
    crew = team(kind, provider, Task(CHANGES), remembers=remembers)

    await crew.ask("Go on.", *loop(thinks=thinks), model=binding(provider, kind))

    assert appended(crew.sent) == [True] * 9
    assert [len(one.tails) for one in crew.sent] == [1, 2, 2, 3, 3, 3, 4, 4, 5, 5]
    assert [[tail.number for tail in one.tails if tail.new] for one in crew.assembled] == [
        *([1], [2], [], [3], [], [], [4], [], [5], []),
    ]
    assert [one.user.count(BODY) for one in crew.sent] == [0] * 10
    assert OBJECTIVE not in crew.kept
    assert "Go on." in crew.kept


@lanes("anthropic")
@EVERY_TEAM
@EVERY_MEMORY
async def test_a_new_turn_does_not_send_thoughts_that_tails_stood_before(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """Their prefix left with the tails of their run, so the request is refused before it is sent."""
    crew = team(kind, provider, Task(CHANGES), remembers=remembers)
    await crew.ask("Go on.", *loop(), model=binding(provider, kind))

    with pytest.raises(HistoryProcessingValidationError, match="what was assembled around it") as caught:
        await crew.ask("And now?", "Nothing.", model=binding(provider, kind))

    assert {violation.rule for violation in caught.value.violations} == {"bound_reasoning"}
    assert "bound_reasoning='strip'" in str(caught.value)
    assert len(crew.sent) == 10
    assert crew.dumped[-1].outcome == "refused"


@lanes("anthropic")
@EVERY_TEAM
@EVERY_MEMORY
async def test_a_new_turn_goes_without_the_thoughts_where_they_may_be_stripped(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """The closed turn loses its reasoning and its tails; the new one has its own, in the request and nowhere else."""
    crew = team(kind, provider, Task(CHANGES), remembers=remembers, bound_reasoning="strip")
    await crew.ask("Go on.", *loop(), model=binding(provider, kind))

    await crew.ask("And now?", *loop(3), model=binding(provider, kind))

    assert [b"Hm." in b"".join(one.messages) for one in crew.sent] == [False] + [True] * 9 + [False, True, True]
    assert appended(crew.sent[10:]) == [True, True]
    assert [len(one.tails) for one in crew.sent[10:]] == [1, 1, 1]
    assert crew.sent[10].user == ["Go on.", *["<result>"] * 9, crew.sent[10].tails[0], "And now?"]
    assert "Turned the valve." in crew.sent[10].tails[0]
    assert BODY in crew.sent[10].tails[0]
    assert OBJECTIVE not in crew.kept


@lanes("anthropic")
@EVERY_TEAM
@EVERY_MEMORY
async def test_four_turns_of_a_binding_model_are_accepted_with_edits_and_an_archive(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """Edits come with the first request of a turn; in its loop the archive leaves bound reasoning alone."""
    crew = team(
        kind,
        provider,
        Task(CHANGES),
        remembers=remembers,
        bound_reasoning="strip",
        reasoning_protection="open_cycle",
        history_processor=lambda ctx: ctx.keep_recent_groups(1),
        history_archive=HistoryArchiveSettings(300, 100, 0),
    )

    for prompt in ("One.", "Two.", "Three.", "Four."):
        await crew.ask(prompt, *loop(5), model=binding(provider, kind))

    assert appended(crew.sent) == [*[True] * 4, *[False, True, True, True, True] * 3]
    edited = [number for number, dump in enumerate(crew.dumped, start=1) if dump.history.outcome == "edited"]
    assert edited == [6, 11, 16]
    assert OBJECTIVE not in crew.kept


CHAINS: Mapping[str, Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "pydantic_ai": {
        "automatic": lambda _id: {"openai_previous_response_id": "auto"},
        "fixed": lambda id_: {"openai_previous_response_id": id_},
        "conversation": lambda id_: {"openai_conversation_id": id_},
    },
    "langchain": {
        "automatic": lambda _id: {"use_previous_response_id": True},
        "fixed": lambda id_: {"model_kwargs": {"previous_response_id": id_}},
        "conversation": lambda id_: {"model_kwargs": {"conversation": id_}},
    },
}


async def chained(kind: type[Team], provider: ChatProvider, chain: str) -> dict[str, Any]:
    """Return settings by which the host goes on from what the server holds."""
    openai = provider.openai()
    if chain == "conversation":
        held = (await openai.conversations.create()).id
    else:
        provider.script("Well.")
        held = (await openai.responses.create(model="gpt-4.1-mini", input="Before.")).id
        provider.sent.clear()
    return CHAINS[kind.name][chain](held)


@lanes("responses")
@EVERY_TEAM
@pytest.mark.parametrize("chain", ["automatic", "fixed", "conversation"])
async def test_no_request_with_a_tail_goes_on_from_what_a_server_holds(
    kind: type[Team], provider: ChatProvider, chain: str
) -> None:
    """Each request of two turns carries the whole history, and the server adds nothing to it."""
    settings = await chained(kind, provider, chain)
    crew = team(kind, provider, Task(CHANGES))

    await crew.ask("Go on.", *loop(thinks=False), settings=settings)
    await crew.ask("And now?", *loop(2, thinks=False), settings=settings)

    assert [STATE & body.keys() for body in provider.bodies] == [set()] * 12
    assert appended(crew.sent[:10]) == [True] * 9
    assert [one.user.count("<result>") for one in crew.sent] == [*range(10), 9, 10]
    assert [len(one.tails) for one in crew.sent] == [1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 1, 1]
    assert OBJECTIVE not in crew.kept


@lanes("responses")
@EVERY_TEAM
@EVERY_MEMORY
async def test_a_chain_ends_where_requests_begin_to_be_assembled(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """The turn before had none, and its answers could be gone on from."""
    settings = CHAINS[kind.name]["automatic"]("")
    crew = team(kind, provider, Task(CHANGES), remembers=remembers)
    given, crew.options["request_compiler"] = crew.compiler, None
    await crew.ask("Go on.", *loop(2, thinks=False), settings=settings)
    crew.options["request_compiler"] = given

    await crew.ask("And now?", *loop(2, thinks=False), settings=settings)

    assert [body.get("previous_response_id") for body in provider.bodies] == [None, "resp_0001", None, None]
    assert crew.sent[2].user == ["Go on.", "<result>", crew.sent[2].tails[0], "And now?"]


@lanes("responses")
@EVERY_TEAM
@EVERY_MEMORY
async def test_nothing_a_server_holds_brings_a_tail_back(
    kind: type[Team], provider: ChatProvider, remembers: bool
) -> None:
    """Not even in a turn without a compiler, which goes on from its own answers alone."""
    settings = CHAINS[kind.name]["automatic"]("")
    crew = team(kind, provider, Task(CHANGES), remembers=remembers)
    await crew.ask("Go on.", *loop(3, thinks=False), settings=settings)
    crew.options["request_compiler"] = None

    await crew.ask("And now?", *loop(2, thinks=False), settings=settings)

    named = [body.get("previous_response_id") for body in provider.bodies]
    assert named == [None, None, None, None, "resp_0004"]
    assert crew.sent[3].user == ["Go on.", "<result>", "<result>", "And now?"]


def building(kind: type[Team], provider: ChatProvider, task: Task) -> Team:
    """Return a team with a contract for phase implement."""
    return kind(provider, compiler(task, Contract("building", "1", RULES, frozenset({Phase.IMPLEMENT}))), task)


def turning(*, thinks: bool) -> list[Step]:
    """Return a loop whose second call edits, so that request 3 is in phase implement."""
    return [*loop(thinks=thinks)[:1], loop(thinks=thinks, tool="edit")[1], *loop(thinks=thinks)[2:]]


@lanes()
@EVERY_TEAM
async def test_the_stable_text_changes_where_the_contracts_do_and_the_dump_says_so(
    kind: type[Team], provider: ChatProvider
) -> None:
    """The third request is in another phase; all others are prefixes of the next."""
    crew = building(kind, provider, Task(CHANGES))

    await crew.ask("Go on.", *turning(thinks=False))

    assert appended(crew.sent) == [True, False, *[True] * 7]
    assert [RULES in one.system for one in crew.sent] == [False] * 2 + [True] * 8
    assert [one.contracts_changed for one in crew.assembled] == [False, False, True, *[False] * 7]
    assert [one.notes for one in crew.assembled] == [(), (), ("the stable text changed: contracts",), *[()] * 7]
    assert [[found.in_force for found in one.contracts] for one in crew.assembled] == [[]] * 2 + [[True]] * 8


@lanes()
@EVERY_TEAM
async def test_contracts_stay_where_the_flag_says_so(kind: type[Team], provider: ChatProvider) -> None:
    """The dump says what would apply; everything before the late text stays."""
    crew = building(kind, provider, Task(CHANGES, frozenset({ExperimentalFlag.FIXED_CONTRACTS})))

    await crew.ask("Go on.", *turning(thinks=False))

    _check_held(crew, "the flag fixed_contracts says so")


@lanes("anthropic")
@EVERY_TEAM
async def test_contracts_stay_where_reasoning_is_bound_to_them(kind: type[Team], provider: ChatProvider) -> None:
    """From the first answer on; the provider would refuse anything else."""
    crew = building(kind, provider, Task(CHANGES))

    await crew.ask("Go on.", *turning(thinks=True), model=binding(provider, kind))

    _check_held(crew, "reasoning of this run is bound to them")


def _check_held(crew: Team, why: str) -> None:
    note = f"contracts building would apply now; those of the request before (none) stay, because {why}"
    assert appended(crew.sent) == [True] * 9
    assert [RULES in one.system for one in crew.sent] == [False] * 10
    assert [one.contracts_changed for one in crew.assembled] == [False] * 10
    assert [one.notes for one in crew.assembled] == [()] * 2 + [(note,)] * 8
