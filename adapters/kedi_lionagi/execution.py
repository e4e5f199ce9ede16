"""Sending a compiled turn through LionAGI's models: `chat`, `communicate` and `run`.

All three compile once, by `compiled_turn`, and differ only in what happens after it: invoke once, invoke and record,
or stream. The instruction that is recorded is the compiled one, and only after the model has answered. LionAGI's
context providers, prompt-cache blocks, ReAct, LNDL and API hooks are not driven from here. Source: Turn
specification, D4 and D5.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio

from kedi_compile import CompiledChatRequest, ContextBlock, TurnCompileError, compile_chat_request
from kedi_compile.turn import provider_messages
from kedi_lionagi.branch import RestoredSystem, to_branch
from kedi_lionagi.host import answer_of, instruction_of
from kedi_lionagi.request import turn_request
from kedi_lionagi.transcript import Entry, Transcript

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    import lionagi
    from lionagi.operations.types import ChatParam, RunParam
    from lionagi.service.imodel import iModel


async def compiled_turn(
    branch: lionagi.Branch,
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
    manager: Any = branch.msgs
    async with manager.messages:
        return compile_chat_request(to_branch(branch, restored_system=restored_system), request)


async def chat(
    branch: lionagi.Branch,
    instruction: Any,
    param: ChatParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
) -> str:
    """Compile a turn, call the model once, and return its answer; nothing is recorded.

    Raises:
        TurnCompileError: as `compiled_turn`; nothing was sent.
        RuntimeError: the call failed.
    """
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    answer = await _invoke(branch, turn, param)
    return str(answer.response)


async def communicate(
    branch: lionagi.Branch,
    instruction: Any,
    param: ChatParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
) -> str:
    """Do what `chat` does, and record the instruction and the answer once the model has answered.

    Raises:
        TurnCompileError: as `compiled_turn`; nothing was sent.
        RuntimeError: the call failed; nothing was recorded.
    """
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    answer = await _invoke(branch, turn, param)
    await _record(branch, turn, [Entry(answer, {"assistant_response": answer})])
    return str(answer.response)


async def run(
    branch: lionagi.Branch,
    instruction: Any,
    param: RunParam,
    *,
    context_blocks: Iterable[ContextBlock] = (),
    restored_system: RestoredSystem = "refuse",
    resume: bool = False,
    deadline: float | None = None,
) -> AsyncIterator[Any]:
    """Compile a turn, stream it through a CLI model, and yield LionAGI's messages as they are complete.

    The instruction and all messages are recorded together when the stream has ended; a stream that fails, is
    cancelled or is left early records nothing. `deadline` is in seconds for the whole stream.

    `resume` continues the provider's own session. There the provider keeps the history and reads the last message
    only, so an edited history would not be seen: without `resume` a model that has a session is refused.

    Raises:
        TurnCompileError: as `compiled_turn`, or the model is no CLI model, has a session, or the parameters ask for
            a persisted stream; nothing was sent.
        TimeoutError: the deadline passed.
    """
    model = _streaming_model(branch, param, resume=resume)
    turn = await compiled_turn(
        branch, instruction, param, context_blocks=context_blocks, restored_system=restored_system
    )
    session = {"resume": model.provider_session_id} if resume and model.provider_session_id is not None else {}
    transcript = Transcript(branch, model.endpoint)
    stream = model.stream(messages=provider_messages(turn), **turn.provider_kwargs, **session)
    async with aclosing(stream):
        async for chunk in _until(stream, deadline):
            for message in transcript.take(chunk):
                yield message
    for message in transcript.finish():
        yield message
    await _record(branch, turn, transcript.entries)


def _model(branch: lionagi.Branch, param: ChatParam) -> iModel:
    model: iModel = param.to_dict().get("imodel") or branch.chat_model
    return model


def _streaming_model(branch: lionagi.Branch, param: RunParam, *, resume: bool) -> iModel:
    model = _model(branch, param)
    if not model.is_cli:
        raise TurnCompileError("`run` needs a CLI model, such as claude_code, codex, gemini-cli or pi; use `chat`")
    if param.to_dict().get("stream_persist"):
        raise TurnCompileError("`stream_persist` is not supported here; keep the messages that `run` yields")
    if model.provider_session_id is not None and not resume:
        raise TurnCompileError(
            f"The model continues the provider's session {model.provider_session_id!r}, which keeps a history of its "
            "own and would read the last message only. Pass resume=True to continue it, or use a model without session"
        )
    return model


async def _invoke(branch: lionagi.Branch, turn: CompiledChatRequest, param: ChatParam) -> Any:
    options = param.to_dict()
    counted = {name: options[name] for name in ("include_token_usage_to_model",) if name in options}
    call = await _model(branch, param).invoke(messages=provider_messages(turn), **turn.provider_kwargs, **counted)
    await branch.emit_and_log(call)
    call.assert_completed()
    return answer_of(call.response, branch)


async def _record(branch: lionagi.Branch, turn: CompiledChatRequest, entries: Iterable[Entry]) -> None:
    """Add the instruction and what answered it; an instruction that the branch holds already stays where it is."""
    manager: Any = branch.msgs
    if turn.instruction.id not in manager.messages:
        await manager.a_add_message(instruction=instruction_of(turn.instruction))
    for entry in entries:
        await manager.a_add_message(**entry.added_as)


async def _until(stream: Any, deadline: float | None) -> AsyncIterator[Any]:
    """Pass a stream's chunks on; each wait for one ends at the deadline."""
    end = None if deadline is None else anyio.current_time() + deadline
    chunks = aiter(stream)
    while True:
        with anyio.fail_after(None if end is None else end - anyio.current_time()):
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
        yield chunk
