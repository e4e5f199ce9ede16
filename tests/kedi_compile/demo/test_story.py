"""The demo's agent and its tools."""

from __future__ import annotations

from pydantic_ai.models.test import TestModel

from kedi_compile.demo.story import beds, hut_agent, weather


def test_beds_are_counted_by_room() -> None:
    """A night has the free beds of each room."""
    assert beds("Saturday") == {
        "bunk room": {"beds": 12, "taken": 9, "free": 3},
        "attic": {"beds": 6, "taken": 6, "free": 0},
        "warden's annex": {"beds": 2, "taken": 1, "free": 1},
    }


def test_weather_is_told_by_place() -> None:
    """A place has its own weather."""
    assert weather("the pass") == {
        "place": "the pass",
        "sky": "fog, clearing late",
        "low_celsius": 1,
        "high_celsius": 7,
        "wind_km_h": 45,
    }


async def test_the_agent_has_two_tools() -> None:
    """The model is offered the beds and the weather."""
    model = TestModel(call_tools=[])

    await hut_agent(model, None).run("Hello")

    assert model.last_model_request_parameters is not None
    assert [tool.name for tool in model.last_model_request_parameters.function_tools] == ["beds", "weather"]
