"""What a session adds to the assembly of a request: what the history takes, what is bound, and how it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from assemblies import EPOCH, SYSTEM, compiler, failing, given_by, noting
from assembling import inputs, limited
from kedi_compile import AssemblyError, BudgetExceeded, HistoryProcessingValidationError
from kedi_compile.assembly import LiveRequest, ModelTier, RequestCompiler, RuntimeEnvironment
from kedi_compile.assembly.run import AssembledStep, Standing
from kedi_compile.history.flow import Skipped, Staged
from kedi_compile.history.lifecycle import RequestState
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.report import UNCHAINED
from kedi_compile.session import RunSession, begin_assembly
from toy import INFO, NOW, Message, ToyDialect, answers, calls, says, talk, two_talks, user

LIVE = LiveRequest(1, "toy:small")
STANDING = Standing("now", {"now"})
BOUND = [user("q"), says("a", signature="sig"), user(NOW)]


class Tried:
    """A session with a compiler, on one of both paths."""

    def __init__(self, path: str, compiler: RequestCompiler, *, reports: bool = False, **options: Any) -> None:
        self.path = path
        self.policy: HistoryPolicy[Message] = HistoryPolicy(assembles=True, **options)
        assembly = begin_assembly(compiler, self.policy, ToyDialect())
        self.session = RunSession(self.policy, ToyDialect(), owner=self, assembly=assembly, reports=reports)

    def assemble(self, messages: Sequence[Message], live: LiveRequest = LIVE) -> AssembledStep:
        """Assemble a request whose history is `messages`."""
        if self.path == "sync":
            return self.session.assemble_sync(messages, INFO, live, STANDING)
        return asyncio.run(self.session.assemble(messages, INFO, live, STANDING))


each_path = pytest.mark.parametrize("path", ["sync", "async"])


@each_path
@pytest.mark.parametrize("kind", ["inputs", "sync", "async"])
def test_a_request_is_assembled_from_whatever_gives_its_inputs(path: str, kind: str) -> None:
    """The inputs themselves, a function, or one that is awaited, on both paths."""
    step = Tried(path, RequestCompiler(inputs=given_by(kind, inputs()))).assemble([user(NOW)])

    assert (step.system, [tail.before for tail in step.tails]) == (SYSTEM, [EPOCH])


@each_path
def test_the_tokens_of_the_history_are_filled_in(path: str) -> None:
    """The callback sees them, and the request takes as many."""
    seen: list[LiveRequest] = []
    step = Tried(path, RequestCompiler(inputs=noting(seen))).assemble(two_talks())

    size = sum(len(message.text) for message in two_talks())
    assert [live.history_tokens for live in seen] == [size]
    assert step.request.sizes["history"] == size


@each_path
@pytest.mark.parametrize("reports", [False, True])
def test_the_report_says_that_no_server_side_chain_goes_on(path: str, reports: bool) -> None:
    """Late texts went with the request, whatever was done to its history."""
    tried = Tried(path, compiler(), reports=reports)
    tried.assemble([user(NOW)])

    assert tried.session.report().continuation == ((UNCHAINED,) if reports else ())


@each_path
def test_texts_are_counted_as_the_history_is(path: str) -> None:
    """By the same counter of messages, so that one budget holds both."""
    step = Tried(path, compiler(), token_counter=lambda message: 1000 * len(message.text)).assemble([user(NOW)])

    assert step.request.sizes["history"] == 1000 * len(NOW)
    assert step.request.sizes["core"] >= 1000 * len("# Core (core, version 1)\n\nYou are a careful engineer.")


@each_path
@pytest.mark.parametrize(("setting", "stays"), [("refuse", True), ("strip", True), (None, False)])
def test_bound_reasoning_of_the_history_holds_the_stable_text(path: str, setting: Any, stays: bool) -> None:
    """Where the model binds: there the text is sent as the request before had it."""
    given = [inputs(), inputs(tier=ModelTier.FRONTIER)]
    tried = Tried(path, RequestCompiler(inputs=lambda live: given[live.request_index - 1]), bound_reasoning=setting)

    first = tried.assemble(BOUND)
    second = tried.assemble(BOUND, LiveRequest(2, "toy:small"))

    assert (second.system == first.system) is stays


@each_path
def test_a_history_without_bound_reasoning_holds_nothing(path: str) -> None:
    """Whatever the policy."""
    given = [inputs(), inputs(environment=RuntimeEnvironment("/repo"))]
    tried = Tried(path, RequestCompiler(inputs=lambda live: given[live.request_index - 1]), bound_reasoning="refuse")

    tried.assemble(two_talks())

    assert '"/repo"' in tried.assemble(two_talks(), LiveRequest(2, "toy:small")).system


@pytest.mark.parametrize("request_index", [1, 3])
def test_reasoning_is_bound_to_what_a_run_has_sent_and_does_not_know(request_index: int) -> None:
    """At a run's first request, or where it was resumed without its tails; what is assembled now is sent again."""
    tried = Tried("sync", compiler(), bound_reasoning="strip")

    first = tried.session.edit_sync(BOUND, replace(INFO, request_index=request_index))
    tried.assemble(BOUND, LiveRequest(request_index, "toy:small"))
    later = tried.session.edit_sync(BOUND, replace(INFO, request_index=request_index + 1))

    assert isinstance(first, Staged)
    assert first.stripped == (1,)
    assert later == Skipped()


