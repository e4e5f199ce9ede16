"""The last look before transport: what the model is handed is what the rules accepted.

Pydantic AI repairs and reshapes messages after its hooks have run: it merges neighbours, moves tool results to the
front, invents results for dangling calls, drops orphans. `CheckedModel` stands behind all that and refuses a request
whose parts are not those of the validated list, but for what the host does to any list. Measured on 2.68.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    ToolReturnPart,
    UploadedFile,
    repair_messages,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from kedi_compile import HistoryProcessingValidationError, Violation, structure
from kedi_compile.assembly.run import AssembledStep
from kedi_pydantic_ai.assembly import check_sent, sent_system
from kedi_pydantic_ai.recording import FollowedModel
from kedi_pydantic_ai.step import Step

Check = Callable[[Model, Sequence[ModelMessage], ModelRequestParameters], None]
"""What raises if the messages and parameters that a model is handed must not be sent."""

_SYNTHESIZED = "pydantic_ai_synthesized_tool_return"


class CheckedModel(WrapperModel):
    """A model that sends a request only if a check lets it pass."""

    def __init__(self, wrapped: Model, check: Check) -> None:
        super().__init__(wrapped)
        self._check = check

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Check, then send."""
        self._check(self.wrapped, messages, model_request_parameters)
        return await super().request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Check, then stream."""
        self._check(self.wrapped, messages, model_request_parameters)
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            yield stream


def checked(model: Model, step: Step) -> Model | None:
    """Return a model that looks once more at the request of a step, and at its stream; None where there is no need."""
    sending = model
    if step.staged is not None:
        sending = CheckedModel(sending, history_check(step.validated, step.staged.open_calls))
    if step.assembled is not None:
        sending = CheckedModel(sending, assembly_check(step, step.assembled))
    if step.record is not None:
        sending = FollowedModel(sending, step)  # in front: what is refused breaks a stream too
    return None if sending is model else sending


def assembly_check(step: Step, assembled: AssembledStep) -> Check:
    """Return the check that what was assembled is in the request; it notes the instructions a model is handed.

    Raises:
        AssemblyError: from the check, where it is not.
    """

    def check(_model: Model, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> None:
        check_sent(assembled, messages, parameters)
        step.system = sent_system(parameters)

    return check


def history_check(validated: Sequence[ModelMessage], open_calls: frozenset[str]) -> Check:
    """Return the check that a request carries the validated messages, but for what the host does to any list.

    Raises:
        HistoryProcessingValidationError: from the check, where it does not.
    """
    known = list(validated)

    def check(model: Model, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> None:
        if _turns(messages, open_calls) == _turns(known, open_calls):
            return
        expected = _expected(model, known, parameters)
        if len(messages) == len(expected) and all(map(_says_the_same, messages, expected)):
            return
        pairs = zip(messages, expected, strict=False)
        changed = next((n for n, pair in enumerate(pairs) if not _says_the_same(*pair)), len(expected))
        detail = (
            f"Message {changed} of the request is not what was validated ({len(messages)} messages, not "
            f"{len(expected)}); let no capability or hook behind the adapter change the history"
        )
        raise HistoryProcessingValidationError([Violation("changed_after_validation", detail)])

    return check


def _expected(model: Model, known: list[ModelMessage], parameters: ModelRequestParameters) -> list[ModelMessage]:
    """What the host's own pipeline makes of the validated list."""
    if known and isinstance(known[-1], ModelResponse):
        return model.prepare_messages(list(known), parameters)
    repaired = repair_messages(known, repair_last_response=True)
    return repair_messages(model.prepare_messages(repaired, parameters), repair_last_response=True)


def completed(
    staged: Sequence[ModelMessage],
    shown: Sequence[ModelMessage],
    snapshot: Sequence[ModelRequestPart | ModelResponsePart],
) -> list[ModelMessage]:
    """Return the validated list with the current request as the host has completed it since.

    `snapshot` holds copies of the parts the current request had when it was validated; the host may only add to them.

    Raises:
        HistoryProcessingValidationError: `shown` ends with another request.
    """
    current = list(shown[len(staged) - 1 :])
    there = iter([part for message in current for part in message.parts])
    if not all(any(_agrees(part, old) for part in there) for old in snapshot):
        detail = (
            "The current request is not what was validated; let no capability or hook behind the adapter replace it or "
            "change what it held"
        )
        raise HistoryProcessingValidationError([Violation("changed_after_validation", detail)])
    return [*staged[:-1], *current]


def _turns(messages: Sequence[ModelMessage], open_calls: frozenset[str]) -> list[tuple[bool, list[int]]]:
    """The parts by identity, turn by turn; within a request their order is the host's."""
    turns: list[tuple[bool, list[int]]] = []
    for message in messages:
        answer = isinstance(message, ModelResponse)
        parts = [id(part) for part in message.parts if answer or not _is_invented(part, open_calls)]
        if turns and turns[-1][0] is answer:
            turns[-1][1].extend(parts)
        elif parts or not answer:
            turns.append((answer, parts))
    return [(answer, parts if answer else sorted(parts)) for answer, parts in turns if parts]


def _is_invented(part: Any, open_calls: frozenset[str]) -> bool:
    """Whether the host made this result up for a call that was open before any edit."""
    return (
        isinstance(part, ToolReturnPart)
        and isinstance(part.metadata, dict)
        and bool(part.metadata.get(_SYNTHESIZED))
        and part.tool_call_id in open_calls
    )


def _says_the_same(sent: ModelMessage, validated: ModelMessage) -> bool:
    return (
        sent.kind == validated.kind
        and len(sent.parts) == len(validated.parts)
        and all(map(_agrees, sent.parts, validated.parts))
    )


def _agrees(sent: object, validated: object) -> bool:
    """Whether two parts are the same, but for files the host described in words to a model that cannot read them."""
    if structure.same(sent, validated):
        return True
    if type(sent) is not type(validated) or not hasattr(sent, "content"):
        return False
    before, after = dict(vars(validated)), dict(vars(sent))
    files, texts = before.pop("content"), after.pop("content")
    if not isinstance(files, list) or not isinstance(texts, list):
        files, texts = [files], [texts]
    return structure.same(after, before) and len(texts) == len(files) and all(map(_is_or_describes, texts, files))


def _is_or_describes(text: object, file: object) -> bool:
    described = isinstance(file, (FileUrl, BinaryContent, UploadedFile)) and isinstance(text, (str, TextContent))
    return described or structure.same(text, file)
