"""The tool by which a model reads archived exchanges back, as a tool of the middleware.

It is there from the first request on, so that no later one changes the tools. It reads what the checkpoints in the
thread's own messages name, and nothing else.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from langchain.tools import BaseTool, InjectedState
from langchain_core.tools import StructuredTool

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive_record import READ_ARCHIVE, READ_ARCHIVE_DESCRIPTION, own_references, read_archive
from kedi_langchain.dialect import DIALECT


def archive_tool(settings: HistoryArchiveSettings) -> BaseTool:
    """Return the tool that reads records; on asynchronous paths the host runs it in a worker thread."""

    def read(reference: str, messages: Annotated[list[Any], InjectedState("messages")], page: int = 1) -> str:
        return read_archive(settings, reference, page, now=time.time(), own=own_references(DIALECT, messages))

    return StructuredTool.from_function(read, name=READ_ARCHIVE, description=READ_ARCHIVE_DESCRIPTION)
