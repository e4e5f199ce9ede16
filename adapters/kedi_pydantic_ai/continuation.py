"""The settings that name server-side state from before a rewrite, and how a request goes without them.

A fixed response id and a server-owned conversation would bring removed history back. An `"auto"` response chain stays:
the host resumes it only from a response whose recorded prefix matches. Settings objects are never changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from kedi_compile.history.continuation import STATE_KEYS


def without_old_state(settings: ModelSettings | None, model: Model, *, may_chain: bool = True) -> ModelSettings | None:
    """Return settings that name no state from before a rewrite; the same object if they name none.

    Without `may_chain` they ask for no automatic chain either, as a request must that the server is not to keep. A
    setting the model carries itself is overridden, because leaving it out would bring it back. That is safe, but with
    a `FallbackModel` it overrides the setting of every candidate.
    """
    given: Mapping[str, Any] = cast("Mapping[str, Any]", settings or {})
    carried = [cast("Mapping[str, Any]", own) for own in _own_settings(model)]
    out = dict(given)
    for name, clean in (_CLEANERS if may_chain else _UNCHAINED).items():
        effective = [given[name]] if name in given else [own[name] for own in carried if name in own]
        cleaned = [clean(value) for value in effective]
        if cleaned == effective:
            continue
        out[name] = cleaned[0]
        if cleaned[0] is None and not any(name in own for own in carried):
            del out[name]
    return settings if out == given else cast("ModelSettings", out)


def _clean_id(_value: Any) -> Any:
    return None


def _clean_chain(value: Any) -> Any:
    return value if value == "auto" else None


def _clean_body(body: Any) -> Any:
    if not isinstance(body, Mapping):
        return body
    return {key: value for key, value in body.items() if key not in STATE_KEYS}


_CLEANERS: Final[dict[str, Callable[[Any], Any]]] = {
    "openai_previous_response_id": _clean_chain,
    "openai_conversation_id": _clean_id,
    "xai_previous_response_id": _clean_id,
    "extra_body": _clean_body,
}
"""Setting -> what is left of its value when it may name no old state."""

_UNCHAINED: Final = _CLEANERS | {"openai_previous_response_id": _clean_id}
"""The same for a request that no automatic chain may go on from."""

STATE_SETTINGS: Final = frozenset(_CLEANERS) - {"extra_body"}
"""The settings that name server-side state and nothing else."""


def _own_settings(model: Model) -> Iterable[ModelSettings]:
    return (one.settings for one in serving_models(model) if one.settings)


def serving_names(model: Model) -> tuple[str, ...]:
    """Return the names of all models that may serve a request given to `model`, its own first."""
    return tuple(one.model_name for one in serving_models(model))


def serving_models(model: Model) -> list[Model]:
    """Return every model that may serve a request given to `model`, itself first."""
    if isinstance(model, FallbackModel):
        return [model, *(inner for candidate in model.models for inner in serving_models(candidate))]
    if isinstance(model, WrapperModel):
        return [model, *serving_models(model.wrapped)]
    return [model]
