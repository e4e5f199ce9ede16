"""What a request step says about itself in the dump, from its beginning to its outcome.

The form of a dump and where it goes are in `kedi_compile.dump`. Source: Assembly specification, Operational
observability.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from pydantic_ai.exceptions import ModelRetry, SkipModelRequest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from kedi_compile.dump.recording import Recorder
from kedi_compile.session import RunSession
from kedi_pydantic_ai.conversation import ConversationRun
from kedi_pydantic_ai.step import Step
from kedi_pydantic_ai.usage import reported_usage


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
            conversation_id=None if conversation is None else conversation.turn.state.session_id,
        )


@contextmanager
def recording(
    step: Step, session: Callable[[], RunSession[ModelMessage]], conversation: ConversationRun | None
) -> Generator[None]:
    """Write down what became of a step: an answer that the host throws away was one too.

    `session` gives the run's session, which a conversation's lane may have exchanged meanwhile.
    """
    try:
        yield
    except BaseException as error:
        is_answered = step.response is not None and isinstance(error, (ModelRetry, SkipModelRequest))
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
    record.assembly = None if step.assembled is None else step.assembled.dump(step.system)
    if error is None:
        record.answered(reported_usage(step.response))
    else:
        record.failed(error)
