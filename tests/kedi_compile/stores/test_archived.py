"""What a reference stands for; how each store keeps it is in `test_protocol`."""

from __future__ import annotations

import pytest

from kedi_compile.errors import ConversationError
from kedi_compile.stores.archived import Archived, check_same, read
from kedi_compile.stores.protocol import Gone


@pytest.mark.parametrize(
    ("archived", "answer"),
    [
        (None, Gone.UNKNOWN),
        (Archived(b"", None), b""),
        (Archived(b"1", 5.1), b"1"),
        (Archived(b"1", 5.0), Gone.EXPIRED),
        (Archived(None, 9.0), Gone.EXPIRED),
        (Archived(None, None, released=True), Gone.RELEASED),
        (Archived(b"1", 1.0, released=True), Gone.RELEASED),
    ],
)
def test_the_answer_at_a_time(archived: Archived | None, answer: bytes | Gone) -> None:
    """A release outweighs an end, and a purged record is expired whatever the time."""
    assert read(archived, 5.0) == answer


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (Archived(b"1", None), "names another record"),
        (Archived(b"2", 9.0), "names another record"),
        (Archived(None, 9.0), "names a record that expired and was purged"),
        (Archived(None, None, released=True), "was released"),
    ],
)
def test_a_reference_stands_for_one_record(there: Archived, said: str) -> None:
    """Other bytes or another end make it another record."""
    check_same("r", there, there)

    with pytest.raises(ConversationError) as refused:
        check_same("r", there, Archived(b"2", None))

    assert str(refused.value) == (
        f"The reference 'r' {said}; a reference is never used again, so put the record under a new one"
    )
