"""One run of a host, as the verbs an adapter calls.

    edit · assemble · sent · observe · close                     a request and the run, as they go
    check_binding · check_fallback                               an attempt at a model that came late
    reuse · undo · undo_archives                                 another attempt, and what is given up
    report                                                       what there is to tell of the request

The session owns what a run knows: request states, group names, generation, measured usage. It holds the host's message
objects only while a request is under way. Turning outcomes into the host's own lists is the adapter's work. Source:
History specification, Callback Contract and Persistence and Continuation; Assembly specification, Purpose.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

from kedi_compile.assembly import LiveRequest, RequestCompiler
from kedi_compile.assembly.reduction import Count
from kedi_compile.assembly.run import AssembledStep, RunAssembly, Standing
from kedi_compile.dialect import Dialect
from kedi_compile.dump.schema import HistoryDump
from kedi_compile.errors import (
    AssemblyError,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProtectedWarning,
    KediError,
    Violation,
    error_text,
)
from kedi_compile.history.account import NOT_PROCESSED, Account, reused_report, why_skipped
from kedi_compile.history.archiving import Archiving, Surroundings
from kedi_compile.history.carried import Carried
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.continuation import Continuation
from kedi_compile.history.drive import drive, drive_sync, run_aside
from kedi_compile.history.fallback import refused_assembly, refused_edit
from kedi_compile.history.flow import Flow, Outcome, Skipped, Staged, Unchanged, process
from kedi_compile.history.lifecycle import Lifecycle, RequestState
from kedi_compile.history.origins import OriginLedger
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.report import refused_report, unchained
from kedi_compile.history.revision import Revision, RunKnowledge
from kedi_compile.history.stuck import stuck_text
from kedi_compile.history.usage import UsageMeter
from kedi_compile.question import Question
from kedi_compile.tokens import text_tokens

MessageT = TypeVar("MessageT")


class RunSession(Generic[MessageT]):
    """History processing for the requests of one run; not shared between runs.

    `owner` is the configured adapter: its own callbacks may not call back into it. `origins` may be shared by all
    runs of the adapter. `surroundings` must be given where the policy archives. With `reports` it can be asked for the
    `report` of a request, which costs a look at the history for each. `assembly` must be given where `assemble` is
    called.
    """

    def __init__(
        self,
        policy: HistoryPolicy[MessageT],
        dialect: Dialect[MessageT],
        *,
        owner: object,
        origins: OriginLedger | None = None,
        carried: Carried | None = None,
        surroundings: Surroundings | None = None,
        reports: bool = False,
        assembly: RunAssembly | None = None,
    ) -> None:
        carried = carried or Carried()
        self._policy = policy
        self._dialect = dialect
        self._owner = owner
        self._origins = OriginLedger() if origins is None else origins
        self._run: RunKnowledge[MessageT] = RunKnowledge(
            dialect, self._origins, policy.token_counter, policy.reasoning_protection
        )
        self._lifecycle = Lifecycle()
        self._continuation = Continuation(carried.generation)
        self._before_edit: Continuation | None = None
        self._usage: UsageMeter[MessageT] = UsageMeter(carried.usage, is_asked=carried.asks_usage)
        self._may_warn = carried.may_warn
        self._archiving = None if policy.archive is None else Archiving(policy.archive, surroundings)
        self._reports = reports
        self._assembly = assembly
        self._report = NOT_PROCESSED

    @property
    def is_active(self) -> bool:
        """Whether there is a processor to run, an archive, or a request to assemble."""
        return self._policy.is_active

    @property
    def state(self) -> RequestState:
        """Where the current request stands."""
        return self._lifecycle.state

    @property
    def continuation(self) -> Continuation:
        """The generation, with a staged rewrite counted."""
        return self._continuation

    @property
    def carried(self) -> Carried:
        """What a next session of the same conversation takes over, once the request was answered."""
        return Carried(self._continuation.generation, self._usage.checkpoint, self._usage.is_asked, self._may_warn)

    async def edit(
        self, messages: Sequence[MessageT], info: RequestInfo, reread: Callable[[], Sequence[MessageT]] | None = None
    ) -> Outcome[MessageT]:
        """Run the condition and the processor over `messages` and prove the edit.

        `messages` are left alone. `info.cache_epoch` is filled in here. `reread` gives the host's list again after
        the condition; without it the given list is looked at again.

        Raises:
            HistoryProcessingError: a callback or copy failed, or the edit breaks a rule; the request is FAILED.
        """
        with self._processing(messages, info) as account:
            flow = self._begin(account.revision, info, reread or (lambda: messages))
            return self._settle(await drive(flow, self._owner), account)

    def edit_sync(
        self, messages: Sequence[MessageT], info: RequestInfo, reread: Callable[[], Sequence[MessageT]] | None = None
    ) -> Outcome[MessageT]:
        """Do what `edit` does on a synchronous path."""
        with self._processing(messages, info) as account:
            flow = self._begin(account.revision, info, reread or (lambda: messages))
            return self._settle(drive_sync(flow, self._owner), account)

    async def assemble(
        self, messages: Sequence[MessageT], info: RequestInfo, live: LiveRequest, standing: Standing
    ) -> AssembledStep:
        """Assemble the request whose history is `messages`, edited; its tokens, and what is bound, are filled in here.

        Raises:
            AssemblyError: a callback failed, or the request cannot be assembled; it is FAILED.
        """
        with self._assembling():
            return self._noted(await drive(self._assembled(messages, info, live, standing), self._owner))

    def assemble_sync(
        self, messages: Sequence[MessageT], info: RequestInfo, live: LiveRequest, standing: Standing
    ) -> AssembledStep:
        """Do what `assemble` does on a synchronous path."""
        with self._assembling():
            return self._noted(drive_sync(self._assembled(messages, info, live, standing), self._owner))

    def _noted(self, step: AssembledStep) -> AssembledStep:
        """Say in the report what an assembled request means for state on the provider's side."""
        if self._reports:
            self._report = unchained(self._report)
        return step

    def _assembled(
        self, messages: Sequence[MessageT], info: RequestInfo, live: LiveRequest, standing: Standing
    ) -> Generator[Question, object, AssembledStep]:
        assert self._assembly is not None  # a session without a compiler is never asked
        revision = self.revision(messages)
        is_bound = self._policy.binding_for(info.model_names) is not None and any(one.bound for one in revision.facts)
        live = replace(live, history_tokens=revision.estimated_tokens)
        return self._assembly.assemble(live, replace(standing, is_bound=is_bound))

    @contextmanager
    def _assembling(self) -> Generator[None]:
        """Mark the request FAILED on any exception, and give foreign errors a typed wrapper."""
        try:
            yield
        except BaseException as error:
            self.undo()
            failure = _typed(error, AssemblyError, "Assembling the request")
            if failure is error:
                raise
            raise failure from error

    def report(self) -> HistoryDump:
        """Tell what was done to the history of the current request, or of the one that just ended.

        It holds no message, and goes with the next request. Only a session made with `reports` has anything to tell.
        """
        return self._report

    def reuse(self, outcome: Outcome[MessageT], messages: Sequence[MessageT] | None = None) -> None:
        """Take over the outcome of an earlier attempt at the same request, instead of `edit`.

        `messages` is what the earlier attempt was shown; without it there are no groups in the report.
        """
        self._next_request()
        self._lifecycle.move(RequestState.INSPECTED)
        if not isinstance(outcome, Skipped):
            self._lifecycle.move(RequestState.EDITING)
        self._lifecycle.move(_REACHED[type(outcome)])
        before = self._continuation.generation
        self._settle(outcome)
        if self._reports and self.is_active:
            revision = None if messages is None else self.revision(messages)
            self._report = reused_report(revision, outcome, before, self._continuation.generation)

    @contextmanager
    def _processing(self, messages: Sequence[MessageT], info: RequestInfo) -> Generator[Account[MessageT]]:
        """Mark the request FAILED on any exception, and give foreign errors of copying a typed wrapper."""
        account = Account(
            self.revision(messages),
            self._continuation.generation,
            reports=self._reports and self.is_active,
            model_id=info.model_id if self.is_active else None,
        )
        try:
            yield account
        except BaseException as error:
            self.undo()
            failure = _typed(error, HistoryProcessingError, "Processing the history")
            self._report = account.failed(failure)
            if failure is error:
                raise
            raise failure from error

    def _begin(
        self, revision: Revision[MessageT], info: RequestInfo, reread: Callable[[], Sequence[MessageT]]
    ) -> Flow[MessageT]:
        self._next_request()
        return process(
            self._policy,
            revision,
            replace(info, cache_epoch=self._continuation.generation),
            usage=self._usage,
            lifecycle=self._lifecycle,
            reread=reread,
            archiving=self._archiving,
            is_bare=self._assembly is not None and not self._assembly.is_begun,
        )

    def _next_request(self) -> None:
        """Return to IDLE; a request the host gave up gets a fresh start, an answered one steps on."""
        self._before_edit = None
        self._report = NOT_PROCESSED
        if self._archiving is not None:
            self._archiving.begin()
        if self.state is RequestState.ANSWERED:
            self._lifecycle.move(RequestState.IDLE)
        else:
            self._lifecycle = Lifecycle()

    def _settle(self, outcome: Outcome[MessageT], account: Account[MessageT] | None = None) -> Outcome[MessageT]:
        if self._archiving is not None:
            self._archiving.warn()
        if isinstance(outcome, Staged):
            self._before_edit = self._continuation
            for _ in range(outcome.rewrites):
                self._continuation = self._continuation.rewritten()
            self._may_warn = False  # something was freed in this run
        elif isinstance(outcome, Unchanged):
            self._warn_if_protected(outcome)
        if account is not None:
            self._report = account.done(outcome, self._continuation.generation)
            self._note(why_skipped(self._policy) if isinstance(outcome, Skipped) else None)
        return outcome

    def _note(self, note: str | None) -> None:
        if note is not None and self._report is not NOT_PROCESSED:
            self._report = self._report.model_copy(update={"notes": (*self._report.notes, note)})

    def revision(self, messages: Sequence[MessageT]) -> Revision[MessageT]:
        """Describe a list of native messages, lazily, as this session sees it."""
        return Revision(messages, self._run)

    def sent(self) -> None:
        """Note that the request goes to the transport; further attempts at it change nothing.

        Raises:
            RuntimeError: the request failed or was never edited; there is no road from there to the wire.
        """
        if self.state is not RequestState.SENT:
            self._lifecycle.move(RequestState.SENT)

    def check_binding(self, staged: Staged[MessageT], model_names: tuple[str, ...]) -> None:
        """Check a proved edit against the models an attempt goes to, which a fallback may have changed.

        Raises:
            HistoryProcessingValidationError: one of them binds reasoning that the edit left behind a change.
        """
        if self._policy.binding_for(model_names) is not None:
            self._refuse(refused_edit(staged, model_names))

    def check_fallback(self, messages: Sequence[MessageT], info: RequestInfo, model_names: tuple[str, ...]) -> None:
        """Check an assembled request against the models an attempt goes to, which a fallback may have changed.

        `messages` are the history as it was edited, and `info` is the request's.

        Raises:
            HistoryProcessingValidationError: one of them binds reasoning of an earlier run to what was assembled there.
        """
        if self._assembly is not None and self._policy.binding_for(model_names) is not None:
            self._refuse(refused_assembly(self.revision(messages), info, model_names))

    def _refuse(self, violation: Violation | None) -> None:
        if violation is None:
            return
        error = HistoryProcessingValidationError([violation])
        if self._reports:
            self._report = refused_report(error, generation=self._report.generation_before)
        raise error

    def observe(
        self, sent: Sequence[MessageT], response: MessageT | None, tokens: int | None, info: RequestInfo
    ) -> None:
        """Take note of an answer: origins of the new messages, and usage bound to what was sent.

        `sent` is the history as the host keeps it, without the response; `response` is None where the host never
        sees it whole. `tokens` is the provider's input plus output count, or None if it gave none.
        """
        self._lifecycle.move(RequestState.ANSWERED)
        answer = [] if response is None else [response]
        for message in (sent[-1], *answer):
            for carrier, origins in self._dialect.origins(message, info.run_id, info.source_location):
                self._origins.record(carrier, origins)
        self._usage.bind(tokens, lambda: self.revision([*sent, *answer]))

    @property
    def stored_records(self) -> tuple[str, ...]:
        """The references of the records that this request has archived and `undo` would release."""
        return () if self._archiving is None else tuple(self._archiving.stored)

    def undo(self) -> None:
        """Give up the current request: a staged generation and a stored record do not count, and it is FAILED."""
        if self._archiving is not None and self._archiving.stored:
            self._release(self._archiving.give_up())
        if self._before_edit is not None:
            self._continuation = self._before_edit
            self._before_edit = None
            self._note("the request came to nothing, so its edit was taken back")
        if self._lifecycle.may(RequestState.FAILED):
            self._lifecycle.move(RequestState.FAILED)

    def undo_archives(self) -> Awaitable[object] | None:
        """Release the records of all requests, where what they are part of is given up; on an event loop await it."""
        if self._archiving is None or not (self._archiving.stored or self._archiving.kept):
            return None
        return self._release(self._archiving.give_up_all())

    def _release(self, release: Callable[[], None]) -> Awaitable[object] | None:
        """Release records at once, or beside the event loop where their store may block it."""
        if self._archiving is not None and self._archiving.settings.may_block:
            return run_aside(release)
        release()
        return None

    def close(self) -> None:
        """End the run: the last answered request counts."""
        self._report = NOT_PROCESSED
        if self.state is RequestState.ANSWERED:
            self._lifecycle.move(RequestState.COMMITTED)

    def _warn_if_protected(self, outcome: Unchanged) -> None:
        stuck = [kept for kept in outcome.retentions if kept.is_stuck]
        if not stuck or not self._may_warn:
            return
        self._may_warn = False
        warnings.warn(stuck_text(stuck[0]), HistoryProtectedWarning, stacklevel=2)


def begin_assembly(
    compiler: RequestCompiler | None, policy: HistoryPolicy[MessageT], dialect: Dialect[MessageT]
) -> RunAssembly | None:
    """Return the assembly of one run's requests, which counts texts as the history is counted; None for None."""
    return None if compiler is None else RunAssembly(compiler, _text_counter(policy, dialect))


def _text_counter(policy: HistoryPolicy[MessageT], dialect: Dialect[MessageT]) -> Count:
    counter = policy.token_counter
    if counter is None:
        return text_tokens
    return lambda text: counter(dialect.text_message(text, "user"))


_REACHED: dict[type, RequestState] = {
    Skipped: RequestState.SKIPPED,
    Unchanged: RequestState.UNCHANGED,
    Staged: RequestState.STAGED,
}


def _typed(error: BaseException, kind: type[KediError], work: str) -> BaseException:
    """Return the error that a host sees; cancellation, warnings and the package's own errors stay what they are."""
    if isinstance(error, (KediError, Warning)) or not isinstance(error, Exception):
        return error
    return kind(f"{work} failed with {error_text(error)}; nothing was sent")
