"""Step 2: what each record means to a model.

Instructions and answers become views of their own; results of actions wait for the next instruction and are added to
its context, those after the last one to the current instruction's. A kind of record that is not in the table below
and has a role is refused, so that a new kind cannot silently change a prompt. Source: Turn specification, D2 (Project
provider-relevant history).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from kedi_compile.errors import UnknownRecordError
from kedi_compile.message import MessageRole

from .contents import text_of
from .equality import token_of
from .records import ActionRequest, ActionResponse, AssistantResponse, Instruction, Message, System
from .refusals import blaming
from .views import AssistantView, InstructionView, View, view_of


class Projection:
    """The history and the current instruction of one turn, as views; built record by record."""

    def __init__(self) -> None:
        self.history: list[View] = []
        self._results: list[ActionResponse] = []

    def skip(self, _record: Message) -> None:
        """Leave a record out: policy comes from the branch, and a call is shown by its result."""

    def hold(self, record: ActionResponse) -> None:
        """Keep a result for the next instruction."""
        self._results.append(record)

    def answer(self, record: AssistantResponse) -> None:
        """Add an answer to the history."""
        with blaming(record.id):
            self.history.append(
                AssistantView(record.id, text_of(record.content.assistant_response, "assistant_response"))
            )

    def ask(self, record: Instruction) -> None:
        """Add an instruction to the history, with the results that wait for it."""
        self.history.append(self.hand_over_results(view_of(record)))

    def hand_over_results(self, view: InstructionView) -> InstructionView:
        """Return the view with the waiting results in its context, each once; then none waits any more."""
        results, self._results = self._results, []
        if not results:
            return view
        held = {token_of(item) for item in view.prompt_context}
        added: dict[UUID, dict[str, Any]] = {}
        for record in results:
            shown = _shown(record)
            token = token_of(shown)
            if token not in held:
                held.add(token)
                added[record.id] = shown
        return replace(view, prompt_context=(*view.prompt_context, *added.values()), result_ids=tuple(added))


def _shown(record: ActionResponse) -> dict[str, Any]:
    content = record.content
    return {"function": content.function, "arguments": content.arguments, "output": content.output}


CASES: tuple[tuple[type[Message], Callable[[Projection, Any], None]], ...] = (
    (System, Projection.skip),
    (ActionRequest, Projection.skip),
    (ActionResponse, Projection.hold),
    (AssistantResponse, Projection.answer),
    (Instruction, Projection.ask),
)
"""What the compiler does with a record of each kind, or of a class derived from it."""


def project(records: Iterable[Message], instruction: Instruction) -> tuple[list[View], InstructionView]:
    """Return the views of the history, and that of the current instruction.

    Raises:
        UnknownRecordError: a record has a role and is of no kind in `CASES`.
    """
    projection = Projection()
    for record in records:
        _case_of(record)(projection, record)
    return projection.history, projection.hand_over_results(view_of(instruction))


def _case_of(record: Message) -> Callable[[Projection, Any], None]:
    for kind, case in CASES:
        if isinstance(record, kind):
            return case
    if record.role == MessageRole.UNSET:
        return Projection.skip
    raise UnknownRecordError(
        f"Record {record.id} is a {record.kind} with the role '{record.role}', and the compiler knows no such "
        f"kind; it knows {', '.join(kind.__name__ for kind, _ in CASES)}",
        record_ids=[record.id],
    )
