"""What a request step says about itself in the dump, from its beginning to its outcome.

The form of a dump and where it goes are in `kedi_compile.dump`. Source: Assembly specification, Operational
observability.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from pydantic_ai.exceptions import ModelRetry, SkipModelRequest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from kedi_compile.dump.recording import Recorder
from kedi_compile.session import RunSession
from kedi_pydantic_ai.conversation import ConversationRun
from kedi_pydantic_ai.step import Step
from kedi_pydantic_ai.usage import reported_usage

_GIVEN_UP: Final = (ModelRetry, SkipModelRequest)
"""What a hook raises to have the host go on without an answer of this request."""

_UNFINISHED: Final = ("incomplete", "interrupted")
"""The states of a response whose stream was left."""


class FollowedModel(WrapperModel):
    """A model whose broken stream is noted in its step.

    The host raises it where the stream is read, and only cancels what wraps the request.
    """

    def __init__(self, wrapped: Model, step: Step) -> None:
        super().__init__(wrapped)
        self._step = step

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream, and note what breaks it."""
        self._step.stream_error = None
        try:
            async with super().request_stream(
                messages, model_settings, model_request_parameters, run_context
            ) as stream:
                yield stream
        except Exception as error:
            self._step.stream_error = error
            raise


def begin_record(
    recorder: Recorder | None,
    step: Step,
    ctx: RunContext[Any],
    request: ModelRequestContext,
    conversation: ConversationRun | None,
) -> None:
    """Begin the record of a step, if anybody keeps records."""
    if recorder is not None:
        step.record = recorder.begin(
            model_id=request.model.model_id,
            request_index=ctx.run_step,
            run_id=ctx.run_id,
            conversation_id=ctx.conversation_id if conversation is None else conversation.turn.state.session_id,
        )


@contextmanager
def recording(
    step: Step, session: Callable[[], RunSession[ModelMessage]], conversation: ConversationRun | None
) -> Generator[None]:
    """Write down what became of a step: an answer that the host throws away was one too.

    A request in whose place another capability answers, or has the host ask again, was given up: nobody failed.
    `session` gives the run's session, which a conversation's lane may have exchanged meanwhile.
    """
    try:
        yield
    except BaseException as error:
        is_answered = step.response is not None and isinstance(error, _GIVEN_UP)
        _close(step, session(), conversation, None if is_answered else error)
        raise
    _close(step, session(), conversation, None)


def _close(
    step: Step, session: RunSession[ModelMessage], conversation: ConversationRun | None, error: BaseException | None
) -> None:
    if (record := step.record) is None:
        return
    record.history = session.report()
    record.lane = None if conversation is None else conversation.lane_note
    record.assembly = None if step.assembled is None else step.assembled.dump(step.system or "")
    if error is None and step.response is not None and step.response.state in _UNFINISHED:
        record.left(reported_usage(step.response))
    elif error is None:
        record.answered(reported_usage(step.response))
    elif isinstance(error, _GIVEN_UP):
        record.given_up(error)
    else:
        record.failed(step.stream_error if step.stream_error and isinstance(error, CancelledError) else error)
