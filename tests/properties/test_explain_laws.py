"""The law of explaining: what it says `keep_recent_groups` would send is what a real request sends, on both hosts.

Histories are drawn, saved as JSON, explained, and sent by the host with an adapter that keeps as many groups, once as
they are and once cut before their next request and continued with a prompt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, messages_to_dict
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.toolsets import ExternalToolset

import agents
import chats
from bodies import tools_of
from edits import share
from histories import Scene, scenes
from histories_langchain import FORMS, LangChainScene, langchain_scenes
from kedi_compile import HistoryProcessingValidationError, Violation
from kedi_compile.dialect import Dialect
from kedi_compile.explain.command import explained
from kedi_compile.explain.explanation import Explanation, Inquiry
from kedi_compile.explain.reading import parse
from kedi_langchain import LangChainDialect
from kedi_pydantic_ai import PydanticDialect

pytestmark = [
    pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning"),
    pytest.mark.filterwarnings("ignore:A non-leading `SystemMessage`:UserWarning"),  # the host moves it, and says so
]
PROMPT: Final = "and now?"
PYDANTIC_AI: Final = PydanticDialect()
LANGCHAIN: Final = LangChainDialect()
SCENES = st.sampled_from((*FORMS, "anthropic", "anthropic")).flatmap(langchain_scenes)
"""Mostly of the form whose reasoning is known to be bound."""


@st.composite
def inquiries(draw: st.DrawFn) -> Inquiry:
    """Draw what is asked: limits, a protection, a model that binds reasoning or none, a prompt or none."""
    keep = draw(st.sampled_from([0, 0, 1, 3]))  # most histories are short, and an edit is the point
    return Inquiry(
        keep,
        draw(st.sampled_from([None, None, keep, keep + 2])),
        draw(st.sampled_from(["function:scripted", "function:claude-opus-5-5"])),
        draw(st.sampled_from(["always", "open_cycle"])),
        draw(st.sampled_from([None, PROMPT])),
    )


def _shown(scene: Scene, inquiry: Inquiry) -> list[Any]:
    """The history as it is saved: with its next request, or without it where a prompt is to follow."""
    return scene.messages if inquiry.prompt is None else scene.messages[: scene.blocks[-1].start]


def _processor(inquiry: Inquiry) -> Any:
    return lambda ctx: ctx.keep_recent_groups(inquiry.keep, inquiry.over)


Sent = list[bytes] | tuple[Violation, ...]
"""The digests of what a model was asked with, or what the rules said against it."""


def _foretold(explanation: Explanation, history: list[Any], dialect: Dialect[Any]) -> Sent:
    """What is sent by the explanation's account."""
    if explanation.edit.outcome == "refused":
        return explanation.edit.violations
    digests = dialect.digests(history)
    return [digest for group in explanation.groups if group.kept for digest in digests[group.start : group.end]]


def _sent(send: Callable[[], object], requests: list[list[Any]], dialect: Dialect[Any]) -> Sent:
    """What a host sends."""
    try:
        send()
    except HistoryProcessingValidationError as refused:
        return refused.violations
    return dialect.digests(requests[0])


@share(4)
@given(scene=scenes("anthropic", neighbours=False), inquiry=inquiries())
def test_a_run_of_pydantic_ai_sends_what_was_explained(scene: Scene, inquiry: Inquiry) -> None:
    """The model is asked with the groups that were said to stay, or not at all where a refusal was foretold."""
    shown = _shown(scene, inquiry)
    assume(shown)
    script = agents.Script(model_name=inquiry.model_names[0])
    adapter = agents.adapter(_processor(inquiry), reasoning_protection=inquiry.protection)
    tools: ExternalToolset[None] = ExternalToolset(tools_of(scene.messages).function_tools)
    agent = Agent(script.model, capabilities=[adapter], toolsets=[tools])

    explanation = explained(parse(ModelMessagesTypeAdapter.dump_json(shown)), inquiry)
    sent = _sent(lambda: asyncio.run(agent.run(inquiry.prompt, message_history=shown)), script.requests, PYDANTIC_AI)

    history = [*shown, *([] if inquiry.prompt is None else [agents.asks(PROMPT)])]
    assert sent == _foretold(explanation, history, PYDANTIC_AI)
    assert explanation.edit.tokens_after == _tokens(script.requests, explanation, PYDANTIC_AI)


@share(4)
@given(scene=SCENES, inquiry=inquiries())
def test_a_wrapped_model_of_langchain_sends_what_was_explained(scene: LangChainScene, inquiry: Inquiry) -> None:
    """The model is asked with the groups that were said to stay, or not at all where a refusal was foretold."""
    shown = _shown(scene, inquiry)
    assume(shown)
    transport = chats.Transport()
    adapter = chats.adapter(_processor(inquiry), reasoning_protection=inquiry.protection)
    model = adapter.wrap(chats.Chat(transport=transport, model_name=inquiry.model_names[0]))
    history = [*shown, *([] if inquiry.prompt is None else [HumanMessage(PROMPT)])]

    explanation = explained(parse(json.dumps(messages_to_dict(shown)).encode()), inquiry)
    sent = _sent(lambda: model.invoke(history), transport.requests, LANGCHAIN)

    assert sent == _foretold(explanation, history, LANGCHAIN)
    assert explanation.edit.tokens_after == _tokens(transport.requests, explanation, LANGCHAIN)


def _tokens(requests: list[list[Any]], explanation: Explanation, dialect: Dialect[Any]) -> int:
    """The tokens of what was sent; of a refused edit nobody else knows them."""
    return sum(map(dialect.estimate, requests[0])) if requests else explanation.edit.tokens_after
