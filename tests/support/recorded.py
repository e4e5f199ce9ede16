"""The recorded provider traffic that the tests in `tests/corpus` read, and the native histories it gave.

The corpus is no part of the project; KEDI_RECORDED_CORPUS names its folder. `recorded/*.yaml` are vcrpy cassettes,
`histories/pydantic_ai/*.json` what Pydantic AI made of them: `NAME` replayed through the model class, `NAME.agent` by a
whole run, `NAME.rejected` the history that a provider refused. Without the variable every list here is empty.
"""

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import yaml
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from wire.reading import Body, mapping_of, mappings_of, text_of

FOLDER = os.environ.get("KEDI_RECORDED_CORPUS")
WITHOUT = "KEDI_RECORDED_CORPUS is not set; it names a folder of recorded provider traffic, which is not kept here"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Recording:
    """One native history with the name of the cassette it came from."""

    name: str
    messages: tuple[ModelMessage, ...]

    @property
    def cassette(self) -> str:
        """Return the name of the cassette, without what tells several histories of it apart."""
        return self.name.partition(".")[0]

    @property
    def is_rejected(self) -> bool:
        """Return whether the provider refused this history."""
        return self.name.endswith(".rejected")

    @property
    def is_agent_run(self) -> bool:
        """Return whether a whole run made this history; the same exchange is there without one."""
        return self.name.endswith(".agent")


@dataclass(frozen=True)
class Exchange:
    """One recorded HTTP request with the provider's answer."""

    url: str
    sent: Body
    status: int
    answer: str


def histories() -> tuple[Recording, ...]:
    """Return every native history of the corpus in the order of the names; empty without a corpus."""
    if FOLDER is None:
        return ()
    paths = sorted((Path(FOLDER) / "histories" / "pydantic_ai").glob("*.json"))
    return tuple(Recording(path.stem, _messages(path)) for path in paths)


def provider_of(recording: Recording) -> str:
    """Return the provider a history was made with, `""` for one without a response."""
    responses = [message for message in recording.messages if isinstance(message, ModelResponse)]
    return (responses[0].provider_name or "") if responses else ""


@cache
def exchanges(cassette: str) -> tuple[Exchange, ...]:
    """Return the recorded requests of a cassette in their order."""
    assert FOLDER is not None  # who asks has a name from the corpus
    path = Path(FOLDER) / "recorded" / f"{cassette}.yaml"
    loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506  # it is a safe one
    return tuple(_exchange(interaction) for interaction in mappings_of(mapping_of(loaded).get("interactions")))


def _messages(path: Path) -> tuple[ModelMessage, ...]:
    return tuple(ModelMessagesTypeAdapter.validate_json(path.read_bytes()))


def _exchange(interaction: Body) -> Exchange:
    request, response = mapping_of(interaction.get("request")), mapping_of(interaction.get("response"))
    body = request.get("body")
    sent = mapping_of(json.loads(body)) if isinstance(body, (str, bytes)) and body else {}
    status = cast(int, mapping_of(response.get("status")).get("code"))
    return Exchange(text_of(request.get("uri")), sent, status, text_of(mapping_of(response.get("body")).get("string")))
