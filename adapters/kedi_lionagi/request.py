"""LionAGI's call parameters as a turn request: what changes the messages, and nothing of how they are sent.

`stream_persist`, `persist_dir`, `snapshot_dir`, a deadline or a session to resume are no part of a turn. Source: Turn
specification, D5 and D6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kedi_compile import ContextBlock, TurnRequest
from kedi_compile.turn import Instruction
from kedi_compile.turn.ids import ids_of
from kedi_lionagi.branch import to_instruction
from kedi_lionagi.host import is_instruction, refuse_strangers

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi import Branch as LionBranch
    from lionagi.operations.types import ChatParam


def turn_request(
    branch: LionBranch, instruction: Any, param: ChatParam, *, context_blocks: Iterable[ContextBlock] = ()
) -> TurnRequest:
    """Return the turn that LionAGI's `chat` and `run` mean by an instruction and their parameters.

    `instruction` is text, any JSON value, or an instruction, LionAGI's or a record; an instruction stays as it is and
    is combined with the parameters in a copy. An empty `progression` means the branch's own, as it always has there;
    to read no history, build the `TurnRequest` yourself.

    Raises:
        TurnCompileError: the branch or the parameters are not LionAGI's, or the progression holds no ids.
    """
    refuse_strangers(branch, param)
    options = param.to_dict()
    blocks: Any = context_blocks
    return TurnRequest(
        _instruction(branch, instruction, options),
        progression=tuple(ids_of(options["progression"])) if options.get("progression") else None,
        tool_schemas=_schemas(options.get("tool_schemas")),
        response_format=options.get("response_format"),
        structure=options.get("structure"),
        context_blocks=tuple(blocks) if isinstance(blocks, Iterable) else blocks,
        provider_kwargs=options.get("imodel_kw") or {},
    )


def _instruction(branch: LionBranch, instruction: Any, options: Mapping[str, Any]) -> Instruction:
    given = Instruction.create(
        guidance=options.get("guidance"),
        prompt_context=options.get("context"),
        plain_content=options.get("plain_content"),
        images=options.get("images"),
        image_detail=options.get("image_detail"),
        sender=str(options.get("sender") or branch.user or "user"),
        recipient=str(options.get("recipient") or branch.id),
    )
    if isinstance(instruction, Instruction) or is_instruction(instruction):
        held = instruction if isinstance(instruction, Instruction) else to_instruction(instruction)
        return _combined(held, given)
    return replace(given, content=replace(given.content, instruction=instruction))


def _combined(held: Instruction, given: Instruction) -> Instruction:
    """The instruction's identity and content, with what the parameters add to it."""
    content = replace(
        held.content,
        guidance=given.content.guidance or held.content.guidance,
        prompt_context=[*held.content.prompt_context, *given.content.prompt_context],
        plain_content=given.content.plain_content or held.content.plain_content,
        images=[*held.content.images, *given.content.images],
        image_detail=held.content.image_detail or given.content.image_detail,
    )
    return replace(held, content=content, sender=given.sender, recipient=given.recipient)


def _schemas(schemas: Any) -> Any:
    """A list of schemas, one schema, or LionAGI's `{"tools": [...]}` around either; else what it is, to be refused."""
    if isinstance(schemas, Mapping):
        schemas = schemas.get("tools", schemas)
    if isinstance(schemas, Mapping):
        return (schemas,)
    return tuple(schemas) if isinstance(schemas, list) else schemas or ()
