"""The provider that a recorded test talks to.

A `Provider` builds the host's model over the vendor's own client. Replaying it needs nothing. Recording it serves the
test's script from the emulator, or, where the vendor's key is in the environment, asks the vendor and leaves the script
unread. What a cassette holds is in `cassette.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from cassette import EMULATOR
from emulator import Answer, ProviderEmulator, Step, answer

VENDORS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com"),
    "openai": ("OPENAI_API_KEY", "https://api.openai.com"),
}
"""Vendor -> the variable that holds its key, and its address."""

Dialect = Literal["anthropic", "chat", "responses"]


@dataclass(frozen=True)
class Lane:
    """A provider's API, and whether its answers come as a stream."""

    dialect: Dialect
    streams: bool

    def __str__(self) -> str:
        return f"{self.dialect}-{'sse' if self.streams else 'json'}"

    @property
    def entry(self) -> str:
        """The host's entry point that asks for such answers."""
        return "run_stream" if self.streams else "run"

    @property
    def vendor(self) -> str:
        """Whose API it is."""
        return "anthropic" if self.dialect == "anthropic" else "openai"


@dataclass(frozen=True)
class Recall:
    """A step that answers with a word if the server would show it to the model, else with `Unknown.`."""

    word: str


class Provider:
    """The provider of one recorded test, a context manager; `sent` holds the body of each request to a model."""

    def __init__(self, lane: Lane, *, recording: bool) -> None:
        variable, self._address = VENDORS[lane.vendor]
        self._key = os.environ.get(variable, "") if recording else ""
        self.lane = lane
        self._emulator = ProviderEmulator() if recording and not self._key else None
        self._http = httpx2.AsyncClient(trust_env=False, timeout=60, event_hooks={"request": [self._note]})
        self.sent: list[bytes] = []

    async def __aenter__(self) -> Self:
        if self._emulator is not None:
            self._emulator.__enter__()
            self._address = self._emulator.url
        elif not self._key:
            self._address = EMULATOR
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()
        if self._emulator is not None:
            self._emulator.__exit__(kind, error, trace)
            assert error is not None or not self._emulator.refusals, self._emulator.refusals

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies as JSON."""
        return [json.loads(body) for body in self.sent]

    def script(self, *steps: Step | Recall) -> None:
        """Say what the emulator answers next; of no effect where it is not asked."""
        if self._emulator is not None:
            self._emulator.script(*(self._recall(step.word) if isinstance(step, Recall) else step for step in steps))

    def model(self, name: str | None = None) -> Model:
        """Return the host's model of this lane over the vendor's client."""
        if self.lane.dialect == "anthropic":
            provider = AnthropicProvider(anthropic_client=self._anthropic())
            return AnthropicModel(name or "claude-sonnet-4-6", provider=provider)
        openai = OpenAIProvider(openai_client=self.openai())
        if self.lane.dialect == "chat":
            return OpenAIChatModel(name or "gpt-4.1-mini", provider=openai)
        return OpenAIResponsesModel(name or "gpt-4.1-mini", provider=openai)

    def openai(self) -> AsyncOpenAI:
        """Return the vendor's client, for what the host does not do itself."""
        base = f"{self._address}/v1"
        return AsyncOpenAI(api_key=self._key or "none", base_url=base, max_retries=0, http_client=self._http)

    def _anthropic(self) -> AsyncAnthropic:
        return AsyncAnthropic(
            api_key=self._key or "none", base_url=self._address, max_retries=0, http_client=self._http
        )

    async def _note(self, request: httpx2.Request) -> None:
        if request.url.path != "/v1/conversations":
            self.sent.append(await request.aread())

    def _recall(self, word: str) -> Callable[[Mapping[str, object]], Answer]:
        def recall(body: Mapping[str, object]) -> Answer:
            assert self._emulator is not None
            seen = json.dumps(self._emulator.effective(body))
            return answer(f"{word}." if word in seen else "Unknown.")

        return recall
