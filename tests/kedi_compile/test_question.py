"""A question to whoever drives a flow is a frozen value."""

from __future__ import annotations

from typing import get_args

import pytest

from kedi_compile.history import drive
from kedi_compile.question import Callback, Question


def test_a_question_is_frozen() -> None:
    """What was asked stays what it was."""
    question = Question("inputs", len, [1, 2])

    with pytest.raises(AttributeError):
        question.argument = []  # type: ignore[misc]  # the point of the test
    assert question == Question("inputs", len, [1, 2])


def test_every_kind_of_callback_has_a_keyword_for_errors() -> None:
    """A user is told which of the functions that were given is to blame."""
    assert set(get_args(Callback)) == set(drive._KEYWORDS)  # noqa: SLF001  # the table is nobody else's business
