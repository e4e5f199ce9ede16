"""Assembled requests as the host's own model classes write them for eight provider APIs, judged by the wire rules."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelMessage

from agents import Script, adapter, calls, run_through
from bodies import APIS, Api
from kedi_compile.assembly import Mutation, RequestCompiler
from teams import OBJECTIVE, Task

EVERY_API = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


@pytest.fixture(scope="module")
def requests() -> list[list[ModelMessage]]:
    """What a model is handed in a loop with two calls at once, another one, and a new tail behind both."""
    changes = {
        2: lambda task: task.frame.mutate(Mutation("m1", "Turned the valve.")),
        3: lambda task: task.read("valve.txt", "body of the valve"),
    }
    task = Task(changes)
    task.steer("s1")
    script = Script(calls("c1", "c2", ahead=2), calls("c3", ahead=3), "done")
    agent = Agent(script.model, capabilities=[adapter(request_compiler=RequestCompiler(inputs=task.inputs()))])
    agent.tool_plain(task.look)

    prompt: Any = ["Look at", BinaryContent(b"\x89PNG", media_type="image/png"), "and say."]
    run_through("run", agent, prompt)
    return script.requests


@EVERY_API
def test_a_loop_with_tails_is_accepted(api: Api, requests: list[list[ModelMessage]]) -> None:
    """At each of its requests, whatever the API makes of texts behind tool results."""
    assert [api.refusals(messages) for messages in requests] == [()] * 3


@EVERY_API
def test_every_tail_is_in_the_body(api: Api, requests: list[list[ModelMessage]]) -> None:
    """No mapping leaves one out."""
    assert [str(api.map(messages)).count(OBJECTIVE) for messages in requests] == [1, 2, 3]
