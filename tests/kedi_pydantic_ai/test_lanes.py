"""A turn continues the lane of its own model, settings, servers, tools and output; any other change is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import PromptedOutput, ToolOutput
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import MCPServerTool, WebSearchTool
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.toolsets import FunctionToolset

from agents import Script, calls, says
from kedi_compile import HistoryLaneWarning
from kedi_compile.conversation import ConversationState
from talks import AnyAgent, held, talk, talking


def look(place: str = "here") -> str:
    """Look around."""
    return "seen"


def find(place: str) -> str:
    """Find something."""
    return "found"


def looking_twice(place: str, times: int) -> str:
    """Look around."""
    return "seen"


class City(BaseModel):
    """An output."""

    name: str


class River(BaseModel):
    """Another output."""

    length: int


class Server(FunctionToolset[Any]):
    """A toolset that the host would take for an MCP server's."""

    __module__ = "pydantic_ai.mcp.testing"


def agent(script: Script, **options: Any) -> AnyAgent:
    """Return the usual agent, or one in which something is different."""
    return talking(script, **{"tools": [look], "model_settings": {"thinking": "high"}} | options)


def renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give a tool another's name."""
    function.__name__ = name
    return function


SPLITTING: dict[str, tuple[dict[str, Any], str]] = {
    "another tool": ({"tools": [look, find]}, "tools"),
    "no tool": ({"tools": []}, "tools"),
    "another schema of a tool": ({"tools": [renamed(looking_twice, "look")]}, "tools"),
    "other reasoning": ({"model_settings": {"thinking": "low"}}, "settings"),
    "no reasoning": ({"model_settings": None}, "settings"),
    "a body that shapes": (
        {"model_settings": {"thinking": "high", "extra_body": {"reasoning": {"effort": "low"}}}},
        "settings",
    ),
    "output by a tool": ({"output_type": ToolOutput(City)}, "output"),
    "output in the text": ({"output_type": PromptedOutput(City)}, "output"),
    "a server": ({"toolsets": [Server(id="files")]}, "servers"),
}

KEEPING: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.5},
    "top_p": {"top_p": 0.5},
    "seed": {"seed": 7},
    "max_tokens": {"max_tokens": 50},
    "timeout": {"timeout": 5},
    "headers": {"extra_headers": {"X-User": "ann"}},
    "parallelism": {"parallel_tool_calls": False},
    "tool choice": {"tool_choice": "auto"},
    "a response id": {"openai_previous_response_id": "resp_1"},
    "a server's conversation": {"openai_conversation_id": "conv_1"},
    "a body that names state": {"extra_body": {"previous_response_id": "resp_1", "temperature": 1}},
    "a cache": {"anthropic_cache_instructions": True},
    "what the provider keeps": {"openai_store": False},
}


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")
@pytest.mark.parametrize(("change", "differs"), SPLITTING.values(), ids=SPLITTING)
def test_an_incompatible_input_starts_a_fresh_lane(change: dict[str, Any], differs: str) -> None:
    """The other turns are not sent there; back under the old inputs, the old lane goes on."""
    script, state = Script("one", "three"), ConversationState()
    by_tool = isinstance(change.get("output_type"), ToolOutput)
    changed = Script(calls("c1", tool="final_result", name="Rome") if by_tool else says('{"name": "Rome"}'))

    talk(agent(script), state, "first")
    talk(agent(changed, **change), state, "second")
    talk(agent(script), state, "third")

    assert changed.sent == [["< second"]]
    assert script.sent[1] == ["< first", "> one", "< third"]
    other, usual = state.lanes
    assert usual.differences(other) == (differs,)
    assert state.turns == 3


@pytest.mark.parametrize("change", KEEPING.values(), ids=KEEPING)
def test_what_samples_transports_or_names_state_keeps_the_lane(change: dict[str, Any]) -> None:
    """Such a setting changes nothing that a model has read."""
    script, state = Script("one", "two"), ConversationState()

    talk(agent(script), state, "first")
    talk(agent(script, model_settings={"thinking": "high", **change}), state, "second")

    assert script.sent[1] == ["< first", "> one", "< second"]
    assert len(state.lanes) == 1


