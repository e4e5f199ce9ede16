"""The tool that reads the archive: its name, what a model is told of it, and that it is the host's own kind of tool."""

import asyncio

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive_record import write_record
from kedi_pydantic_ai.dialect import DIALECT
from kedi_pydantic_ai.reading import archive_toolset


def test_a_model_is_told_what_the_tool_takes() -> None:
    """A reference, and a page that is 1 where it is left out; nothing of the run."""
    settings = HistoryArchiveSettings(0, 0, 0)
    settings.keep("ref", write_record("pydantic", [b"{}"]), now=0.0)
    context = RunContext(
        deps=None, model=TestModel(), usage=RunUsage(), messages=[DIALECT.checkpoint("Archived.", "ref")]
    )
    toolset = archive_toolset(settings)

    async def use() -> tuple[object, object]:
        tools = await toolset.get_tools(context)
        tool = tools["read_archive"]
        return tool.tool_def, await toolset.call_tool("read_archive", {"reference": "ref", "page": 1}, context, tool)

    definition, answer = asyncio.run(use())

    assert getattr(definition, "parameters_json_schema", None) == {
        "additionalProperties": False,
        "properties": {"reference": {"type": "string"}, "page": {"default": 1, "type": "integer"}},
        "required": ["reference"],
        "type": "object",
    }
    assert getattr(definition, "description", None) == (
        "Read archived tool exchanges of this conversation back, word for word. A checkpoint in the conversation names "
        "the reference; long records have several pages, counted from 1."
    )
    assert answer == "Archive 'ref', page 1 of 1, one message a line:\n{}"
