"""`user_prompt_submit` on Pydantic AI: the prompt of a run, as all that reads it sees it once the hook has edited it.

The adapter asks the hook where the run begins. The host has noted the given prompt beside its marks (`boundary.py`) by
then, from where prompt functions, tools and later hooks get it. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import UserContent
from pydantic_ai.tools import RunContext

Prompt = str | Sequence[UserContent]


def show_prompt(marks: Any, ctx: RunContext[Any], prompt: Prompt) -> None:
    """Make the edited prompt the one that prompt functions, tools and hooks see as `ctx.prompt` from now on."""
    ctx.prompt = prompt
    if hasattr(marks, "prompt"):
        marks.prompt = prompt
