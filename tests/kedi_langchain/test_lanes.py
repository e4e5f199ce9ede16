"""Lanes: what splits a conversation on LangChain, and what does not.

A lane is told by what the second of two calls is shown: the first one's turn, or nothing of it.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from pydantic import BaseModel, Field, create_model

from chats import Chat, StreamingChat, Transport, adapter, keep
from kedi_compile import HistoryLaneWarning
from kedi_compile.conversation import ConversationState, LaneKey, history_scope
from kedi_langchain.lanes import key_of
from threads import agent, answering, look

AnyRunnable = Runnable[Any, Any]
Build = Callable[[BaseChatModel], AnyRunnable]

SAME = [["< one"], ["< one", "> done", "< two"]]
FRESH = [["< one"], ["< two"]]

ignore_lanes = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")


class Verdict(BaseModel):
    """A verdict."""

    guilty: bool = True


Longer = create_model("Verdict", __base__=Verdict, years=(int, 0))
Described = create_model("Verdict", guilty=(bool, Field(True, description="Whether they did it.")))


def hear(what: str) -> str:
    """Listen."""
    return what


class SettingChat(Chat):
    """A scripted chat model that names its settings, as those of providers do."""

    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {**super()._identifying_params, **self.settings}


def sent(*runnables: Callable[[BaseChatModel], AnyRunnable], transport: Transport | None = None) -> list[list[str]]:
    """Return what two calls in one scope are shown, each made through its own runnable over one wrapped model."""
    provider = transport or answering("done")
    model = adapter().wrap(StreamingChat(transport=provider))
    with history_scope(True):
        for build, prompt in zip(runnables, ("one", "two", "three"), strict=False):
            build(model).invoke(prompt)
    return provider.sent


SPLITTING: dict[str, Build] = {
    "tools": lambda model: model.bind_tools([look]),
    "a provider's tool": lambda model: model.bind(tools=[{"type": "web_search"}]),
    "MCP servers": lambda model: model.bind(mcp_servers=[{"type": "url", "url": "http://a", "name": "a"}]),
    "an MCP tool": lambda model: model.bind(tools=[{"type": "mcp", "server_label": "a", "server_url": "http://a"}]),
    "reasoning": lambda model: model.bind(reasoning={"effort": "high"}),
    "reasoning effort": lambda model: model.bind(reasoning_effort="high"),
    "thinking": lambda model: model.bind(thinking={"type": "enabled", "budget_tokens": 1024}),
    "prompt shaping inside a carrier": lambda model: model.bind(extra_body={"truncation": "auto"}),
    "context management": lambda model: model.bind(context_management={"edits": []}),
    "output format": lambda model: model.bind(response_format={"type": "json_object"}),
    "output class": lambda model: model.bind(response_format=Verdict),
}


@ignore_lanes
@pytest.mark.parametrize("build", SPLITTING.values(), ids=SPLITTING)
def test_what_shapes_the_prompt_starts_a_fresh_lane(build: Build) -> None:
    """Tools, MCP servers, the output's format and reasoning are part of what a history was made with."""
    assert sent(lambda model: model, build) == FRESH


NOT_SPLITTING: dict[str, Build] = {
    "temperature": lambda model: model.bind(temperature=0.5),
    "top_p": lambda model: model.bind(top_p=0.5),
    "seed": lambda model: model.bind(seed=1),
    "max_tokens": lambda model: model.bind(max_tokens=10),
    "max_completion_tokens": lambda model: model.bind(max_completion_tokens=10),
    "timeout": lambda model: model.bind(timeout=1),
    "tool_choice": lambda model: model.bind(tool_choice="auto"),
    "parallel_tool_calls": lambda model: model.bind(parallel_tool_calls=False),
    "stop": lambda model: model.bind(stop=["x"]),
    "stream": lambda model: model.bind(stream=False),
    "extra headers": lambda model: model.bind(extra_headers={"x": "y"}),
    "a response id": lambda model: model.bind(previous_response_id="resp_1"),
    "a server's conversation": lambda model: model.bind(conversation="conv_1"),
    "a response id inside a carrier": lambda model: model.bind(extra_body={"previous_response_id": "resp_1"}),
    "sampling inside a carrier": lambda model: model.bind(model_kwargs={"seed": 1}),
    "no tools": lambda model: model.bind(tools=[]),
    "an argument that is None": lambda model: model.bind(reasoning=None),
    "tags": lambda model: model.with_config(tags=["mine"]),
    "metadata": lambda model: model.with_config(metadata={"a": 1}),
    "a run's name": lambda model: model.with_config(run_name="mine"),
}


