"""How the token estimate grows beside what providers report, on the recorded corpus; `python tests/support/growth.py`.

Between two consecutive requests of one recording, instructions and tool schemas cancel, so the growth of the estimate
should be the growth of the reported input, or more. A pair is judged only if both numbers speak of the same thing;
the others are listed with the reason. Reported input of all kinds counts, cached or not.
"""

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_ai.messages import CompactionPart, ModelResponse, NativeToolCallPart, NativeToolReturnPart

from kedi_pydantic_ai.tokens import estimate
from recorded import Exchange, Recording, exchanges, histories
from wire.reading import Body

_REPORTED = re.compile(
    r'"(input_tokens|cache_creation_input_tokens|cache_read_input_tokens|prompt_tokens|promptTokenCount|inputTokens)"'
    r"\s*:\s*(\d+)"
)
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
_FRAME = ("tools", "toolConfig", "system", "instructions", "systemInstruction")


@dataclass(frozen=True)
class Pair:
    """Two consecutive measured responses of a recording, by their message indices, and the growth between them."""

    recording: str
    first: int
    second: int
    reported: int
    estimated: int
    unjudged: str = ""

    @property
    def ratio(self) -> float:
        """Return how many estimated tokens stand for one reported token."""
        return self.estimated / self.reported if self.reported > 0 else 0.0

    def __str__(self) -> str:
        ratio = f"{self.ratio:6.2f}" if self.reported > 0 else "     -"
        place = f"{self.first} -> {self.second}"
        return f"{self.recording:<44}{place:>9}{self.reported:>9}{self.estimated:>10}{ratio}  {self.unjudged}".rstrip()


def pairs() -> list[Pair]:
    """Return the pairs of every recording; of a recording's runs, the one replayed through the model class."""
    chosen = [recording for recording in histories() if not recording.is_agent_run and not recording.is_rejected]
    return [pair for recording in chosen for pair in _pairs_of(recording)]


def table(found: list[Pair]) -> str:
    """Return every pair in one line each, the unjudged ones last, and the two figures that count."""
    head = f"{'recording':<44}{'messages':>9}{'reported':>9}{'estimated':>10} ratio"
    judged, others = [p for p in found if not p.unjudged], [p for p in found if p.unjudged]
    lines = [head, *map(str, judged), "", "not judged:", *map(str, others), ""]
    return "\n".join([*lines, *_figures(judged)])


def _figures(judged: list[Pair]) -> Iterator[str]:
    ratios = [pair.ratio for pair in judged]
    below = sum(ratio < 1 for ratio in ratios)
    yield f"{len(ratios)} pairs judged, {below} below 1.00, median {statistics.median(ratios):.2f}"


def _pairs_of(recording: Recording) -> Iterator[Pair]:
    before: tuple[int, int, int, Exchange] | None = None
    total = 0
    answered = _answered(recording)
    for index, message in enumerate(recording.messages):
        if index in answered and isinstance(message, ModelResponse):
            now = (index, message.usage.input_tokens, total, answered[index])
            if before is not None:
                grown = now[1] - before[1], now[2] - before[2]
                yield Pair(recording.name, before[0], index, *grown, _unjudged(recording, before, now))
            before = now
        total += estimate(message)


def _answered(recording: Recording) -> dict[int, Exchange]:
    """Find the recorded exchange of each measured response, in order."""
    waiting = list(exchanges(recording.cassette))
    out = {}
    for index, message in enumerate(recording.messages):
        reported = message.usage.input_tokens if isinstance(message, ModelResponse) else 0
        found = next((e for e in waiting if reported and _reports(e, reported)), None)
        if found is not None:
            out[index] = found
            del waiting[: waiting.index(found) + 1]
    return out


def _reports(exchange: Exchange, tokens: int) -> bool:
    numbers = _REPORTED.findall(exchange.answer)
    cached = sum(int(dict(numbers).get(key, 0)) for key in _CACHED)
    return any(int(number) == tokens or int(number) + cached == tokens for _, number in numbers)


def _unjudged(recording: Recording, before: tuple[int, int, int, Exchange], now: tuple[int, int, int, Exchange]) -> str:
    """Say why the two numbers do not speak of the same thing, or return an empty string."""
    sent, later = before[3].sent, now[3].sent
    if later.get("previous_response_id") or later.get("conversation"):
        return "the server holds part of the history"
    if any(isinstance(part, CompactionPart) for message in recording.messages for part in message.parts):
        return "the provider compacted the history"
    if _frame(sent) != _frame(later):
        return "tools or instructions changed"
    if any(_ran_server_tools(recording.messages[index]) for index in (before[0], now[0])):
        return "a server tool ran inside a request, whose input was then counted more than once"
    return "" if now[1] > before[1] else "the reported input fell"


def _frame(body: Body) -> str:
    return json.dumps([body.get(key) for key in _FRAME], sort_keys=True)


def _ran_server_tools(message: object) -> bool:
    parts = message.parts if isinstance(message, ModelResponse) else ()
    calls = {part.tool_call_id for part in parts if isinstance(part, NativeToolCallPart)}
    return any(isinstance(part, NativeToolReturnPart) and part.tool_call_id in calls for part in parts)


if __name__ == "__main__":
    print(table(pairs()))  # noqa: T201  # the table is what it is for
