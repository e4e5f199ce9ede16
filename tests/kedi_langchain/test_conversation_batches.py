"""Batches of wrapped models in a scope: one turn after the other, in the order of the inputs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate

from chats import Chat, StreamingChat, Transport, adapter
from kedi_compile import ConversationError
from kedi_compile.conversation import history_scope
from threads import answering
from ways_in import TWICE

TALK = ["< one", "> done", "< two"]

quiet = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.LangChainBetaWarning", "ignore::kedi_compile.HistoryLaneWarning"
)


def wrapped(transport: Transport, *, streams: bool = True) -> Any:
    """Return a wrapped model."""
    return adapter().wrap((StreamingChat if streams else Chat)(transport=transport))


@quiet
@pytest.mark.parametrize("name", sorted(name for name in TWICE if "generate" not in name))
def test_the_inputs_of_a_batch_are_turns_in_their_order(name: str) -> None:
    """Each sees the one before it."""
    transport = answering("done")

    with history_scope(True) as state:
        TWICE[name](wrapped(transport), [HumanMessage("one")])

    assert transport.sent == [["< one"], ["< one", "> done", "< now too"]]
    assert state.turns == 2


@quiet
def test_a_long_batch_keeps_its_order_by_every_way() -> None:
    """Whatever threads the host would have run it in, and with a config for each input."""
    prompts = [f"p{number}" for number in range(12)]
    chain = ChatPromptTemplate.from_messages([("human", "{p}")])
    transport = answering("done")
    model = wrapped(transport)
    batches: list[Callable[[], object]] = [
        lambda: model.batch(prompts),
        lambda: model.batch(prompts, [{"tags": [prompt]} for prompt in prompts]),
        lambda: list(model.batch_as_completed(prompts)),
        lambda: (chain | model).batch([{"p": prompt} for prompt in prompts]),
        lambda: model.bind(stop=["x"]).batch(prompts, {"max_concurrency": 4}),
        lambda: asyncio.run(model.abatch(prompts)),
        lambda: asyncio.run(_drained(model.abatch_as_completed(prompts))),
        lambda: asyncio.run(_drained(model.bind(stop=["x"]).abatch_as_completed(prompts, {"tags": ["mine"]}))),
    ]

    for batch in batches:
        with history_scope(True):
            batch()
        assert [line for line in transport.sent[-1] if line.startswith("<")] == [f"< {prompt}" for prompt in prompts]


async def _drained(stream: Any) -> list[Any]:
    return [item async for item in stream]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_batch_gives_its_exceptions_back_if_asked_to(is_async: bool) -> None:
    """The failed input is no turn; those after it go on."""
    transport = answering("done", LookupError("overloaded"), "done")
    model = wrapped(transport, streams=False)
    prompts = ["one", "left", "two"]

    with history_scope(True) as state:
        if is_async:
            found = asyncio.run(_drained(model.abatch_as_completed(prompts, return_exceptions=True)))
        else:
            found = list(model.batch_as_completed(prompts, return_exceptions=True))

    assert [type(answer) for _, answer in sorted(found)] == [AIMessage, LookupError, AIMessage]
    assert transport.sent[2] == TALK
    assert state.turns == 2


@quiet
async def test_a_batch_that_fails_raises() -> None:
    """And what came before the failure is kept."""
    model = wrapped(answering("done", LookupError("overloaded")), streams=False)

    with history_scope(True) as state, pytest.raises(LookupError):
        await _drained(model.abatch_as_completed(["one", "two", "three"]))

    assert state.turns == 1


@quiet
@pytest.mark.parametrize("name", ["generate", "agenerate"])
def test_several_prompts_of_one_generate_are_refused(name: str) -> None:
    """One turn follows the other; the message says how."""
    transport = answering("done")

    with history_scope(True) as state, pytest.raises(ConversationError, match="use `batch`"):
        TWICE[name](wrapped(transport), [HumanMessage("one")])

    assert transport.sent == []
    assert state.turns == 0
