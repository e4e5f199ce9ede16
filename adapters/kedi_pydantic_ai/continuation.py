"""The settings that name server-side state from before a rewrite, and how a request goes without them.

A fixed response id and a server-owned conversation would bring removed history back. An `"auto"` response chain stays:
the host resumes it only from a response whose recorded prefix matches. Settings objects are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

STATE_SETTINGS: Final[dict[str, frozenset[str]]] = {
    "openai_previous_response_id": frozenset({"auto"}),
    "openai_conversation_id": frozenset(),
    "xai_previous_response_id": frozenset(),
}
"""Setting -> the values of it that may stay."""

STATE_BODY_KEYS: Final = frozenset({"previous_response_id", "conversation", "previous_interaction_id"})
"""Keys of `extra_body` that name server-side state."""


def without_old_state(settings: ModelSettings | None, model: Model) -> ModelSettings | None:
    """Return settings that name no state from before a rewrite; the same object if they name none.

    A setting the model carries itself is overridden by None, because leaving it out would bring it back.
    """
    given: Mapping[str, Any] = cast("Mapping[str, Any]", settings or {})
    carried = [cast("Mapping[str, Any]", own) for own in _own_settings(model)]
    changes = {**_ids(given, carried), **_body(given, carried)}
    dropped = {name for name in changes if changes[name] is None and not any(name in own for own in carried)}
    if not changes:
        return settings
    merged = {**given, **changes}
    return cast("ModelSettings", {name: value for name, value in merged.items() if name not in dropped})


def _ids(given: Mapping[str, Any], carried: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        name: None
        for name, harmless in STATE_SETTINGS.items()
        if any(source.get(name) is not None and source[name] not in harmless for source in (given, *carried))
    }


def _body(given: Mapping[str, Any], carried: list[Mapping[str, Any]]) -> dict[str, Any]:
    bodies = [source.get("extra_body") for source in (given, *carried)]
    named = [body for body in bodies if isinstance(body, Mapping) and STATE_BODY_KEYS & body.keys()]
    if not named:
        return {}
    body = next((body for body in bodies if isinstance(body, Mapping)), {})
    return {"extra_body": {key: value for key, value in body.items() if key not in STATE_BODY_KEYS}}


def _own_settings(model: Model) -> Iterable[ModelSettings]:
    return (one.settings for one in serving_models(model) if one.settings)


def serving_models(model: Model) -> list[Model]:
    """Return every model that may serve a request given to `model`, itself first."""
    if isinstance(model, FallbackModel):
        return [model, *(inner for candidate in model.models for inner in serving_models(candidate))]
    if isinstance(model, WrapperModel):
        return [model, *serving_models(model.wrapped)]
    return [model]
