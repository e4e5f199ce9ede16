"""OpenAI's responses endpoint in memory, behind OpenAI's own chat model: the bodies are what its client would send."""

from __future__ import annotations

import json
from typing import Any, Final

import httpx
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

STATE_KEYS: Final = frozenset({"previous_response_id", "conversation", "previous_interaction_id"})
URL: Final = "http://localhost/v1"


class Server:
    """OpenAI's responses endpoint: keeps each body, and answers with the ids `resp_1`, `resp_2`, ..."""

    def __init__(self, *, is_broken: bool = False) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.is_broken = is_broken

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        if self.is_broken:
            return httpx.Response(500, json={"error": {"message": "overloaded"}})
        if not self.bodies[-1].get("stream"):
            return httpx.Response(200, json=self._answer())
        created = {"type": "response.created", "sequence_number": 0, "response": self._answer()}
        completed = {"type": "response.completed", "sequence_number": 1, "response": self._answer()}
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (created, completed)]
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content="".join(lines))

    def _answer(self) -> dict[str, Any]:
        number = len(self.bodies)
        text = {"type": "output_text", "text": f"reply {number}", "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [text]}
        shape = {"object": "response", "created_at": 0, "model": "gpt-5", "status": "completed"}
        choices = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {"id": f"resp_{number}", "output": [item], **shape, **choices}

    def model(self, **fields: Any) -> ChatOpenAI:
        """Return a chat model that talks to this server."""
        transport = httpx.MockTransport(self)
        fields |= {"http_client": httpx.Client(transport=transport)}
        fields |= {"http_async_client": httpx.AsyncClient(transport=transport)}
        return ChatOpenAI(
            model="gpt-5", api_key=SecretStr("none"), base_url=URL, max_retries=0, use_responses_api=True, **fields
        )


def texts(body: dict[str, Any]) -> list[str]:
    """Return the texts of a body's input."""
    return [_text(item["content"]) for item in body["input"]]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def stated(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a body says about state of the server."""
    return {key: value for key, value in body.items() if key in STATE_KEYS}