@pytest.mark.parametrize("build", NOT_SPLITTING.values(), ids=NOT_SPLITTING)
def test_sampling_transport_and_tracing_do_not_split(build: Build) -> None:
    """Nor does the id of anything a server keeps."""
    assert sent(lambda model: model, build) == SAME


def test_every_method_of_a_model_continues_one_lane() -> None:
    """What `invoke` tells of its run beside its arguments, and `stream` does not, is no part of the key."""
    transport = answering("done")
    model = adapter().wrap(StreamingChat(transport=transport))

    with history_scope(True) as state:
        model.invoke("one")
        list(model.stream("two"))
        model.batch(["three"])

    assert len(state.lanes) == 1
    assert transport.sent[2] == ["< one", "> done", "< two", "> done", "< three"]


@ignore_lanes
def test_another_model_starts_a_fresh_lane() -> None:
    """By the name it goes by at its provider."""
    transport = answering("done")
    one, other = (adapter().wrap(Chat(transport=transport, model_name=name)) for name in ("small", "large"))

    with history_scope(True) as state:
        one.invoke("one")
        other.invoke("two")

    assert transport.sent == FRESH
    assert [lane.model for lane in state.lanes] == ["scripted:small", "scripted:large"]
    assert {lane.adapter for lane in state.lanes} == {"langchain"}


@ignore_lanes
def test_a_models_own_settings_split_as_arguments_do() -> None:
    """Reasoning does, temperature does not, wherever they are set."""
    transport = answering("done")
    wrap = adapter().wrap
    plain, warm, thinking = (
        wrap(SettingChat(transport=transport, settings=settings))
        for settings in ({}, {"temperature": 1, "max_tokens": 9}, {"reasoning": {"effort": "high"}})
    )

    with history_scope(True):
        plain.invoke("one")
        warm.invoke("two")
        thinking.invoke("three")

    assert transport.sent == [*SAME, ["< three"]]


@ignore_lanes
def test_a_call_that_is_as_before_goes_back_to_the_old_lane() -> None:
    """Both lanes stay; the turn of the other one is not in between."""
    shown = sent(lambda model: model, SPLITTING["tools"], lambda model: model)

    assert shown == [*FRESH, ["< one", "> done", "< three"]]


def test_the_order_of_tools_means_nothing() -> None:
    """The same contract in another order is the same lane."""
    assert sent(lambda model: model.bind_tools([look, hear]), lambda model: model.bind_tools([hear, look])) == SAME


def test_what_a_tool_does_means_nothing() -> None:
    """Tools count by name and schema; another function behind them, or another description, changes neither."""

    @tool("look")
    def other() -> str:
        """See what is there."""
        return "more"

    assert sent(lambda model: model.bind_tools([look]), lambda model: model.bind_tools([other])) == SAME


@ignore_lanes
def test_another_schema_of_a_tool_starts_a_fresh_lane() -> None:
    """Its old calls would not fit."""

    @tool("look")
    def other(where: str) -> str:
        """Look around."""
        return where

    assert sent(lambda model: model.bind_tools([look]), lambda model: model.bind_tools([other])) == FRESH


@pytest.mark.parametrize("secret", ["authorization", "headers"])
def test_secrets_of_a_providers_tool_do_not_count(secret: str) -> None:
    """A new token opens the same server."""

    def bound(value: object) -> Build:
        return lambda model: model.bind(tools=[{"type": "mcp", "server_url": "http://a", secret: value}])

    assert sent(bound("old"), bound("new")) == SAME


def test_secrets_of_an_mcp_server_do_not_count() -> None:
    """Nor for servers that are named beside the tools."""

    def bound(token: str) -> Build:
        server = {"type": "url", "url": "http://a", "name": "a", "authorization_token": token}
        return lambda model: model.bind(mcp_servers=[server])

    assert sent(bound("old"), bound("new")) == SAME


@ignore_lanes
def test_another_mcp_server_starts_a_fresh_lane() -> None:
    """It is named by its key's own field."""

    def bound(url: str) -> Build:
        return lambda model: model.bind(mcp_servers=[{"type": "url", "url": url, "name": "a"}])

    assert sent(bound("http://a"), bound("http://b")) == FRESH


