"""What is read as a saved history, and what is said of everything else."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Final

import pytest

from kedi_compile.explain.reading import MOST_BYTES, UnreadableHistory, parse, read
from saved import LANGCHAIN, PYDANTIC_AI, Saved

NEITHER: Final = "no message of pydantic-ai ('kind', 'parts') nor of langchain ('data', 'type')"
A_PROVIDERS: Final = "it is a provider's own form, save the framework's messages instead"
OF_DUMPS: Final = "it was written by LangChain's `dumps`, write it with `messages_to_dict`"


@pytest.mark.parametrize(("stack", "saved"), [("pydantic-ai", PYDANTIC_AI), ("langchain", LANGCHAIN)])
def test_the_stack_is_known_by_the_shape_of_the_messages(stack: str, saved: Saved) -> None:
    """A list of messages says by the keys of the first one whose it is."""
    history = parse(json.dumps(saved).encode())

    assert history.stack == stack
    assert list(history.messages) == saved


def test_a_list_may_stand_under_messages() -> None:
    """An object with `messages`, as a graph's state is, holds the history there."""
    assert parse(json.dumps({"messages": LANGCHAIN}).encode()) == parse(json.dumps(LANGCHAIN).encode())


def test_a_byte_order_mark_does_not_matter() -> None:
    """Some editors begin a UTF-8 file with one."""
    assert parse(b"\xef\xbb\xbf" + json.dumps(LANGCHAIN).encode()).stack == "langchain"


def test_a_file_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, everything else a path."""
    data = json.dumps(LANGCHAIN).encode()
    path = tmp_path / "history.json"
    path.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    assert read("-") == read(str(path)) == parse(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "The history is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"{", "The history is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'["\xe9"]', "The history is no UTF-8: invalid continuation byte at byte 2"),
        (b"[" * 100_000, "The history is nested too deeply"),
        (b"[]", "The history is empty: it holds no message"),
        (b'{"messages": []}', "The history is empty: it holds no message"),
        (b"{}", "The history is an empty object; it must be a list of messages"),
        (b"true", "The history is a boolean; it must be a list of messages"),
        (b"[3]", f"Message 0 is a number, {NEITHER}"),
        (
            b'[{"role": "user", "content": "a"}]',
            f"Message 0 is an object with 'role', 'content', {NEITHER}; {A_PROVIDERS}",
        ),
        (
            b'[{"lc": 1, "type": "constructor", "id": [], "kwargs": {}}]',
            f"Message 0 is an object with 'lc', 'type', 'id', 'kwargs', {NEITHER}; {OF_DUMPS}",
        ),
        (
            b'[{"kind": "request", "parts": []}, {"type": "human", "data": {}}]',
            "Message 1 is an object with 'type', 'data'; a message of pydantic-ai has 'kind', 'parts'",
        ),
        (
            b'[{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}]',
            f"Message 0 is an object with 'a', 'b', 'c', 'd', 'e', …, {NEITHER}",
        ),
    ],
    ids=range(13),
)
def test_what_is_no_history_is_named(data: bytes, said: str) -> None:
    """The complaint says what was found, where, and what would be right."""
    with pytest.raises(UnreadableHistory) as refused:
        parse(data)

    assert str(refused.value) == said


def test_a_number_that_python_will_not_read_is_no_json() -> None:
    """Python refuses numbers of many thousand digits with an error of its own."""
    with pytest.raises(UnreadableHistory, match="The history is no JSON: Exceeds the limit"):
        parse(b"[" + b"9" * 5_000 + b"]")


def test_a_named_stack_is_not_second_guessed() -> None:
    """With `--stack` the messages are held to that framework's shape."""
    with pytest.raises(UnreadableHistory) as refused:
        parse(json.dumps(LANGCHAIN).encode(), "pydantic-ai")

    assert (
        str(refused.value) == "Message 0 is an object with 'type', 'data'; a message of pydantic-ai has 'kind', 'parts'"
    )


def test_an_unknown_stack_is_refused() -> None:
    """The complaint lists the stacks there are."""
    with pytest.raises(UnreadableHistory, match="`--stack` is 'lionagi'; it must be one of pydantic-ai, langchain"):
        parse(b"[]", "lionagi")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    """The system's own words say why a place cannot be read."""
    with pytest.raises(UnreadableHistory, match=r"nothing\.json cannot be read: No such file or directory"):
        read(str(tmp_path / "nothing.json"))
    with pytest.raises(UnreadableHistory, match="cannot be read: Is a directory"):
        read(str(tmp_path))
    with pytest.raises(UnreadableHistory, match="cannot be read: embedded null byte"):
        read("a\0b")


def test_a_file_of_fifty_megabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    """What is too large is refused by its size, whatever is in it."""
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)

    with pytest.raises(
        UnreadableHistory, match=f"holds more than {MOST_BYTES:,} bytes, which is the most that is read"
    ):
        read(str(path))