def test_another_model_starts_a_fresh_lane_with_a_warning() -> None:
    """The model sees none of the earlier turns, and the warning says so once."""
    state = ConversationState()
    small, large = Script("one", "three"), Script("two", "four", model_name="large")
    talk(talking(small), state, "first")

    with pytest.warns(HistoryLaneWarning) as caught:
        talk(talking(large), state, "second")
    talk(talking(small), state, "third")
    talk(talking(large), state, "fourth")

    (warning,) = caught
    assert str(warning.message).startswith(
        "This turn starts a fresh lane, so the model does not see the turn before it: model changed."
    )
    assert small.sent[1] == ["< first", "> one", "< third"]
    assert large.sent[1] == ["< second", "> two", "< fourth"]
    assert [key.model for key in state.lanes] == ["function:scripted", "function:large"]


def test_the_order_of_tools_means_nothing() -> None:
    """The same contracts are the same lane."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script, tools=[look, find]), state, "first")
    talk(talking(script, tools=[find, look]), state, "second")

    assert len(state.lanes) == 1


def test_another_schema_of_the_output_starts_a_fresh_lane() -> None:
    """A history that answers one schema is no example for another."""
    state = ConversationState()
    talk(talking(Script(calls("c1", tool="final_result", name="Rome")), output_type=ToolOutput(City)), state, "first")

    with pytest.warns(HistoryLaneWarning, match="output changed"):
        talk(
            talking(Script(calls("c1", tool="final_result", length=6)), output_type=ToolOutput(River)), state, "second"
        )

    assert len(state.lanes) == 2


def test_a_server_counts_by_its_id() -> None:
    """Two of one id are one, another id is another."""
    script, state = Script("answer"), ConversationState()

    talk(talking(script, toolsets=[Server(id="files")]), state, "first")
    talk(talking(script, toolsets=[Server(id="files")]), state, "second")
    assert len(state.lanes) == 1

    with pytest.warns(HistoryLaneWarning, match="servers changed"):
        talk(talking(script, toolsets=[Server(id="mail")]), state, "third")


def test_a_tool_that_the_provider_runs_counts_by_what_it_does() -> None:
    """Its settings are part of its contract."""
    profile = ModelProfile(supported_native_tools=frozenset({WebSearchTool}))
    script, state = Script("answer", profile=profile), ConversationState()
    narrow = NativeTool(WebSearchTool(allowed_domains=["example.org"]))

    talk(talking(script), state, "first")
    with pytest.warns(HistoryLaneWarning, match="tools changed"):
        talk(talking(script), state, "second", capabilities=[narrow])
    talk(talking(script), state, "third", capabilities=[narrow])
    assert len(state.lanes) == 2

    talk(talking(script), state, "fourth", capabilities=[NativeTool(WebSearchTool())])
    assert len(state.lanes) == 3


def test_what_lets_a_server_in_is_no_part_of_its_contract() -> None:
    """A token may be renewed between two turns."""
    profile = ModelProfile(supported_native_tools=frozenset({MCPServerTool}))
    script, state = Script("answer", profile=profile), ConversationState()

    for token in ("old", "new"):
        server = MCPServerTool(id="files", url="https://example.org/mcp", authorization_token=token)
        talk(talking(script), state, token, capabilities=[NativeTool(server)])

    assert (len(state.lanes), state.turns) == (1, 2)


def test_a_system_prompt_is_that_of_the_lane() -> None:
    """A fresh lane begins with the agent's, an old one keeps its own; a dynamic one is renewed in both."""
    state = ConversationState()
    small, large = Script("one", "three"), Script("two", model_name="large")

    def prompted(script: Script) -> AnyAgent:
        made = talking(script, system_prompt="Be brief.")
        made.system_prompt(dynamic=True)(lambda: f"Turn {state.turns + 1}.")
        return made

    talk(prompted(small), state, "first")
    with pytest.warns(HistoryLaneWarning):
        talk(prompted(large), state, "second")
    talk(prompted(small), state, "third")

    assert large.sent == [["< system Be brief. | system Turn 2. | second"]]
    assert small.sent[1] == ["< system Be brief. | system Turn 3. | first", "> one", "< third"]
    assert held(state) == ["< system Be brief. | system Turn 3. | first", "> one", "< third", "> three"]


def test_a_restored_conversation_finds_its_lane() -> None:
    """The key is the same in what was read back."""
    state = ConversationState("talk")
    talk(agent(Script("one")), state, "first")

    again = ConversationState.restore(state.checkpoint())
    talk(agent(Script("two")), again, "second")

    assert (again.lanes, again.turns) == (state.lanes, 2)