def agents(*options: dict[str, Any]) -> list[list[str]]:
    """Return what agents with these options are shown first, one after the other in one scope."""
    answers = [AIMessage("", tool_calls=[{"name": "Verdict", "args": {}, "id": f"v{one}"}]) for one in range(9)]
    transport = Transport(answers if "response_format" in options[0] else ["done"])
    with history_scope(True):
        for prompt, given in zip(("one", "two"), options, strict=True):
            agent(transport, adapter(), **given).invoke({"messages": prompt})
    return transport.sent


@ignore_lanes
def test_the_tools_of_an_agent_split_lanes() -> None:
    """As those of a binding do."""
    assert agents({"tools": [look]}, {"tools": [look]}) == SAME
    assert agents({"tools": [look]}, {"tools": [look, hear]}) == FRESH
    assert agents({"tools": []}, {"tools": [look]}) == FRESH


@ignore_lanes
@pytest.mark.parametrize("strategy", [AutoStrategy, ToolStrategy, ProviderStrategy, lambda schema: schema])
def test_the_output_of_an_agent_splits_lanes_by_its_schema(strategy: Callable[[Any], Any]) -> None:
    """Also where the class goes by the same name."""

    def key(schema: Any) -> LaneKey:
        return key_of(Chat(transport=Transport()), {}, [], strategy(schema))

    assert key(Verdict) == key(Verdict)
    assert key(Verdict).differences(key(Longer)) == ("output",)
    assert key(Verdict).differences(key(Described)) == ("output",)
    assert key(Verdict).differences(key_of(Chat(transport=Transport()), {})) == ("output",)


def test_what_an_agent_does_about_a_wrong_answer_does_not_split() -> None:
    """It changes nothing of what the model is asked for."""
    model = Chat(transport=Transport())
    strict = ToolStrategy(Verdict, handle_errors=False)
    lenient = ToolStrategy(Verdict, handle_errors=lambda error: "Once more.", tool_message_content="noted")

    assert key_of(model, {}, [], strict) == key_of(model, {}, [], lenient)


@ignore_lanes
def test_agents_with_and_without_structured_output_have_lanes_of_their_own() -> None:
    """The two see nothing of each other."""
    assert agents({"response_format": ToolStrategy(Verdict)}, {"response_format": ToolStrategy(Longer)}) == FRESH


def test_a_fresh_lane_in_a_used_conversation_warns_once_for_each_conversation() -> None:
    """It says what changed, and how it is silenced."""
    model = adapter().wrap(Chat(transport=answering("done")))
    state = ConversationState()

    with history_scope(True, state=state):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.invoke("one")
        with pytest.warns(HistoryLaneWarning, match="the turn before it: tools changed.*HistoryLaneWarning"):
            model.bind_tools([look]).invoke("two")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.bind_tools([hear]).invoke("three")
            model.invoke("four")
    with history_scope(True, state=ConversationState()):
        model.invoke("one")
        with pytest.warns(HistoryLaneWarning, match="tools changed"):
            model.bind_tools([look]).invoke("two")


def test_an_agent_warns_about_a_fresh_lane_too() -> None:
    """The same conversation, another agent."""
    model = adapter().wrap(StreamingChat(transport=answering("done")))

    with history_scope(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        model.invoke("one")
        with pytest.warns(HistoryLaneWarning, match="tools changed"):
            agent(answering("done"), adapter()).invoke({"messages": "two"})


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")
def test_a_processor_and_its_adapter_are_no_part_of_a_lane() -> None:
    """Another policy goes on with the same turns."""
    transport = answering("done")

    with history_scope(True):
        adapter().wrap(Chat(transport=transport)).invoke("one")
        adapter(keep(5)).wrap(Chat(transport=transport)).invoke("two")

    assert transport.sent == SAME


def test_a_calls_own_fields_are_left_alone() -> None:
    """Reading a key takes nothing out of the caller's arguments."""
    server = {"type": "url", "url": "http://a", "name": "a"}
    arguments = {"tools": [{"type": "web_search"}], "response_format": {"type": "json_object"}, "mcp_servers": [server]}
    given = copy.deepcopy(arguments)

    key_of(Chat(transport=Transport()), given)

    assert given == arguments
