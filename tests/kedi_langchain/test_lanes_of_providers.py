"""The keys of OpenAI's and Anthropic's own chat models: what is in them, and that they are the same everywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents.structured_output import AutoStrategy
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from chats import adapter
from kedi_compile.conversation import LaneKey
from kedi_langchain.lanes import key_of
from threads import look


def openai(**fields: Any) -> LaneKey:
    """Return the key of OpenAI's own chat model, wrapped."""
    return key_of(adapter().wrap(ChatOpenAI(**{"model": "gpt-5", "api_key": "none", **fields})), {})


def anthropic(**fields: Any) -> LaneKey:
    """Return the key of Anthropic's own chat model, wrapped."""
    return key_of(adapter().wrap(ChatAnthropic(**{"model": "claude-sonnet-4-5", "api_key": "none", **fields})), {})


SERVER = {"type": "url", "url": "http://a", "name": "a"}
OPENAI_SAME: Sequence[dict[str, Any]] = (
    {}, {"api_key": "other"}, {"base_url": "http://localhost/v1"}, {"temperature": 0.5}, {"max_tokens": 9},
    {"timeout": 3}, {"max_retries": 9}, {"streaming": True}, {"stop": ["x"]}, {"default_headers": {"a": "b"}},
    {"use_previous_response_id": True}, {"model_kwargs": {"previous_response_id": "resp_1"}}, {"seed": 1},
    {"extra_body": {"conversation": "conv_1"}}, {"store": True}, {"tags": ["a"]}, {"metadata": {"a": 1}},
)  # fmt: skip
ANTHROPIC_SAME: Sequence[dict[str, Any]] = (
    {}, {"api_key": "other"}, {"temperature": 0.5}, {"max_tokens": 9}, {"timeout": 3}, {"max_retries": 9},
    {"streaming": True}, {"stop_sequences": ["x"]}, {"top_k": 3}, {"default_headers": {"a": "b"}}, {"tags": ["a"]},
)  # fmt: skip


@pytest.mark.parametrize("fields", OPENAI_SAME, ids=lambda value: getattr(value, "__name__", str(value)))
def test_openais_model_has_the_same_key_whatever_does_not_shape_the_prompt(fields: dict[str, Any]) -> None:
    """Another instance, other sampling, another way to the same model."""
    assert openai(**fields) == openai()


@pytest.mark.parametrize("fields", ANTHROPIC_SAME, ids=lambda value: getattr(value, "__name__", str(value)))
def test_anthropics_model_has_the_same_key_whatever_does_not_shape_the_prompt(fields: dict[str, Any]) -> None:
    """Another instance, other sampling, another way to the same model."""
    assert anthropic(**fields) == anthropic()


@pytest.mark.parametrize(
    ("key", "fields", "difference"),
    [
        (openai, {"model": "gpt-5-mini"}, "model"),
        (openai, {"reasoning": {"effort": "high"}}, "settings"),
        (openai, {"reasoning_effort": "high"}, "settings"),
        (openai, {"context_management": [{"type": "compaction"}]}, "settings"),
        (anthropic, {"model": "claude-opus-4-1"}, "model"),
        (anthropic, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "settings"),
        (anthropic, {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "settings"),
        (anthropic, {"mcp_servers": [SERVER]}, "servers"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_shapes_the_prompt_of_a_providers_model_is_in_its_key(
    key: Callable[..., LaneKey], fields: dict[str, Any], difference: str
) -> None:
    """In the field of the key that names it."""
    assert key().differences(key(**fields)) == (difference,)


def test_a_token_of_anthropics_mcp_server_is_not_in_its_key() -> None:
    """What lets a request in does not shape it."""
    first, second = ([{**SERVER, "authorization_token": token}] for token in ("old", "new"))

    assert anthropic(mcp_servers=first) == anthropic(mcp_servers=second)


KEYS = """
from langchain.agents.structured_output import AutoStrategy
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from kedi_langchain.lanes import key_of
from threads import look

class Verdict(BaseModel):
    guilty: bool

for model in (
    ChatOpenAI(model="gpt-5", api_key="none", reasoning={"effort": "high"}),
    ChatAnthropic(model="claude-sonnet-4-5", api_key="none", max_tokens=9),
):
    print(key_of(model, {}, [look], AutoStrategy(Verdict)))
"""


class Verdict(BaseModel):
    """A class of the same name and schema, in another module."""

    guilty: bool


Verdict.__doc__ = None


def test_a_key_is_the_same_in_another_process() -> None:
    """A stored conversation is found again, whatever the process hashes strings with."""
    paths = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "1"}
    fields: Sequence[tuple[Any, dict[str, Any]]] = (
        (ChatOpenAI, {"model": "gpt-5", "reasoning": {"effort": "high"}}),
        (ChatAnthropic, {"model": "claude-sonnet-4-5"}),
    )
    models = [adapter().wrap(kind(api_key="none", **given)) for kind, given in fields]

    done = subprocess.run([sys.executable, "-c", KEYS], env=paths, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [str(key_of(model, {}, [look], AutoStrategy(Verdict))) for model in models]
