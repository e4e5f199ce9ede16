"""The tool by which a model reads archived exchanges back, as a toolset of the host.

It is there from the first request on, so that no later one changes the tools. It reads what the checkpoints in the
run's own history name, and nothing else.
"""

from __future__ import annotations

import time
from typing import Any

from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive_record import READ_ARCHIVE, READ_ARCHIVE_DESCRIPTION, own_references, read_archive
from kedi_pydantic_ai.dialect import DIALECT


def archive_toolset(settings: HistoryArchiveSettings) -> FunctionToolset[Any]:
    """Return a toolset with the one tool that reads records; the host runs it in a worker thread."""

    def read(ctx: RunContext[Any], reference: str, page: int = 1) -> str:
        return read_archive(settings, reference, page, now=time.time(), own=own_references(DIALECT, ctx.messages))

    toolset: FunctionToolset[Any] = FunctionToolset(id=READ_ARCHIVE)
    toolset.add_function(read, name=READ_ARCHIVE, description=READ_ARCHIVE_DESCRIPTION)
    return toolset
