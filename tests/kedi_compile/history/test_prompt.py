"""`user_prompt_submit` is asked once, and returns a prompt of the kind it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryProcessingError
from kedi_compile.history.drive import drive, drive_sync
from kedi_compile.history.prompt import submit

Hook = Callable[[Any], Any]


def shout(prompt: str) -> str:
    """Edit a text."""
    return prompt.upper()


async def shout_async(prompt: str) -> str:
    """Edit a text, awaited."""
    return prompt.upper()


def shout_later(prompt: str) -> Any:
    """Return what is to be awaited."""
    return shout_async(prompt)


class Shout:
    """A callable object."""

    async def __call__(self, prompt: str) -> str:
        return prompt.upper()


HOOKS = pytest.mark.parametrize("hook", [shout, shout_async, shout_later, Shout()])


@HOOKS
async def test_every_kind_of_hook_edits_the_prompt(hook: Hook) -> None:
    """A function, a coroutine function, what returns an awaitable, or an object."""
    assert await drive(submit(hook, "hello"), object()) == "HELLO"


@HOOKS
def test_every_kind_of_hook_edits_the_prompt_on_a_sync_path(hook: Hook) -> None:
    """The same where nothing can be awaited."""
    assert drive_sync(submit(hook, "hello"), object()) == "HELLO"


@HOOKS
async def test_every_kind_of_hook_edits_the_prompt_on_a_sync_path_inside_a_loop(hook: Hook) -> None:
    """The same where a loop is running already."""
    assert drive_sync(submit(hook, "hello"), object()) == "HELLO"


def test_a_hook_is_asked_once_with_the_prompt_itself() -> None:
    """What it returns is what is used, the same object if it wants."""
    asked: list[Sequence[str]] = []
    prompt = ["look at", "this"]

    def hook(given: list[str]) -> list[str]:
        asked.append(given)
        return given

    assert drive_sync(submit(hook, prompt), object()) is prompt
    assert asked == [prompt]


@pytest.mark.parametrize(
    ("prompt", "edited"),
    [("text", ""), ("text", "other"), (["a"], ["b", "c"]), (["a"], ("b",)), (("a",), ["b"]), (["a"], [])],
)
def test_a_prompt_of_the_same_kind_is_taken(prompt: Any, edited: Any) -> None:
    """Text for text, and any sequence for a sequence."""
    assert drive_sync(submit(lambda _: edited, prompt), object()) == edited


@pytest.mark.parametrize(
    ("prompt", "edited", "message"),
    [
        ("text", None, "`user_prompt_submit` returned NoneType; it must return str, as given"),
        ("text", ["text"], "`user_prompt_submit` returned list; it must return str, as given"),
        ("text", b"text", "`user_prompt_submit` returned bytes; it must return str, as given"),
        (["a"], "a", "`user_prompt_submit` returned str; it must return list, as given"),
        (("a",), None, "`user_prompt_submit` returned NoneType; it must return list, as given"),
        (["a"], {"a": 1}, "`user_prompt_submit` returned dict; it must return list, as given"),
    ],
)
def test_a_prompt_of_another_kind_is_refused(prompt: Any, edited: Any, message: str) -> None:
    """Nothing was sent, and the error says what was given."""
    with pytest.raises(HistoryProcessingError) as caught:
        drive_sync(submit(lambda _: edited, prompt), object())

    assert str(caught.value) == message


@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_hook_raises_is_wrapped(is_async: bool) -> None:
    """The original is the cause."""
    error = LookupError("no user")

    def hook(prompt: str) -> str:
        raise error

    async def hook_async(prompt: str) -> str:
        raise error

    with pytest.raises(HistoryProcessingError) as caught:
        drive_sync(submit(hook_async if is_async else hook, "hello"), object())

    assert str(caught.value) == "`user_prompt_submit` raised LookupError: no user"
    assert caught.value.__cause__ is error


async def test_a_hook_may_not_call_its_own_adapter() -> None:
    """It would ask itself again."""
    owner = object()

    async def hook(prompt: str) -> str:
        return await drive(submit(shout, prompt), owner)

    with pytest.raises(HistoryProcessingError, match="A history callback called the adapter it belongs to"):
        await drive(submit(hook, "hello"), owner)
