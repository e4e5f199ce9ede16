"""What is taken from LionAGI, and when."""

import subprocess
import sys
from datetime import UTC, datetime
from uuid import UUID

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from kedi_compile.turn import Instruction
from kedi_lionagi import to_instruction
from kedi_lionagi.host import instruction_of


def test_lionagi_is_imported_when_it_is_needed() -> None:
    """Importing the adapter alone does not load it."""
    program = "import sys, kedi_lionagi; print('lionagi' in sys.modules)"

    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


def test_an_instruction_goes_there_and_back() -> None:
    """Identity and durable content survive both ways."""
    record = Instruction.create(
        "Hello?",
        guidance="Short.",
        prompt_context=[{"a": 1}],
        id=UUID(int=7),
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        sender="ada",
        recipient="hut",
        metadata={"seen": True},
    )

    assert to_instruction(instruction_of(record)) == record


@pytest.mark.parametrize("value", [0, False, 0.0])
def test_zero_and_false_are_recorded(value: object) -> None:
    """What was sent is what the next turn reads, although LionAGI takes such values for absent."""
    record = Instruction.create(value, guidance=value)

    assert to_instruction(instruction_of(record)).content == record.content
