"""Records: the very bytes of the messages, proved by a digest, and answers that tell a model exactly what is there."""

import json

import pytest

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive_record import own_references, read_archive, read_record, write_record
from toy import Message, ToyDialect, calls, says, user

DIALECT = ToyDialect()
MESSAGES = [b'{"text":"h\xc3\xa9\xe2\x80\xa8llo"}', b"{}", b'{"n":1.50}']
NAMED = {"ref", "gone", "old", "never", "bad"}


def settings(**options: object) -> HistoryArchiveSettings:
    """Return settings that hold one record of three messages, one that was released and one that expired."""
    archive = HistoryArchiveSettings(9, 3, 1, expires_after=10, **options)  # type: ignore[arg-type]  # a test's own
    archive.keep("old", b"x", now=-100.0)
    archive.keep("gone", b"x", now=0.0)
    archive.keep("bad", write_record("toy", MESSAGES)[:-1], now=0.0)
    archive.keep("ref", write_record("toy", MESSAGES), now=0.0)
    archive.release("gone")
    return archive


def test_a_record_gives_back_the_very_bytes() -> None:
    """Whatever characters the JSON holds, and however it writes its numbers."""
    assert list(read_record(write_record("toy", MESSAGES))) == MESSAGES


def test_a_record_says_what_it_is() -> None:
    """Its first line is JSON that can be read without the rest."""
    head, *body = write_record("toy", MESSAGES).split(b"\n")

    assert body == MESSAGES
    assert json.loads(head) == {
        "format": "kedi_compile.archive",
        "version": 1,
        "adapter": "toy",
        "messages": 3,
        "sha256": "dc0f96325a31b5ace532b3f85ead65f3f3cc2d9213ef2bbd861f382e11f576ae",
    }


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "does not begin with the header"),
        (b"\xff\n{}", "does not begin with the header"),
        (b"[" * 100_000, "does not begin with the header"),
        (b"[1]\n{}", "no archived record of version 1"),
        (b'{"format":"kedi_compile.archive","version":2}\n{}', "no archived record of version 1"),
        (write_record("toy", MESSAGES)[:-1], "was changed after it was written"),
        (write_record("toy", MESSAGES) + b"\n{}", "was changed after it was written"),
    ],
    ids=range(7),
)
def test_other_data_is_no_record(data: bytes, fault: str) -> None:
    """A change of a single byte is seen."""
    with pytest.raises(ValueError, match=fault):
        read_record(data)


def test_all_pages_together_are_the_whole_record() -> None:
    """Character for character, none longer than the settings say."""
    archive = settings(page_characters=7)
    pages = [read_archive(archive, "ref", page, now=0.0, own=NAMED) for page in range(1, 6)]
    heads, texts = zip(*(page.split("\n", 1) for page in pages), strict=True)

    assert heads[1] == "Archive 'ref', page 2 of 5, one message a line:"
    assert "".join(texts).encode() == b"\n".join(MESSAGES)
    assert {len(text) for text in texts[:-1]} == {7}


@pytest.mark.parametrize(
    ("reference", "page", "answer"),
    [
        ("gone", 1, "Archive 'gone' was released; its text is gone for good. Go on without it."),
        ("old", 1, "Archive 'old' has expired; its text is gone for good. Go on without it."),
        (
            "never",
            1,
            "Archive 'never' is not in this program's archive; its text cannot be read here. Go on without it.",
        ),
        (
            "bad",
            1,
            "Archive 'bad' is damaged and cannot be read: The archived record was changed after it was written.",
        ),
        ("ref", 2, "Archive 'ref' has 1 page; there is no page 2."),
        ("ref", 0, "Archive 'ref' has 1 page; there is no page 0."),
        ("ref", -1, "Archive 'ref' has 1 page; there is no page -1."),
    ],
)
def test_what_cannot_be_read_is_said_precisely(reference: str, page: int, answer: str) -> None:
    """An answer for the model, not an exception."""
    assert read_archive(settings(), reference, page, now=0.0, own=NAMED) == answer


def test_a_model_reads_only_what_its_own_history_names() -> None:
    """A reference it was told elsewhere says nothing, not even whether it exists."""
    answer = "There is no archive 'ref' in this conversation; use a reference that a checkpoint names."

    assert read_archive(settings(), "ref", 1, now=0.0, own=set()) == answer
    assert read_archive(settings(), "gone", 1, now=0.0, own=set()) == answer.replace("ref'", "gone'")


def test_the_checkpoints_of_a_history_name_its_references() -> None:
    """A text that looks like one does not."""
    history: list[Message] = [
        user("Go."),
        DIALECT.checkpoint("Archived.", "ref"),
        says("read_archive(reference='other')"),
        calls("c1"),
    ]

    assert own_references(DIALECT, history) == {"ref"}
