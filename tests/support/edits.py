"""Edits of a scene carried out by the core with the real dialect, without a host, and judged as their wire bodies."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import settings
from pydantic_ai.messages import ModelMessage

from bodies import Api
from histories import Plan, Scene, carried_out
from issued import remembered
from kedi_compile import HistoryProcessorCallback
from kedi_compile.history.archiving import Surroundings
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Outcome
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_pydantic_ai import PydanticDialect
from wire.reading import Body
from wire.refusal import Refusal

_SAME_WHATEVER_THE_HISTORY = ("tools", "toolConfig", "thinking")
_references = count(1)
SURROUNDINGS = Surroundings(lambda: f"ref-{next(_references)}", lambda: 0.0)
INFO = RequestInfo(model_id="provider:model", request_index=1, run_id="run")


def share(parts: int) -> settings:
    """Return settings for a law that is told once for each API: one part of the examples each."""
    return settings(max_examples=settings().max_examples // parts)


def session(processor: HistoryProcessorCallback[ModelMessage] | None = None, **policy: Any) -> RunSession[ModelMessage]:
    """Return the session of a run with this processor."""
    return RunSession(HistoryPolicy(processor, **policy), PydanticDialect(), owner=object(), surroundings=SURROUNDINGS)


def outcome_of(scene: Scene, plan: Plan, **policy: Any) -> Outcome[ModelMessage]:
    """Carry a plan out.

    Raises:
        HistoryProcessingValidationError: the rules refuse it.
    """
    return session(lambda ctx: carried_out(plan, ctx), **policy).edit_sync(scene.messages, INFO)


def refusals(api: Api, scene: Scene, edited: Sequence[ModelMessage], **known: Any) -> list[str]:
    """Return by which rules the server of the unedited conversation refuses the edited request."""
    unedited = api.map(scene.messages)
    body = like(unedited, api.map(edited))
    known = remembered(api.name, unedited) | known
    return [_named(refusal) for refusal in api.judge(body, **known)]


def like(unedited: Body, body: Body) -> Body:
    """Return a body with the tools and settings of the unedited one: they are the agent's, not the history's."""
    return {**body, **{key: unedited[key] for key in _SAME_WHATEVER_THE_HISTORY if key in unedited}}


def _named(refusal: Refusal) -> str:
    return f"{refusal.rule}: {refusal.message}"
