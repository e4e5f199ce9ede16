"""The demo's agent: it helps the warden of a mountain hut, knows two tools, and has a morning of talk behind it.

The recording was made with this very agent, so a change here wants a new one (`make record`). Nothing here reads a
clock or anything else that differs between two runs.
"""

from __future__ import annotations

import warnings
from typing import Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModelSettings

from kedi_compile import HistoryPrefixWarning, HistoryProcessorCallback
from kedi_pydantic_ai import PydanticAdapter

MODEL: Final = "claude-sonnet-5"
QUESTION: Final = "Two more people ask for Saturday. Do we have room?"
THINKING: Final = AnthropicModelSettings(anthropic_thinking={"type": "adaptive"})
"""For the questions that are worth a thought; the others are asked without it."""

_ROOMS: Final = {"bunk room": 12, "attic": 6, "warden's annex": 2}
_TAKEN: Final = {"Friday": (5, 2, 0), "Saturday": (9, 6, 1), "Sunday": (2, 0, 0)}
_SKY: Final = {
    "the hut": ("cloud until noon, then sun", 6, 14, 15),
    "the pass": ("fog, clearing late", 1, 7, 45),
}


def hut_agent(model: Model, processor: HistoryProcessorCallback[ModelMessage] | None) -> Agent[object, str]:
    """Return the agent; all that the processor takes is the one capability."""
    agent = Agent(model, model_settings=AnthropicModelSettings(max_tokens=4096), capabilities=[_adapter(processor)])
    agent.tool_plain(beds)
    agent.tool_plain(weather)
    return agent


def beds(night: str) -> dict[str, dict[str, int]]:
    """Count the beds of each room of the hut for one night."""
    rooms = zip(_ROOMS.items(), _TAKEN[night], strict=True)
    return {room: {"beds": beds, "taken": taken, "free": beds - taken} for (room, beds), taken in rooms}


def weather(place: str) -> dict[str, object]:
    """Tell tomorrow's weather at the hut or at the pass."""
    sky, low, high, wind = _SKY[place]
    return {"place": place, "sky": sky, "low_celsius": low, "high_celsius": high, "wind_km_h": wind}


def _adapter(processor: HistoryProcessorCallback[ModelMessage] | None) -> PydanticAdapter[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)  # what it warns of is what the demo measures
        return PydanticAdapter(history_processor=processor)
