"""The adapter beside other capabilities: order, rivals, changes behind its back, messages for one request only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, RunContext, capture_run_messages
from pydantic_ai.capabilities import (
    AbstractCapability,
    CombinedCapability,
    FileUnderstanding,
    ProcessHistory,
    ReinjectSystemPrompt,
    WrapperCapability,
)
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.profiles import ModelProfile

from agents import (
    ENTRY_POINTS,
    Context,
    Script,
    adapter,
    asks,
    calls,
    keep,
    lines,
    noting,
    run_through,
    says,
    turns,
    untouched,
)
from kedi_compile import HistoryConfigurationError, HistoryProcessingValidationError
from kedi_pydantic_ai import PydanticAdapter

UNEDITED = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]
Change = Callable[[list[ModelMessage]], list[ModelMessage]]


@dataclass
class Shows(AbstractCapability[Any]):
    """Changes what this request shows, before the adapter, and leaves the run's history alone."""

    change: Change

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        request_context.messages = self.change(list(request_context.messages))
        return request_context


@dataclass
class Prepares(AbstractCapability[Any]):
    """Changes the messages of an attempt, after the adapter has proved them."""

    change: Change

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        request_context.messages = self.change(list(request_context.messages))
        return request_context


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_the_adapter_sees_what_every_other_capability_has_done(entry: str, position: int) -> None:
    """It is last before transport wherever it stands in the list."""
    shown: list[list[str]] = []
    capabilities: list[AbstractCapability[Any]] = [Shows(lambda messages: [asks("hint"), says("ok"), *messages])]
    capabilities.insert(position, adapter(noting(shown, lambda ctx: lines(ctx.messages))))
    agent = Agent(Script("done").model, capabilities=capabilities)

    run_through(entry, agent, "now", message_history=turns(1))

    assert shown == [["< hint", "> ok", "< question 1", "> answer 1", "< now"]]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize(
    "change",
    [
        lambda messages: messages[-1:],
        lambda messages: [asks("smuggled"), says("in"), *messages],
        lambda messages: [asks("other words"), *messages[1:]],
        lambda messages: [*messages[:-1], asks("another question")],
    ],
    ids=["drops", "adds", "rewords", "replaces the request"],
)
def test_a_change_behind_a_proved_edit_is_refused(entry: str, change: Change) -> None:
    """What another capability does after validation never reaches the transport, and nothing is left of the edit."""
    script = Script("never")
    agent = Agent(script.model, capabilities=[adapter(keep(1)), Prepares(change)])

    with capture_run_messages() as captured, pytest.raises(HistoryProcessingValidationError):
        run_through(entry, agent, "now", message_history=turns(3))
    assert script.sent == []
    assert lines(captured)[:7] == UNEDITED


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_change_behind_an_unchanged_history_is_the_hosts_business(entry: str) -> None:
    """Without an edit of ours there is nothing to guard: the host does what it does without the adapter."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(untouched), Prepares(lambda messages: messages[-1:])])

    run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [["< now"]]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_message_shown_to_one_request_only_is_not_stored(entry: str) -> None:
    """What another capability adds for this request is sent, may not be kept by the edit, and is not persisted."""
    script = Script(calls("c1"), "done")
    hint = Shows(lambda messages: [*messages[:-1], asks("hint"), says("ok"), messages[-1]])
    agent = Agent(script.model, capabilities=[hint, adapter(_drop_first)])
    agent.tool_plain(look)

    finished = run_through(entry, agent, "now", message_history=turns(2))

    assert script.sent[0] == ["< question 2", "> answer 2", "< hint", "> ok", "< now"]
    assert lines(finished.new_messages) == ["< now", "> call c1", "< result c1", "> done"]
    assert "< hint" not in lines(finished.all_messages)
    assert "< question 1" not in lines(finished.all_messages)


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_message_hidden_from_one_request_stays_stored(entry: str) -> None:
    """What another capability hides from this request is neither sent nor lost by an edit."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[Shows(lambda messages: messages[2:]), adapter(_drop_first)])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE]
    assert lines(finished.all_messages) == ["< question 1", "> answer 1", *KEPT_ONE, "> done"]


