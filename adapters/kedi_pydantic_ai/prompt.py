"""The prompt of a run on Pydantic AI, as all that reads it sees it once it was edited.

`user_prompt_submit` edits it, and then a request compiler takes out what was meant for the interface. The adapter asks
where the run begins. The host has noted the given prompt beside its marks (`boundary.py`) by
then, from where prompt functions, tools and later hooks get it. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import dropwhile
from typing import Any

from pydantic_ai.messages import CachePoint, TextContent, UserContent
from pydantic_ai.tools import RunContext

from kedi_compile import AssemblyError
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.history.prompt import UserPromptSubmit, submit
from kedi_compile.question import Question

Prompt = str | Sequence[UserContent]


def show_prompt(marks: Any, ctx: RunContext[Any], prompt: Prompt) -> None:
    """Make the edited prompt the one that prompt functions, tools and hooks see as `ctx.prompt` from now on."""
    ctx.prompt = prompt
    if hasattr(marks, "prompt"):
        marks.prompt = prompt


def submitted(
    hook: UserPromptSubmit | None, tokens: UiTokens | None, given: Prompt
) -> Generator[Question, object, Prompt]:
    """Return the prompt to use; the given one where nobody has a say in it.

    Raises:
        HistoryProcessingError: the hook failed.
        AssemblyError: nothing is in it but what was meant for the interface.
    """
    prompt = given if hook is None else (yield from submit(hook, given))
    return prompt if tokens is None else without_ui_tokens(prompt, tokens)


def without_ui_tokens(prompt: Prompt, tokens: UiTokens) -> Prompt:
    """Return the prompt without what was meant for the interface; the same object where there is nothing of it.

    Raises:
        AssemblyError: nothing else is in it.
    """
    if isinstance(prompt, str):
        return _checked(prompt, tokens.clean(prompt).text)
    cleaned = [_cleaned(one, tokens) for one in prompt]
    if all(new is old for new, old in zip(cleaned, prompt, strict=True)):
        return prompt
    left = [new for new, old in zip(cleaned, prompt, strict=True) if new is old or not _is_blank(new)]
    # A provider refuses a cache point that has nothing in front of it.
    left = list(dropwhile(_is_cache_point, left))
    return _checked(str(prompt), "") if all(_is_blank(one) or _is_cache_point(one) for one in left) else left


def shown_prompt(prompt: Prompt, tokens: UiTokens) -> Prompt:
    """Return a prompt as a model may see it: one that was kept with tokens goes out without them.

    Where nothing would be left, they are quoted. A prompt without tokens is the same object.
    """
    try:
        return without_ui_tokens(prompt, tokens)
    except AssemblyError:
        texts = [prompt] if isinstance(prompt, str) else [_text(one) for one in prompt if not _is_cache_point(one)]
        return tokens.escape("\n".join(texts)).text


def _text(content: UserContent) -> str:
    text = content.content if isinstance(content, TextContent) else content
    return text if isinstance(text, str) else ""


def _cleaned(content: UserContent, tokens: UiTokens) -> UserContent:
    if isinstance(content, str):
        return tokens.clean(content).text
    if isinstance(content, TextContent) and (text := tokens.clean(content.content).text) is not content.content:
        return replace(content, content=text)
    return content


def _is_blank(content: UserContent) -> bool:
    text = content.content if isinstance(content, TextContent) else content
    return isinstance(text, str) and not text.strip()


def _is_cache_point(content: UserContent) -> bool:
    return isinstance(content, CachePoint)


def _checked(given: str, text: str) -> str:
    if given.strip() and not text.strip():
        msg = f"The user's message is {given[:80]!r}, all for the interface; there is nothing to ask a model"
        raise AssemblyError(msg)
    return text
