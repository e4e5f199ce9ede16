"""Every case of the oracle data once more, built from LionAGI's own classes and sent by `chat` and by `run`."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi.operations.types import ChatParam, RunParam

from kedi_compile import TurnCompileError
from kedi_lionagi import chat, run
from turn_lionagi import branch_of, call_of, sent
from turn_vectors import FILE, WITHOUT, Vector, vectors

pytestmark = [pytest.mark.skipif(FILE is None, reason=WITHOUT), pytest.mark.anyio]

BY_HAND_ONLY = {"prog_empty_explicit"}
"""An empty progression of LionAGI's means the branch's own; no history is asked for with a `TurnRequest`."""


async def by_chat(vector: Vector) -> list[dict[str, Any]]:
    """Send a case by `chat`, and return what the model was given."""
    branch = branch_of(vector)
    instruction, param, blocks = call_of(vector, ChatParam)
    await chat(branch, instruction, param, context_blocks=blocks, restored_system="ignore")
    return sent(branch)[0]


async def by_run(vector: Vector) -> list[dict[str, Any]]:
    """Send a case by `run`, and return what the model was given."""
    branch = branch_of(vector)
    instruction, param, blocks = call_of(vector, RunParam)
    async for _ in run(branch, instruction, param, context_blocks=blocks, restored_system="ignore"):
        pass
    return sent(branch)[0]


Way = Callable[[Vector], Awaitable[list[dict[str, Any]]]]
WAY = pytest.mark.parametrize("way", [by_chat, by_run])
CASES = [one for one in vectors() if one.name not in BY_HAND_ONLY]


@WAY
@pytest.mark.parametrize("vector", [one for one in CASES if one.error is None], ids=lambda one: one.name)
async def test_a_lionagi_branch_compiles_to_the_same_payload(vector: Vector, way: Way) -> None:
    """One matrix for both ways: a change of one side alone fails here."""
    messages = await way(vector)

    assert [vector.comparable(message) for message in messages] == vector.payload


@WAY
@pytest.mark.parametrize("vector", [one for one in CASES if one.error is not None], ids=lambda one: one.name)
async def test_a_malformed_lionagi_turn_is_refused(vector: Vector, way: Way) -> None:
    """The error is the compiler's on both ways, and nothing is sent."""
    with pytest.raises(TurnCompileError) as caught:
        await way(vector)

    assert vector.error_text in {None, str(caught.value)}
