"""Faults on demand: statuses, broken streams, answers that wait."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from emulator import ProviderEmulator, answer

LONG = "A text that is long enough to come in several pieces, one after the other."


def model(emulator: ProviderEmulator) -> Model:
    """Return the host's Messages client of the emulator."""
    return AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(base_url=emulator.url, api_key="none"))


@pytest.fixture
def anyio_backend() -> str:
    """The clients run on asyncio."""
    return "asyncio"


@pytest.fixture
async def emulator() -> AsyncIterator[ProviderEmulator]:
    """An emulator that says one long text."""
    with ProviderEmulator(answer(LONG)) as served:
        yield served


async def test_a_failure_hits_the_request_of_its_number(emulator: ProviderEmulator) -> None:
    """The script does not advance over a failure."""
    emulator.fail(1, 529, "Overloaded")

    with pytest.raises(ModelHTTPError, match="Overloaded") as caught:
        await Agent(model(emulator)).run("Hello")
    result = await Agent(model(emulator)).run("Hello")

    assert caught.value.status_code == 529
    assert result.output == LONG
    assert [received.status for received in emulator.received] == [529, 200]


async def test_a_cut_stream_ends_in_an_error(emulator: ProviderEmulator) -> None:
    """The connection closes in the middle, without the last chunk."""
    emulator.cut(1, after=4)

    with pytest.raises((httpx2.RemoteProtocolError, ModelAPIError)):
        async with Agent(model(emulator)).run_stream("Hello") as streamed:
            await streamed.get_output()


async def test_a_held_stream_waits_for_its_gate(emulator: ProviderEmulator) -> None:
    """Before the gate opens the client has only what was sent before it."""
    gate = emulator.hold(1, after=5)

    async with Agent(model(emulator)).run_stream("Hello") as streamed:
        texts = streamed.stream_text(delta=True, debounce_by=None)
        first = await anext(texts)
        await asyncio.to_thread(gate.reached.wait)
        gate.open()
        rest = [text async for text in texts]

    assert first
    assert len(rest) > 1
    assert "".join((first, *rest)) == LONG


async def test_a_held_answer_can_be_cancelled(emulator: ProviderEmulator) -> None:
    """A client that gives up does not block the server."""
    gate = emulator.hold(1)
    running = asyncio.create_task(Agent(model(emulator)).run("Hello"))
    await asyncio.to_thread(gate.reached.wait)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(emulator.requests) == 1


def test_closing_opens_every_gate() -> None:
    """Leaving the block never waits for a gate that nobody opened."""
    with ProviderEmulator("Hello") as emulator:
        gate = emulator.hold(1)
    gate.wait()

    assert gate.reached.is_set()
