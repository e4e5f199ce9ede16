"""A transport that answers from a recording: no socket, no name look-up, no clock.

It stands below the real Anthropic client, gives the recorded answers in their order and keeps every body as the bytes
that would have gone out. Whether those are the requests that were recorded is for `proof.py` to say. The recordings
are `conversation.json`, the history before the question, and `exchange.json`, the requests since and their answers;
`desk.json` holds those of the demo of dumps, over the same history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from kedi_compile.demo.story import MODEL

HOST: Final = "http://emulator.invalid"
"""A name that can never be looked up, should anything ever try."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded request to the Messages API and its answer, both as JSON bodies."""

    request: Mapping[str, object]
    response: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a conversation was recorded from, its history, and the exchanges that follow."""

    recorded_from: str
    history: Sequence[ModelMessage]
    exchanges: Sequence[Exchange]


def load_recording(name: str = "exchange.json") -> Recording:
    """Read a recording that is shipped with the package, by the file that holds its exchanges."""
    folder = files("kedi_compile.demo")
    history = ModelMessagesTypeAdapter.validate_json(folder.joinpath("conversation.json").read_bytes())
    stored = json.loads(folder.joinpath(name).read_bytes())
    return Recording(stored["recorded_from"], history, [Exchange(**exchange) for exchange in stored["exchanges"]])


class ReplayTransport(httpx2.AsyncBaseTransport):
    """Answers the n-th request with the n-th recorded response; `sent` holds the bodies."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._exchanges = exchanges
        self.sent: list[bytes] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Keep the body and answer; a request beyond the recording gets the API's error for a bad one."""
        self.sent.append(await request.aread())
        number = len(self.sent)
        if number > len(self._exchanges):
            message = f"Request {number} is not in the recording, which holds {len(self._exchanges)}"
            error = {"type": "invalid_request_error", "message": message}
            return httpx2.Response(400, json={"type": "error", "error": error}, request=request)
        return httpx2.Response(200, json=self._exchanges[number - 1].response, request=request)


def replayed_model(transport: httpx2.AsyncBaseTransport) -> AnthropicModel:
    """Return the host's Anthropic model with its real client over `transport`."""
    http = httpx2.AsyncClient(transport=transport, trust_env=False)
    client = AsyncAnthropic(api_key="none", base_url=HOST, max_retries=0, http_client=http)
    return AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
