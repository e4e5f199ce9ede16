"""Step 2: what each record means to a model.

Instructions and answers become views of their own; results of actions wait for the next instruction and are added to
its context, those after the last one to the current instruction's. A kind of record that is not in the table below
and has a role is refused, so that a new kind cannot silently change a prompt. Source: Turn specification, D2 (Project
provider-relevant history).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from kedi_compile.errors import TurnCompileError, UnknownRecordError
from kedi_compile.message import MessageRole

from .alike import token_of
from .blame import blaming
from .contents import text_of
from .records import ActionRequest, ActionResponse, AssistantResponse, Instruction, Message, System
from .request import ResponseFormat, TurnRequest


@dataclass(frozen=True, slots=True)
class InstructionView:
    """An instruction as this one call shows it."""

    record_id: UUID
    instruction: Any = None
    guidance: Any = None
    prompt_context: tuple[Any, ...] = ()
    plain_content: str | None = None
    images: tuple[str, ...] = ()
    image_detail: str | None = None
    tool_schemas: tuple[dict[str, Any], ...] = ()
    response_format: ResponseFormat | None = None


@dataclass(frozen=True, slots=True)
class AssistantView:
    """An answer as this one call shows it; of several in a row, `record_id` is the first one's."""

    record_id: UUID
    assistant_response: str


View = InstructionView | AssistantView


class Projection:
    """The history and the current instruction of one turn, as views; built record by record."""

    def __init__(self) -> None:
        self.history: list[View] = []
        self._results: list[dict[str, Any]] = []

    def skip(self, _record: Message) -> None:
        """Leave a record out: policy comes from the branch, and a call is shown by its result."""

    def hold(self, record: ActionResponse) -> None:
        """Keep a result for the next instruction."""
        content = record.content
        self._results.append({"function": content.function, "arguments": content.arguments, "output": content.output})

    def answer(self, record: AssistantResponse) -> None:
        """Add an answer to the history."""
        with blaming(record.id):
            self.history.append(
                AssistantView(record.id, text_of(record.content.assistant_response, "assistant_response"))
            )

    def ask(self, record: Instruction) -> None:
        """Add an instruction to the history, with the results that wait for it."""
        self.history.append(self.with_results(view_of(record)))

    def with_results(self, view: InstructionView) -> InstructionView:
        """Return the view with the waiting results in its context; a result that is there already is not repeated."""
        results, self._results = self._results, []
        if not results:
            return view
        held = {token_of(item) for item in view.prompt_context}
        added = []
        for result in results:
            token = token_of(result)
            if token not in held:
                held.add(token)
                added.append(result)
        return replace(view, prompt_context=(*view.prompt_context, *added))


CASES: tuple[tuple[type[Message], Callable[[Projection, Any], None]], ...] = (
    (System, Projection.skip),
    (ActionRequest, Projection.skip),
    (ActionResponse, Projection.hold),
    (AssistantResponse, Projection.answer),
    (Instruction, Projection.ask),
)
"""What the compiler does with a record of each kind, or of a class derived from it."""


def project(records: Iterable[Message], request: TurnRequest) -> tuple[list[View], InstructionView]:
    """Return the views of the history, and that of the current instruction.

    Raises:
        UnknownRecordError: a record has a role and is of no kind in `CASES`.
    """
    projection = Projection()
    for record in records:
        _case_of(record)(projection, record)
    current = projection.with_results(view_of(request.instruction))
    tools = tuple(request.tool_schemas)
    return projection.history, replace(current, tool_schemas=tools, response_format=request.response_format)


def _case_of(record: Message) -> Callable[[Projection, Any], None]:
    for kind, case in CASES:
        if isinstance(record, kind):
            return case
    if record.role is MessageRole.UNSET:
        return Projection.skip
    raise UnknownRecordError(
        f"Record {record.id} is a {record.kind} with the role {record.role.value!r}, and the compiler knows no such "
        f"kind; it knows {', '.join(kind.__name__ for kind, _ in CASES)}",
        record_ids=[record.id],
    )


def view_of(record: Instruction) -> InstructionView:
    """Return the durable part of an instruction as a view.

    Raises:
        TurnCompileError: the context or the images are no list.
    """
    content = record.content
    with blaming(record.id):
        return InstructionView(
            record.id,
            content.instruction,
            content.guidance,
            _several(content.prompt_context, "prompt_context"),
            content.plain_content,
            _several(content.images, "images"),
            content.image_detail,
        )


def _several(values: object, field: str) -> tuple[Any, ...]:
    if isinstance(values, list | tuple):
        return tuple(values)
    raise TurnCompileError(f"`{field}` is a {type(values).__name__}; it must be a list", path=field)
