"""The provider that a recorded LangChain test talks to: `recording.Provider` with chat models in front of it.

`ChatAnthropic` keeps one asynchronous transport for each address, for the life of the process, so a second event loop
would find it bound to a loop that has ended. Here every test gets a client of its own, and no client retries.
"""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI

from recording import Provider


class ChatProvider(Provider):
    """The provider of one recorded test, asked through LangChain's own chat models."""

    def chat(self, name: str | None = None, **options: Any) -> BaseChatModel:
        """Return LangChain's chat model of this lane over the vendor's client."""
        if self.lane.dialect == "anthropic":
            return self._claude(name or "claude-sonnet-4-6", options)
        responses = self.lane.dialect == "responses"
        return ChatOpenAI(
            model=name or "gpt-4.1-mini",
            api_key=lambda: self._key or "none",
            base_url=f"{self._address}/v1",
            http_async_client=self._http,
            max_retries=0,
            use_responses_api=responses,
            stream_usage=True,
            **options,
        )

    def _claude(self, name: str, options: dict[str, Any]) -> ChatAnthropic:
        model = ChatAnthropic(model_name=name, max_tokens_to_sample=2048, max_retries=0, **options)
        vars(model)["_async_client"] = self._anthropic()  # a cached property, filled before its first use
        return model
