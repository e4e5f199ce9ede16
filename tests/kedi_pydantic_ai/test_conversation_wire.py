"""Turns over a provider that keeps conversations itself, on the wire: what an edit removed never comes back.

The vendor's own client talks to an emulator on this machine, which answers with the code word if anything it would
show to a model holds it: the request, the response it goes on from, or the conversation it belongs to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic_ai.settings import ModelSettings

from agents import Finished, adapter, keep
from emulator import Step
from harbour import ASK, NOTED, SECRET, SERVER_HELD, Harbour, held_by, response_id
from kedi_compile.conversation import ConversationState, history_scope
from recording import Lane, Provider, Recall
from spoken import spoken

WELL = "Well?"


@pytest.fixture(params=SERVER_HELD, ids=str)
async def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Provider]:
    """The emulator, whatever keys are in the environment."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lane: Lane = request.param
    async with Provider(lane, recording=True) as provider:
        yield provider


async def ask(
    provider: Provider,
    state: ConversationState,
    prompt: str,
    *steps: Step | Recall,
    edit: bool = False,
    settings: ModelSettings | None = None,
) -> Finished:
    """Make one turn, with an edit that drops all earlier ones or without any processor."""
    ours = adapter(keep(0)) if edit else adapter()
    with history_scope(True, state):
        return await Harbour(provider).ask(prompt, steps, ours, settings=settings)


async def test_a_conversation_of_the_servers_stays_off_in_later_turns(provider: Provider) -> None:
    """The turn of the edit leaves it, and so do those behind it, with and without a processor."""
    settings, state = held_by((await provider.openai().conversations.create()).id), ConversationState()
    named = settings["openai_conversation_id"]

    await ask(provider, state, SECRET, *NOTED, settings=settings)
    edited = await ask(provider, state, ASK, Recall("saffron"), edit=True, settings=settings)
    later = await ask(provider, state, ASK, Recall("saffron"), settings=settings)

    assert [edited.output, later.output] == ["Unknown.", "Unknown."]
    assert [body.get("conversation") for body in provider.bodies] == [named, None, None]
    assert spoken(provider.bodies[2]) == [f"user {ASK}"] * 2
    assert settings == {"openai_conversation_id": named}


async def test_a_fixed_response_id_stays_off_in_later_turns(provider: Provider) -> None:
    """It names a response from before the edit for good."""
    state = ConversationState()
    told = await ask(provider, state, SECRET, *NOTED, settings=held_by("auto"))
    settings = held_by(response_id(told))

    edited = await ask(provider, state, ASK, Recall("saffron"), edit=True, settings=settings)
    later = await ask(provider, state, ASK, Recall("saffron"), settings=settings)

    assert [edited.output, later.output] == ["Unknown.", "Unknown."]
    assert [body.get("previous_response_id") for body in provider.bodies] == [None, None, None]


async def test_an_automatic_chain_goes_on_over_turns_from_behind_the_edit(provider: Provider) -> None:
    """A turn without an edit names the answer before it; the edited request names none, and the next one its answer."""
    state, settings = ConversationState(), held_by("auto")
    await ask(provider, state, SECRET, *NOTED, settings=settings)
    before = await ask(provider, state, WELL, "Well.", settings=settings)

    edited = await ask(provider, state, ASK, Recall("saffron"), edit=True, settings=settings)
    later = await ask(provider, state, ASK, Recall("saffron"), settings=settings)

    named = [body.get("previous_response_id") for body in provider.bodies]
    assert named[0] is named[2] is None
    assert named[1] == before.all_messages[1].provider_response_id  # type: ignore[union-attr]  # an answer
    assert named[3] == response_id(edited)
    assert [edited.output, later.output] == ["Unknown.", "Unknown."]


async def test_the_server_alone_would_bring_the_text_back(provider: Provider) -> None:
    """Without an edit the conversation shows it, so the tests above can fail."""
    settings, state = held_by((await provider.openai().conversations.create()).id), ConversationState()

    await ask(provider, state, SECRET, *NOTED, settings=settings)
    again = await ask(provider, state, ASK, Recall("saffron"), settings=settings)

    assert again.output == "saffron."
