"""A run of the host reduced to its hooks: calls a capability in the host's order and times nothing else.

Why not `Agent.run` with the capability minus `Agent.run` without: on 1,000 messages the host alone takes about 20
times what is measured here, and its noise is larger than the difference. So the hooks are called directly, as the
agent graph calls them: `for_run` and `before_run` once; then for every request `wrap_model_request` around
`before_model_request`, `prepare_model_request`, `get_wrapper_model`, the host's own repair, the request through the
wrapper, and `after_model_request`. The repair and this file's work go to the account "host", which no row counts; the
model's answer costs next to nothing and is in every row. Not covered is the host's bookkeeping between hooks, which
is the same with and without a capability.

Accounts: "before" (the edit), "send" (binding check, the last look before transport), "note" (the answer is noted).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, repair_messages
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from benchmarks.clock import Stopwatch
from benchmarks.pydantic_ai.histories import PydanticAuthor

ACCOUNTS = ("before", "send", "note")

Capability = AbstractCapability[None]


class AnsweringModel(Model[Any]):
    """Answers with the response it was given and looks at nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.response = ModelResponse([])

    @property
    def model_name(self) -> str:
        """The name in `provider:name`."""
        return "bench"

    @property
    def system(self) -> str:
        """The provider in `provider:name`."""
        return "bench"

    async def request(
        self,
        messages: list[ModelMessage],  # noqa: ARG002  # the host passes all three by name
        model_settings: ModelSettings | None,  # noqa: ARG002
        model_request_parameters: ModelRequestParameters,  # noqa: ARG002
    ) -> ModelResponse:
        """Return the prepared response."""
        return self.response


class AgentRun:
    """One agent run in a tool loop over `history`, which is changed in place as the host does it."""

    _model = AnsweringModel()  # one for all runs: a model's first request costs more than the next ones

    def __init__(self, capability: Capability, history: list[ModelMessage]) -> None:
        self.messages = history
        self._given = tuple(history)  # a caller keeps what it passed in: no row pays for freeing dropped messages
        self._configured = capability
        self._capability: Capability | None = None
        self._author = PydanticAuthor(2)
        self._step = 0

    async def step(self) -> dict[str, float]:
        """Make one model request, append the answer and a tool result, and return the seconds by account."""
        self._step += 1
        self._model.response = _answer(self._author.call())
        watch = Stopwatch()
        context = self._context()
        capability = self._capability or await self._start(context, watch)
        request = ModelRequestContext(
            model=self._model,
            messages=list(self.messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        response = await self._request(capability, context, request, watch)
        self.messages += [response, self._author.result()]
        return {account: watch.seconds[account] for account in ACCOUNTS}

    async def _start(self, context: RunContext[None], watch: Stopwatch) -> Capability:
        watch.turn("before")
        capability = await self._configured.for_run(context)
        await capability.before_run(context)
        watch.turn("host")
        self._capability = capability
        return capability

    @staticmethod
    async def _request(
        capability: Capability, context: RunContext[None], request: ModelRequestContext, watch: Stopwatch
    ) -> ModelResponse:
        async def handler(request: ModelRequestContext) -> ModelResponse:
            watch.turn("before")
            request = await capability.before_model_request(context, request)
            watch.turn("send")
            request = await capability.prepare_model_request(context, request)
            model = capability.get_wrapper_model(request.model) or request.model
            watch.turn("host")
            messages = _repaired(request.messages)
            watch.turn("send")
            response = await model.request(messages, request.model_settings, request.model_request_parameters)
            response = await capability.after_model_request(context, request_context=request, response=response)
            watch.turn("note")
            return response

        watch.turn("note")
        response = await capability.wrap_model_request(context, request_context=request, handler=handler)
        watch.turn("host")
        return response

    def _context(self) -> RunContext[None]:
        return RunContext(
            deps=None,
            model=self._model,
            usage=RunUsage(),
            messages=self.messages,
            run_step=self._step,
            run_id="bench-run",
        )


def _answer(message: ModelMessage) -> ModelResponse:
    assert isinstance(message, ModelResponse)
    return message


def _repaired(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """What the host sends of a list of messages."""
    return repair_messages(messages, repair_last_response=True)
