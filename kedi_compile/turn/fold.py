"""Step 4: where policy, retrieved context and guidance stand.

There is no system message. The system text, the context section and the instruction's own guidance become the
guidance of the first instruction of the request, each separated by an empty line. Source: Turn specification, D2 (Fold
system, context, and guidance).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .blocks import context_section
from .contents import exact
from .minimal_yaml import minimal_yaml
from .records import System
from .refusals import blaming
from .request import ContextBlock
from .views import InstructionView, View, is_absent


def fold(
    history: Sequence[View], current: InstructionView, system: System | None, blocks: Iterable[ContextBlock]
) -> list[View]:
    """Return the whole content in its final order, with the prefix on its first instruction.

    Without system record and blocks nothing changes, so that guidance which is no text keeps its structure.

    Raises:
        TurnCompileError: a block lacks its name or its content.
    """
    section = context_section(blocks)
    contents = [*history, current]
    if system is None and not section:
        return contents
    first = next(place for place, view in enumerate(contents) if isinstance(view, InstructionView))
    target = contents[first]
    assert isinstance(target, InstructionView)  # that is what was searched for
    sections = [_policy(system), section, _guidance(target)]
    contents[first] = replace(target, guidance="\n\n".join(filter(None, sections)))
    return contents


def _policy(system: System | None) -> str:
    if system is None:
        return ""
    with blaming(system.id):
        return system.content.rendered


def _guidance(view: InstructionView) -> str:
    if is_absent(view.guidance):
        return ""
    if isinstance(view.guidance, str):
        return exact(view.guidance)
    with blaming(view.record_id):
        return minimal_yaml(view.guidance, "guidance").strip()
