"""A provider's own session: refused, continued or begun anew, on every way, and never left changed by a failure."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi import Branch
from lionagi.operations.types import ChatParam, RunParam
from lionagi.testing import ErrorResponse, TestBranch, TextResponse

from kedi_compile import TurnCompileError, TurnStreamError
from kedi_lionagi import chat, communicate, run
from turn_lionagi import branch_with, scripted, sent, streamed

pytestmark = pytest.mark.anyio


async def by_chat(branch: Branch, **options: Any) -> None:
    """Ask by `chat`."""
    await chat(branch, "And now?", ChatParam(imodel_kw=options.pop("imodel_kw", {})), **options)


async def by_communicate(branch: Branch, **options: Any) -> None:
    """Ask by `communicate`."""
    await communicate(branch, "And now?", ChatParam(imodel_kw=options.pop("imodel_kw", {})), **options)


async def by_run(branch: Branch, **options: Any) -> None:
    """Ask by `run`."""
    async for _ in run(branch, "And now?", RunParam(imodel_kw=options.pop("imodel_kw", {})), **options):
        pass


WAYS = pytest.mark.parametrize("way", [by_chat, by_communicate, by_run])
Way = Callable[..., Coroutine[Any, Any, None]]


def in_session(branch: Branch) -> Branch:
    """Give the branch's model a session."""
    branch.chat_model.endpoint.session_id = "s-1"
    return branch


def resumed(branch: Branch) -> list[Any]:
    """Return the sessions that the model's calls named."""
    return [call.payload.get("resume") for call in TestBranch.calls(branch)]


@WAYS
async def test_a_model_with_a_session_is_refused(way: Way) -> None:
    """The provider would read the last message only, whatever was compiled."""
    branch = in_session(scripted("Done."))

    with pytest.raises(TurnCompileError, match=r"would continue the provider's session 's-1'.*session='resume'"):
        await way(branch)

    assert sent(branch) == []


@WAYS
@pytest.mark.parametrize("session", ["refuse", "new"])
@pytest.mark.parametrize(
    "named", [{"resume": "s-2"}, {"continue_conversation": True}, {"continue_recent": True}], ids=str
)
async def test_a_session_among_the_providers_arguments_is_refused_too(way: Way, session: str, named: Any) -> None:
    """There is no way around saying so."""
    branch = scripted("Done.")

    with pytest.raises(TurnCompileError, match="would continue the provider's session"):
        await way(branch, imodel_kw=named, session=session)

    assert sent(branch) == []


@WAYS
async def test_an_empty_name_is_no_session(way: Way) -> None:
    """A default that stands among the arguments does no harm."""
    branch = scripted("Done.")

    await way(branch, imodel_kw={"resume": ""})

    assert len(sent(branch)) == 1


@WAYS
async def test_an_unknown_word_is_refused(way: Way) -> None:
    """It is not taken for one of the others."""
    branch = in_session(scripted("Done."))

    with pytest.raises(TurnCompileError, match="`session` is 'New'; it must be one of"):
        await way(branch, session="New")

    assert sent(branch) == []


@pytest.mark.parametrize("way", [by_chat, by_communicate])
async def test_a_provider_that_names_a_session_and_fails_is_set_back(way: Way) -> None:
    """As LionAGI's own CLI providers do: a plain retry must not be refused for it."""
    branch = branch_with([ErrorResponse(message="full", delay_ms=200)])
    asking = asyncio.create_task(way(branch))
    await asyncio.sleep(0.02)
    branch.chat_model.endpoint.session_id = "s-new"

    with pytest.raises(RuntimeError, match="full"):
        await asking

    assert branch.chat_model.provider_session_id is None


async def test_a_turn_that_fails_late_leaves_the_session_of_another_alone() -> None:
    """The model has the session of the last turn that succeeded."""
    branch = in_session(branch_with([ErrorResponse(message="full", delay_ms=300), TextResponse(content="Done.")]))
    failing = asyncio.create_task(by_chat(branch, session="new"))
    await asyncio.sleep(0.02)

    await by_chat(branch, session="resume")
    with pytest.raises(RuntimeError, match="full"):
        await failing

    assert set(resumed(branch)) == {None, "s-1"}
    assert branch.chat_model.provider_session_id == "s-1"


async def test_a_turn_that_was_not_recorded_continues_no_session() -> None:
    """It was cancelled while somebody held the branch's lock, after the provider had answered."""
    branch = scripted("Done.")
    pile = branch.msgs.messages
    asking = asyncio.create_task(by_communicate(branch))
    while not sent(branch):  # noqa: ASYNC110  # the script has no event to wait for
        await asyncio.sleep(0)

    async with pile:
        branch.chat_model.endpoint.session_id = "s-new"
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])

    assert (asking.cancelled(), len(pile), branch.chat_model.provider_session_id) == (True, 0, None)


async def test_the_session_is_kept_with_the_turn_also_when_a_listener_fails() -> None:
    """The provider and the branch know the same turns."""
    branch = streamed({"type": "system", "metadata": {"session_id": "s-3"}}, {"type": "text", "content": "Done."})

    def fail(_message: object) -> None:
        raise OSError("disk full")

    branch.msgs._on_message_added.append(fail)  # noqa: SLF001  # LionAGI has no public way to listen

    with pytest.raises(OSError, match="disk full"):
        await by_run(branch)

    assert (len(branch.msgs.messages), branch.chat_model.provider_session_id) == (2, "s-3")


@WAYS
async def test_a_session_is_resumed_when_asked_for(way: Way) -> None:
    """The session's id goes with the call."""
    branch = in_session(scripted("Done."))

    await way(branch, session="resume")

    assert resumed(branch) == ["s-1"]
    assert branch.chat_model.provider_session_id == "s-1"


@WAYS
async def test_a_new_session_begins_with_the_compiled_history(way: Way) -> None:
    """The call names none."""
    branch = in_session(scripted("Done."))

    await way(branch, session="new")

    assert resumed(branch) == [None]


async def test_the_session_of_a_finished_stream_is_kept() -> None:
    """It is the model's from then on."""
    branch = streamed({"type": "system", "metadata": {"session_id": "s-3"}}, {"type": "text", "content": "Done."})

    await by_run(branch)

    assert branch.chat_model.provider_session_id == "s-3"


async def test_the_session_of_a_stream_that_failed_is_not_kept() -> None:
    """The provider knows a turn that the branch does not hold; the next try is not refused for it."""
    branch = streamed({"type": "system", "metadata": {"session_id": "s-3"}}, {"type": "error", "content": "full"})

    with pytest.raises((TurnStreamError, ValueError)):
        await by_run(branch)

    assert branch.chat_model.provider_session_id is None


@WAYS
async def test_a_call_that_failed_leaves_the_session_as_it_was(way: Way) -> None:
    """Also one that was to begin another."""
    branch = in_session(branch_with([ErrorResponse(message="full")]))

    with pytest.raises((RuntimeError, ValueError)):
        await way(branch, session="new")

    assert branch.chat_model.provider_session_id == "s-1"