@each_path
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LookupError("gone"), AssemblyError),
        (AssemblyError("gone"), AssemblyError),
        (BudgetExceeded(10, 1, {"core": 20}), BudgetExceeded),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failing_assembly_fails_the_request(path: str, error: BaseException, expected: type[BaseException]) -> None:
    """It cannot be sent any more."""
    tried = Tried(path, RequestCompiler(inputs=failing(error)))
    tried.session.edit_sync(two_talks(), INFO)

    with pytest.raises(expected):
        tried.assemble(two_talks())

    assert tried.session.state is RequestState.FAILED
    with pytest.raises(RuntimeError, match="FAILED cannot become SENT"):
        tried.session.sent()


@each_path
def test_what_nobody_foresaw_is_an_assembly_error(path: str) -> None:
    """A counter that fails is no callback, and still says that nothing was sent."""

    def count(message: Message) -> int:
        raise ZeroDivisionError("by the counter")

    # Texts are counted where a run's assembly begins, the history where a request is.
    def count_history(message: Message) -> int:
        return count(message) if message.text == NOW else len(message.text)

    with pytest.raises(AssemblyError, match=r"failed with ZeroDivisionError: by the counter; nothing was sent"):
        Tried(path, compiler(), token_counter=count_history).assemble([user(NOW)])


@each_path
def test_a_failing_assembly_takes_the_staged_generation_back(path: str) -> None:
    """The edit before it does not count."""
    tried = Tried(path, RequestCompiler(inputs=failing(LookupError())), processor=lambda ctx: ctx.keep_recent_groups(1))
    tried.session.edit_sync(two_talks(), INFO)
    assert tried.session.continuation.generation == 1

    with pytest.raises(AssemblyError):
        tried.assemble(two_talks())

    assert tried.session.continuation.generation == 0


@each_path
def test_a_request_without_room_says_what_takes_it(path: str) -> None:
    """The history of this run is in the table."""
    tried = Tried(path, compiler(inputs(budget=limited(60))))

    with pytest.raises(BudgetExceeded) as caught:
        tried.assemble([*talk("a" * 100), user(NOW)])

    assert caught.value.sizes["history"] > 100


def test_without_a_compiler_no_run_is_assembled() -> None:
    """There is nothing to ask."""
    assert begin_assembly(None, HistoryPolicy(), ToyDialect()) is None


def test_each_run_has_an_assembly_of_its_own() -> None:
    """One compiler serves them all."""
    shared, policy = compiler(), Tried("sync", compiler()).policy

    assert begin_assembly(shared, policy, ToyDialect()) is not begin_assembly(shared, policy, ToyDialect())


EARLIER = [user("q"), says("a", signature="sig"), user(NOW)]


@pytest.mark.parametrize("index", [1, 2])
def test_a_fallback_to_a_model_that_binds_what_earlier_runs_left_is_refused(index: int) -> None:
    """What they had assembled around it is not sent again, at no request of the run."""
    run = Tried("sync", compiler(), reports=True).session

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run.check_fallback(EARLIER, replace(INFO, request_index=index), ("claude-opus-5-5",))

    assert [(one.rule, one.entries) for one in caught.value.violations] == [("bound_reasoning", (1,))]
    assert "is bound to what earlier runs assembled around it by claude-opus-5-5" in str(caught.value)
    assert run.report().outcome == "refused"


def test_a_fallback_takes_the_reasoning_of_the_run_itself() -> None:
    """Its late texts are sent again, so that nothing before it changed."""
    run = Tried("sync", compiler()).session
    loop = [user("q"), says("a"), user(NOW), calls("c1", signature="sig"), answers("c1")]

    run.check_fallback(loop, replace(INFO, request_index=2), ("claude-opus-5-5",))
    with pytest.raises(HistoryProcessingValidationError):
        run.check_fallback(loop, replace(INFO, request_index=1), ("claude-opus-5-5",))


@pytest.mark.parametrize("names", [("small",), ("small", "claude-sonnet-4-5")])
def test_a_fallback_to_a_model_that_does_not_bind_passes(names: tuple[str, ...]) -> None:
    """Whatever stands in the history."""
    Tried("sync", compiler()).session.check_fallback(EARLIER, INFO, names)


def test_without_a_compiler_a_fallback_is_not_looked_at() -> None:
    """Nothing was assembled around anything."""
    policy: HistoryPolicy[Message] = HistoryPolicy()

    RunSession(policy, ToyDialect(), owner=None).check_fallback(EARLIER, INFO, ("claude-opus-5-5",))
