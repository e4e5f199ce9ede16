"""Sending a compiled turn through LionAGI's models: `chat`, `communicate` and `run`.

All three compile once, by `compiled_turn`, and differ only in what happens after it: invoke once, invoke and record,
or stream and record. The instruction that is recorded is the compiled one, and only after the model has answered.
LionAGI's context providers, prompt-cache blocks, ReAct, LNDL and API hooks are not driven from here. Source: Turn
specification, D4 and D5.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import anyio

from kedi_compile import CompiledChatRequest, ContextBlock, TurnCompileError, compile_chat_request, provider_messages
from kedi_compile.conversation.scope import refuse_processing
from kedi_lionagi.branch import RestoredSystem, to_branch
from kedi_lionagi.host import answer_of
from kedi_lionagi.recording import add, tell
from kedi_lionagi.request import turn_request
from kedi_lionagi.sessions import Session, in_session
from kedi_lionagi.transcript import Entry, Transcript

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi import Branch as LionBranch
    from lionagi.operations.types import ChatParam, RunParam
    from lionagi.service.imodel import iModel


async def compiled_turn(
    branch: LionBranch,
    instruction: Any,
    param: ChatParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
) -> CompiledChatRequest:
    """Compile a turn of a LionAGI branch from one snapshot of it; the branch does not change.

    Raises:
        TurnCompileError: the branch and the parameters make no turn.
    """
    request = turn_request(branch, instruction, param, context_blocks=context_blocks)
    manager: Any = branch.msgs  # typed for pydantic's own plugin only
    async with manager.messages:
        return compile_chat_request(to_branch(branch, restored_system=restored_system), request)


async def chat(
    branch: LionBranch,
    instruction: Any,
    param: ChatParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
    session: Session = "refuse",
) -> str:
    """Compile a turn, call the model once, and return its answer; nothing is recorded. `session` is as in `run`.

    Raises:
        TurnCompileError: as `compiled_turn`, or the model has a session; nothing was sent.
        RuntimeError: the call failed.
    """
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    answer, _ = await _invoke(branch, turn, param, session, recorded=False)
    return str(answer.response)


async def communicate(
    branch: LionBranch,
    instruction: Any,
    param: ChatParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
    session: Session = "refuse",
) -> str:
    """Do what `chat` does, and record the instruction and the answer together once the model has answered.

    Raises:
        TurnCompileError: as `chat`; nothing was sent.
        RuntimeError: the call failed; nothing was recorded.
    """
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    answer, added = await _invoke(branch, turn, param, session, recorded=True)
    await tell(branch, added)
    return str(answer.response)


async def run(
    branch: LionBranch,
    instruction: Any,
    param: RunParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
    session: Session = "refuse",
    deadline: float | None = None,
) -> AsyncGenerator[Any]:
    """Compile a turn, stream it through a CLI model, and yield LionAGI's messages as they are complete.

    Nothing happens, and nothing is checked, before the first message is asked for. The instruction and all messages
    are recorded together when the stream has ended, before its last message is yielded; a stream that fails, is
    cancelled or is left early records nothing, and leaves the model's session as it was. `deadline` is in seconds for
    the whole stream.

    A model that continues a provider's session is refused, since the provider keeps the history there and reads the
    last message only: `session="resume"` continues it all the same, and "new" begins one with the compiled history.

    Raises:
        TurnCompileError: as `compiled_turn`, or the model is no CLI model or has a session, or the parameters ask for
            a persisted stream; nothing was sent.
        TurnStreamError: the provider ended the stream with an error, or without an answer.
        TimeoutError: the deadline passed.
    """
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    model = _streaming_model(branch, param)
    transcript = Transcript(branch)
    with in_session(model, turn, session):
        stream = model.stream(messages=provider_messages(turn), **turn.provider_kwargs)
        async with aclosing(stream):
            async for chunk in _until(stream, deadline):
                for message in transcript.take(chunk):
                    yield message
        last = transcript.finish()
        added = await add(branch, turn.instruction, transcript.entries)
        _keep_session(model, transcript.session_id)
    await tell(branch, added)
    for message in last:
        yield message


CAPABILITIES: Final[frozenset[str]] = frozenset()
"""What this adapter can do, by the specification's names: it runs no history processor."""


def _model(branch: LionBranch, param: ChatParam) -> iModel:
    refuse_processing("LionAGI", CAPABILITIES)
    model: iModel = param.to_dict().get("imodel") or branch.chat_model
    return model


def _streaming_model(branch: LionBranch, param: RunParam) -> iModel:
    model = _model(branch, param)
    if not model.is_cli:
        raise TurnCompileError("`run` needs a CLI model, such as claude_code, codex, gemini-cli or pi; use `chat`")
    if param.to_dict().get("stream_persist"):
        raise TurnCompileError("`stream_persist` is not supported here; keep the messages that `run` yields")
    return model


def _keep_session(model: Any, session_id: str | None) -> None:
    if session_id is not None:
        model.endpoint.session_id = session_id


async def _invoke(
    branch: LionBranch, turn: CompiledChatRequest, param: ChatParam, session: Session, *, recorded: bool
) -> tuple[Any, list[Any]]:
    """Return the answer, and the messages that were recorded before the model's session counts as continued."""
    counted = "include_token_usage_to_model"
    options = {name: value for name, value in param.to_dict().items() if name == counted}
    model = _model(branch, param)
    with in_session(model, turn, session):
        call = await model.invoke(messages=provider_messages(turn), **{**turn.provider_kwargs, **options})
        await branch.emit_and_log(call)
        call.assert_completed()
        answer = answer_of(call.response, branch)
        entries = [Entry(answer, {"assistant_response": answer})]
        added = await add(branch, turn.instruction, entries) if recorded else []
    return answer, added


async def _until(stream: Any, deadline: float | None) -> AsyncGenerator[Any]:
    """Pass a stream's chunks on; each wait for one ends at the deadline."""
    end = None if deadline is None else anyio.current_time() + deadline
    chunks = aiter(stream)
    while True:
        left = None if end is None else end - anyio.current_time()
        if left is not None and left <= 0:
            raise TimeoutError("The deadline of the stream passed")
        with anyio.fail_after(left):
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
        yield chunk
