"""`user_prompt_submit` on Pydantic AI: the prompt of a run, as hooks and tools see it once the hook has edited it.

The adapter asks the hook where the run begins. The host has noted the given prompt in several places by then, one of
them beside its marks (`boundary.py`); all of them are brought up to date here. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import UserContent
from pydantic_ai.tools import RunContext

Prompt = str | Sequence[UserContent]


def show_prompt(marks: Any, ctx: RunContext[Any], prompt: Prompt) -> None:
    """Make the edited prompt the one that hooks and tools see as `ctx.prompt`, in this step and in later ones.

    The tools of the first step hold a context that the host made before any request.
    """
    ctx.prompt = prompt
    if ctx.tool_manager is not None and ctx.tool_manager.ctx is not None:
        ctx.tool_manager.ctx.prompt = prompt
    if hasattr(marks, "prompt"):
        marks.prompt = prompt