def test_dropping_every_shown_message_leaves_the_hidden_ones() -> None:
    """Hidden messages keep their order and place when all around them goes."""
    script = Script("done")
    hides = Shows(lambda messages: [*messages[:2], *messages[4:]])
    agent = Agent(script.model, capabilities=[hides, adapter(keep(0))])

    finished = run_through("run", agent, "now", message_history=turns(3))

    assert script.sent == [["< now"]]
    assert lines(finished.all_messages) == ["< question 2", "> answer 2", "< now", "> done"]


@pytest.mark.parametrize("where", ["agent", "run"])
@pytest.mark.parametrize("adapter_first", [True, False])
def test_a_process_history_beside_a_processor_is_refused(where: str, adapter_first: bool) -> None:
    """Two policies would edit one history: compose them in one callback."""
    script = Script("never")
    rival: ProcessHistory[Any] = ProcessHistory(lambda messages: messages)
    ours = adapter(keep(1))
    both: list[AbstractCapability[Any]] = [ours, rival] if adapter_first else [rival, ours]

    def attempt() -> None:
        if where == "agent":
            run_through("run", Agent(script.model, capabilities=both), "now")
        else:
            run_through("run", Agent(script.model, capabilities=both[:1]), "now", capabilities=both[1:])

    with pytest.raises(HistoryConfigurationError, match="`ProcessHistory` stands beside"):
        attempt()
    assert script.sent == []


@pytest.mark.parametrize(
    "hide", [WrapperCapability, lambda rival: lambda ctx: rival], ids=["wrapped", "from a function"]
)
def test_a_process_history_behind_a_wrapper_is_refused(hide: Callable[[Any], Any]) -> None:
    """Neither a wrapper nor a function that chooses capabilities for a run hides a rival."""
    script = Script("never")
    rival: ProcessHistory[Any] = ProcessHistory(lambda messages: messages)

    with pytest.raises(HistoryConfigurationError, match="`ProcessHistory` stands beside"):
        run_through("run", Agent(script.model, capabilities=[adapter(keep(1)), hide(rival)]), "now")
    assert script.sent == []


@pytest.mark.parametrize("where", ["agent", "run"])
def test_the_same_adapter_twice_is_refused(where: str) -> None:
    """It would ask the callback twice for one request."""
    script = Script("never")
    shared = adapter(keep(1))

    def attempt() -> None:
        if where == "agent":
            run_through("run", Agent(script.model, capabilities=[shared, shared]), "now")
        else:
            run_through("run", Agent(script.model, capabilities=[shared]), "now", capabilities=[shared])

    with pytest.raises(HistoryConfigurationError, match="keep one"):
        attempt()
    assert script.sent == []


def test_an_adapter_may_come_from_a_function_or_a_combination() -> None:
    """However the host is handed the capability, it edits."""
    script = Script("done")
    shared = adapter(keep(1))
    given: list[Any] = [lambda ctx: shared, CombinedCapability([shared]), WrapperCapability(shared)]

    for capability in given:
        run_through("run", Agent(script.model, capabilities=[capability]), "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE] * 3


def test_a_process_history_beside_an_idle_adapter_is_fine() -> None:
    """Without a processor the adapter has no policy to conflict with."""
    script = Script("done")
    rival: ProcessHistory[Any] = ProcessHistory(lambda messages: messages[-1:])
    agent = Agent(script.model, capabilities=[PydanticAdapter(), rival])

    run_through("run", agent, "now", message_history=turns(2))

    assert script.sent == [["< now"]]


@pytest.mark.parametrize("where", ["agent", "run"])
def test_two_adapters_with_processors_are_refused(where: str) -> None:
    """One agent has one policy."""
    script = Script("never")

    def attempt() -> None:
        if where == "agent":
            run_through("run", Agent(script.model, capabilities=[adapter(keep(1)), adapter(keep(2))]), "now")
        else:
            agent = Agent(script.model, capabilities=[adapter(keep(1))])
            run_through("run", agent, "now", capabilities=[adapter(keep(2))])

    with pytest.raises(HistoryConfigurationError, match="2 `PydanticAdapter`s with a processor, an archive or a"):
        attempt()
    assert script.sent == []


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_adapter_may_be_given_to_one_run(entry: str) -> None:
    """A run-level capability edits that run and no other."""
    script = Script("done")
    agent = Agent(script.model)

    run_through(entry, agent, "now", message_history=turns(3), capabilities=[adapter(keep(1))])
    run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE, UNEDITED]


