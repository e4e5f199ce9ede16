"""The record of a request in the dump: how it begins, and what of the request was seen to reach the model.

When it is written, and with what outcome, is in `editing.py`; its form and where it goes are in `kedi_compile.dump`.
Source: Assembly specification, Operational observability. Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tracers.context import register_configure_hook

from kedi_compile.assembly.run import AssembledStep
from kedi_compile.dump.recording import Recorder, RequestRecord
from kedi_compile.history.context import RequestInfo
from kedi_langchain.agent_run import AgentRun
from kedi_langchain.conversation import ConversationCall
from kedi_langchain.editing import EditedRequest


def begin_record(
    recorder: Recorder | None, info: RequestInfo, turn: AgentRun | ConversationCall | None
) -> RequestRecord | None:
    """Begin the record of a request, if anybody keeps records; `turn` is the turn it is a part of."""
    if recorder is None:
        return None
    record = recorder.begin(
        model_id=info.model_id,
        request_index=info.request_index,
        run_id=info.run_id,
        conversation_id=info.conversation_id,
    )
    record.lane = None if turn is None else turn.lane_note
    return record


class SentRequest(BaseCallbackHandler):
    """Sees what a chat model is handed at last, behind every other middleware.

    `system` is the system text of the request that carries all that was assembled; None while no such was seen.
    """

    run_inline = True

    def __init__(self, assembled: AssembledStep) -> None:
        self._texts = [text for tail in assembled.tails for text in (tail.before, tail.slot) if text]
        self.system: str | None = None

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Look at a request that goes out; another middleware may make some of its own."""
        for request in messages:
            said = [str(message.text) for message in request]
            if all(any(text in one for one in said) for text in self._texts):
                system = (str(message.text) for message in request if isinstance(message, SystemMessage))
                self.system = "\n\n".join(system)


_sending: ContextVar[SentRequest | None] = ContextVar("kedi_sending", default=None)

register_configure_hook(_sending, inheritable=True)


@contextmanager
def seeing(edited: EditedRequest) -> Generator[None]:
    """Note in the record of a request what of it reached the model."""
    if edited.record is None or edited.assembled is None:
        yield
        return
    sent = SentRequest(edited.assembled)
    token = _sending.set(sent)
    try:
        yield
    finally:
        _sending.reset(token)
        edited.record.assembly = edited.assembled.dump(sent.system or "")
