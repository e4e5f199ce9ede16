"""`LiveRequest`: what an adapter observed about a request that is about to be made.

The callback that gives the inputs is shown it; no message of the host's is in it, and where its facts were found is the
adapter's business. Source: Assembly specification, Inputs to the compiler.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kedi_compile.assembly.inputs import RequestInputs, ToolSchema


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A request as its adapter sees it, behind the history edit.

    - `request_index`: 1-based within the run.
    - `calls`: names of the tools called since the user's current message, in order; `earlier_calls` those before it.
    - `tools`: the tools the model is offered.
    - `history_tokens`: estimated tokens of the history.
    - `user_text`: the text of the user's current message; empty where it has none.
    - `conversation_id`: the conversation of an enabled `history_scope`, or else what the host calls the conversation or
      thread; None where it has no name.
    - `context`: what the caller handed to the run, the same object: `deps` on Pydantic AI, the runtime's context of a
      LangChain agent; None where there is none. The ledger of one user among many is found by it.
    """

    request_index: int
    model_id: str
    calls: tuple[str, ...] = ()
    earlier_calls: tuple[str, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    history_tokens: int = 0
    user_text: str = ""
    run_id: str | None = None
    conversation_id: str | None = None
    context: object = None


InputsCallback = Callable[[LiveRequest], "RequestInputs | Awaitable[RequestInputs]"]
"""What gives a live request its inputs: observed request -> inputs, sync or async."""
