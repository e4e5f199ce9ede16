"""The tool that reads the archive: what a model is told of it, and nothing of the thread it reads in."""

from langchain_core.utils.function_calling import convert_to_openai_tool

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive_record import write_record
from kedi_langchain import LangChainDialect
from kedi_langchain.reading import archive_tool


def test_a_model_is_told_what_the_tool_takes() -> None:
    """A reference, and a page that is 1 where it is left out."""
    assert convert_to_openai_tool(archive_tool(HistoryArchiveSettings(0, 0, 0))) == {
        "type": "function",
        "function": {
            "name": "read_archive",
            "description": (
                "Read archived tool exchanges of this conversation back, word for word. A checkpoint in the "
                "conversation names the reference; long records have several pages, counted from 1."
            ),
            "parameters": {
                "type": "object",
                "properties": {"reference": {"type": "string"}, "page": {"type": "integer", "default": 1}},
                "required": ["reference"],
            },
        },
    }


def test_it_reads_what_the_threads_checkpoints_name() -> None:
    """Given the thread's messages, as the host gives them."""
    settings = HistoryArchiveSettings(0, 0, 0)
    settings.keep("ref", write_record("langchain", [b"{}"]), now=0.0)
    messages = [LangChainDialect().checkpoint("Archived.", "ref")]

    answer = archive_tool(settings).invoke({"reference": "ref", "messages": messages})

    assert answer == "Archive 'ref', page 1 of 1, one message a line:\n{}"
