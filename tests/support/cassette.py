"""What a cassette holds, and which request it answers.

A request is answered if method, path, query and body are the recorded ones. The host is not compared: each address in
a cassette says what it was recorded from, the emulator under a name that can never be looked up, or the vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

EMULATOR: Final = "http://provider-emulator.invalid"
"""How a cassette names the emulator."""

KEPT_HEADERS: Final = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type"})
"""All that a cassette holds of the headers, either way; keys, cookies, organisations, dates and ids are not in it."""


def _recorded_request(request: Any) -> Any:
    """Name the emulator, and leave out all headers but the few that say how to read the body."""
    if urlsplit(request.uri).hostname == "127.0.0.1":
        request.uri = EMULATOR + request.uri.partition(f":{request.port}")[2]
    request.headers = {name: value for name, value in request.headers.items() if name.lower() in KEPT_HEADERS}
    return request


def _recorded_response(response: dict[str, Any]) -> dict[str, Any]:
    headers = {name: value for name, value in response["headers"].items() if name.lower() in KEPT_HEADERS}
    return {**response, "headers": headers}


VCR_CONFIG: Final[Mapping[str, Any]] = {
    "match_on": ("method", "path", "query", "body"),
    "decode_compressed_response": True,
    "before_record_request": _recorded_request,
    "before_record_response": _recorded_response,
}
"""How cassettes are written and matched."""