def test_a_model_given_to_one_run_is_the_one_that_is_named() -> None:
    """`model_id` is the model of the request, not the agent's default."""
    names: list[str] = []
    agent = Agent(
        Script("never", model_name="default").model, capabilities=[adapter(noting(names, lambda ctx: ctx.model_id))]
    )

    run_through("run", agent, "now", model=Script("done", model_name="special").model)

    assert names == ["function:special"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_reinjected_system_prompt_survives_an_edit(entry: str) -> None:
    """The host puts different objects into its two lists; both keep the system text and the edit."""
    script = Script("done")
    agent = Agent(script.model, system_prompt="Be brief.", capabilities=[ReinjectSystemPrompt(), adapter(keep(1))])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    kept = ["< system Be brief. | question 1", "> answer 1", *KEPT_ONE]
    assert script.sent == [kept]
    assert lines(finished.all_messages) == [*kept, "> done"]


@pytest.mark.parametrize("recent", [1, 2])
def test_files_described_for_a_model_without_eyes_are_no_change(recent: int) -> None:
    """The host's own capability that writes descriptions in the place of files works beside an edit."""
    script = Script("done", profile=ModelProfile(supports_image_input=False))
    describes: FileUnderstanding[Any] = FileUnderstanding(fallback_subagent_model=Script("a cat").model)
    agent = Agent(script.model, capabilities=[describes, adapter(keep(recent))])
    picture = asks(["see this", BinaryContent(b"PNG", media_type="image/png")])

    run_through("run", agent, "now", message_history=[*turns(1), picture, says("nice"), *turns(1)])

    seen = ["< UserPromptPart", "> nice"] if recent == 2 else []
    assert script.sent == [[*seen, "< question 1", "> answer 1", "< now"]]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_suspended_response_stays_last(entry: str) -> None:
    """A turn the provider paused is resumed: the suspended answer is the current request's and stays behind it."""
    script = Script("the rest")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])
    history = [*turns(3), asks("now"), says("the beginning", state="suspended", provider_name="function")]

    finished = run_through(entry, agent, None, message_history=history)

    assert lines(finished.all_messages)[:3] == KEPT_ONE
    assert "< question 1" not in script.sent[0]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_resumed_turn_that_fails_leaves_what_the_host_alone_leaves(entry: str) -> None:
    """The edit of a resumed request is undone like any other."""
    history = [*turns(3), asks("now"), says("the beginning", state="suspended", provider_name="function")]
    left: list[list[str]] = []

    for capabilities in ([], [adapter(keep(1))]):
        agent = Agent(Script(ModelHTTPError(500, "scripted")).model, capabilities=capabilities)
        with capture_run_messages() as captured, pytest.raises(ModelHTTPError):
            run_through(entry, agent, None, message_history=history)
        left.append(lines(captured))

    assert left[0] == left[1]
    assert left[0][:7] == UNEDITED


def test_a_suspended_response_that_is_dropped_is_refused() -> None:
    """It belongs to the current request."""
    script = Script("never")
    agent = Agent(script.model, capabilities=[adapter(lambda ctx: ctx.messages[:-1])])
    history = [*turns(1), asks("now"), says("the beginning", state="suspended", provider_name="function")]

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_through("run", agent, None, message_history=history)
    assert {"current_request_altered", "turn_order"} <= {one.rule for one in caught.value.violations}
    assert script.sent == []


def _drop_first(ctx: Context) -> Sequence[ModelMessage]:
    return ctx.replace_groups(ctx.groups[0]) if ctx.request_index == 1 else ctx.messages


def look() -> str:
    """Look at something."""
    return "seen"
