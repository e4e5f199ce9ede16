"""The validators against recorded provider traffic: accepted bodies pass, refused ones are refused alike.

The corpus is not part of the project. Its folder is named by KEDI_RECORDED_CORPUS and holds vcrpy cassettes
under `recorded/`; every request of every cassette is one test.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from wire import anthropic, bedrock, google, openai_chat, openai_responses
from wire.reading import Body, mapping_of, mappings_of, text_of
from wire.refusal import Refusal

CORPUS = os.environ.get("KEDI_RECORDED_CORPUS")
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Exchange(NamedTuple):
    """One recorded request with what the provider answered."""

    name: str
    url: str
    body: Body
    status: int
    answer: str


def recorded() -> Iterator[Exchange]:
    """Yield the model requests of the corpus, nothing without one."""
    folder = Path(CORPUS) / "recorded" if CORPUS else None
    for path in sorted(folder.glob("*.yaml")) if folder else ():
        cassette = yaml.load(path.read_text(encoding="utf-8"), Loader=SAFE_LOADER)  # noqa: S506 - it is a safe one
        for number, interaction in enumerate(mappings_of(mapping_of(cassette).get("interactions"))):
            exchange = _exchange(f"{path.stem}[{number}]", interaction)
            if exchange and judge(exchange) is not None:
                yield exchange


def judge(exchange: Exchange) -> tuple[Refusal, ...] | None:
    """Return the refusals of the validator that the URL calls for, None for another kind of request."""
    path = urlsplit(exchange.url).path
    model = unquote(found[1]) if (found := re.search(r"/models?/([^/:]+)", path)) else ""
    if path.endswith("/messages"):
        return anthropic.check(exchange.body)
    if path.endswith("/chat/completions"):
        return openai_chat.check(exchange.body)
    if path.endswith(("/responses", "/responses/compact")):
        return openai_responses.check(exchange.body)
    if "enerateContent" in path:
        return google.check(exchange.body, model=model)
    return bedrock.check(exchange.body, model=model) if "/converse" in path else None


def _exchange(name: str, interaction: Body) -> Exchange | None:
    request, response = mapping_of(interaction.get("request")), mapping_of(interaction.get("response"))
    sent, status = request.get("body"), mapping_of(response.get("status")).get("code")
    if request.get("method") != "POST" or not sent or not isinstance(status, int):
        return None
    body = json.loads(sent if isinstance(sent, str | bytes) else "{}")
    answer = mapping_of(response.get("body")).get("string")
    return Exchange(name, text_of(request.get("uri")), mapping_of(body), status, text_of(answer))


EXCHANGES = tuple(recorded())
needs_corpus = pytest.mark.skipif(CORPUS is None, reason="KEDI_RECORDED_CORPUS is not set")


def _named(status_is_ok: bool) -> list[object]:
    chosen = [exchange for exchange in EXCHANGES if (exchange.status < 400) == status_is_ok]
    return [pytest.param(exchange, id=exchange.name) for exchange in chosen] or [pytest.param(None, id="none")]


@needs_corpus
@pytest.mark.parametrize("exchange", _named(True))
def test_an_accepted_request_is_accepted(exchange: Exchange) -> None:
    """What the provider took, the validators take."""
    assert judge(exchange) == ()


@needs_corpus
@pytest.mark.parametrize("exchange", _named(False))
def test_a_refused_request_is_refused_in_the_same_words(exchange: Exchange) -> None:
    """What the provider refused, the validators refuse, with the message it sent."""
    answer = json.loads(exchange.answer)
    message = answer.get("message") or mapping_of(answer.get("error")).get("message")

    assert message in [refusal.message for refusal in judge(exchange) or ()]
