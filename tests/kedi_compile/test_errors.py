"""Every exception and warning: where it stands in the tree, what it says, and the facts it carries."""

import pickle
from uuid import UUID

import pytest

from kedi_compile import (
    HistoryConfigurationError,
    HistoryPrefixWarning,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessingWarning,
    HistoryProtectedWarning,
    KediError,
    TurnCompileError,
    TurnStreamError,
    UnknownRecordError,
    Violation,
)
from kedi_compile.errors import DumpError, error_text

SPLIT = Violation("split_group", "Group 1 (entries 2:4) came back without entry 3", (1,), (3,))
ORPHAN = Violation("orphan_tool_result", "Entry 3 answers tool call 'c1'", (1,), (3,), "c1")


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (HistoryConfigurationError, (KediError, ValueError)),
        (HistoryProcessingError, (KediError,)),
        (HistoryProcessingValidationError, (HistoryProcessingError, KediError)),
        (DumpError, (KediError,)),
        (TurnCompileError, (KediError, ValueError)),
        (TurnStreamError, (KediError, RuntimeError)),
        (UnknownRecordError, (TurnCompileError, KediError, ValueError, TypeError)),
        (HistoryPrefixWarning, (HistoryProcessingWarning, UserWarning)),
        (HistoryProtectedWarning, (HistoryProcessingWarning, UserWarning)),
    ],
)
def test_errors_and_warnings_stand_in_their_tree(error: type[Exception], bases: tuple[type, ...]) -> None:
    """Catching a base catches what stands below it."""
    assert all(issubclass(error, base) for base in bases)


def test_a_configuration_error_is_no_processing_error() -> None:
    """What can never work is told apart from what failed once."""
    assert not issubclass(HistoryConfigurationError, HistoryProcessingError)


def test_one_violation_is_named_in_the_message() -> None:
    """A single broken rule is one sentence and one line."""
    error = HistoryProcessingValidationError([SPLIT])

    assert str(error) == (
        "The edited history breaks 1 rule; nothing was sent\n"
        "  split_group: Group 1 (entries 2:4) came back without entry 3"
    )


def test_every_violation_is_listed_in_order() -> None:
    """All broken rules are in the message and in `violations`; `rule` is the first one's name."""
    error = HistoryProcessingValidationError(iter([SPLIT, ORPHAN]))

    assert str(error) == (
        "The edited history breaks 2 rules; nothing was sent\n"
        "  split_group: Group 1 (entries 2:4) came back without entry 3\n"
        "  orphan_tool_result: Entry 3 answers tool call 'c1'"
    )
    assert error.violations == (SPLIT, ORPHAN)
    assert error.rule == "split_group"


def test_a_validation_error_survives_pickling() -> None:
    """An error that crosses a process keeps its message and its facts."""
    error = HistoryProcessingValidationError([SPLIT, ORPHAN])

    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301  # made on the line itself

    assert type(arrived) is HistoryProcessingValidationError
    assert str(arrived) == str(error)
    assert arrived.violations == (SPLIT, ORPHAN)


def test_a_violation_is_frozen() -> None:
    """Facts of an error cannot be changed by whoever handles it."""
    with pytest.raises(AttributeError):
        SPLIT.rule = "blank_text"  # type: ignore[misc]  # the point of the test


def test_a_violation_blames_nothing_by_default() -> None:
    """A breach by a new message has no group, entry or call to blame."""
    violation = Violation("blank_text", "Returned message 0 is new and empty")

    assert (violation.groups, violation.entries, violation.tool_call_id) == ((), (), None)
    assert str(violation) == "blank_text: Returned message 0 is new and empty"


def test_a_long_list_of_violations_is_shown_in_part() -> None:
    """The text shows the first five of each rule and counts the rest; the attribute holds all."""
    error = HistoryProcessingValidationError(Violation("split_group", f"Group {number}") for number in range(2_000))

    assert len(error.violations) == 2_000
    assert str(error).splitlines()[-2:] == ["  split_group: Group 4", "  split_group: and 1995 more"]
    assert str(error).startswith("The edited history breaks 1 rule; nothing was sent\n")


def test_a_turn_is_refused_apart_from_a_history() -> None:
    """A compile error is no processing error, and only a record of an unknown kind is a type error."""
    assert not issubclass(TurnCompileError, HistoryProcessingError | HistoryConfigurationError | TypeError)


@pytest.mark.parametrize("kind", [TurnCompileError, UnknownRecordError])
def test_a_compile_error_survives_pickling(kind: type[TurnCompileError]) -> None:
    """An error that crosses a process keeps its class, its message, the records to blame, the path and its notes."""
    error = kind("Record 1 is odd", record_ids=iter([UUID(int=1), UUID(int=2)]), path="prompt_context[0]")
    error.add_note("seen twice")

    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301  # made on the line itself

    assert type(arrived) is kind
    assert str(arrived) == "Record 1 is odd"
    assert (arrived.record_ids, arrived.path) == ((UUID(int=1), UUID(int=2)), "prompt_context[0]")
    assert arrived.__notes__ == ["seen twice"]


def test_a_compile_error_blames_nothing_by_default() -> None:
    """A request that is wrong by itself has no record and no path."""
    error = TurnCompileError("The request is odd")

    assert (error.record_ids, error.path) == ((), None)


def test_a_broken_stream_is_no_refusal() -> None:
    """A turn that was sent and failed is told apart from one that was never compiled."""
    error = TurnStreamError("overloaded")

    assert not isinstance(error, ValueError)
    assert str(error) == "The provider ended the stream with an error: overloaded"
    assert error.detail == "overloaded"


def test_a_stream_error_survives_pickling() -> None:
    """The text is not put together twice."""
    arrived = pickle.loads(pickle.dumps(TurnStreamError("overloaded")))  # noqa: S301  # made on the line itself

    assert type(arrived) is TurnStreamError
    assert str(arrived) == "The provider ended the stream with an error: overloaded"
    assert arrived.detail == "overloaded"


def test_a_dump_error_survives_pickling() -> None:
    """An error that crosses a process keeps its message, and the file and line to blame."""
    error = DumpError("Line 3 is no dump", path="dump.jsonl", line=3)

    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301  # made on the line itself

    assert type(arrived) is DumpError
    assert str(arrived) == "Line 3 is no dump"
    assert (arrived.path, arrived.line) == ("dump.jsonl", 3)


def test_a_dump_error_blames_no_line_by_default() -> None:
    """A dump that could not be written has no line."""
    error = DumpError("The disk is full")

    assert (error.path, error.line) == (None, None)


def test_an_error_goes_by_its_type_and_words() -> None:
    """Or by its type alone, where somebody else's cannot say what it is."""

    class WordlessError(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert error_text(LookupError("no summary")) == "LookupError: no summary"
    assert error_text(WordlessError()) == "WordlessError"
