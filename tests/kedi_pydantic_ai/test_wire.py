"""The last look before transport: what a model is handed says what was validated, but for the host's own reshaping."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import BinaryContent
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, repair_messages
from pydantic_ai.models import ModelRequestParameters

from agents import Script, asks, calls, results, says, turns
from kedi_compile import HistoryProcessingValidationError
from kedi_pydantic_ai.wire import CheckedModel, completed, history_check

NOW = asks("now")
PICTURE = BinaryContent(b"PNG", media_type="image/png")


def sends(
    validated: Sequence[ModelMessage], messages: Sequence[ModelMessage], *, open_calls: frozenset[str] = frozenset()
) -> bool:
    """Tell whether a checked model lets `messages` through when `validated` was proved."""
    script = Script("done")
    checked = CheckedModel(script.model, history_check(validated, open_calls))
    try:
        asyncio.run(checked.request(list(messages), None, ModelRequestParameters()))
    except HistoryProcessingValidationError:
        assert script.sent == []
        return False
    return True


def test_the_validated_messages_go_through() -> None:
    """By identity, and as equal copies."""
    validated = [*turns(1), NOW]

    assert sends(validated, validated)
    assert sends(validated, copy.deepcopy(validated))


def test_neighbouring_requests_may_be_merged() -> None:
    """The host makes one request of two, with the same parts."""
    validated = [*turns(1), asks("and"), NOW]
    merged = [*validated[:2], ModelRequest(parts=[*validated[2].parts, *NOW.parts])]

    assert sends(validated, merged)
    assert sends(validated, repair_messages(validated))


def test_results_may_move_to_the_front_of_their_request() -> None:
    """The host puts tool results before other parts."""
    mixed = ModelRequest(parts=[m.UserPromptPart("go on"), m.ToolReturnPart("look", "seen", tool_call_id="c1")])
    validated: list[ModelMessage] = [asks("look"), calls("c1"), mixed]
    moved = [*validated[:2], ModelRequest(parts=list(reversed(mixed.parts)))]

    assert sends(validated, moved)


def test_an_invented_result_for_an_open_call_goes_through() -> None:
    """The call was open before any edit, and the host answers it in its own way."""
    validated: list[ModelMessage] = [asks("look"), calls("c1"), NOW]
    repaired = repair_messages(validated, repair_last_response=True)

    assert len(repaired[-1].parts) == 2
    assert sends(validated, repaired, open_calls=frozenset({"c1"}))


def test_an_invented_result_in_the_place_of_a_real_one_is_refused() -> None:
    """A call that had its result must go out with it."""
    validated: list[ModelMessage] = [asks("look"), calls("c1"), results("c1"), says("looked"), NOW]
    without = repair_messages([*validated[:2], *validated[3:]])

    assert not sends(validated, without)


@pytest.mark.parametrize(
    "change",
    [
        lambda messages: messages[2:],
        lambda messages: messages[:-1],
        lambda messages: [*messages[2:4], *messages[:2], messages[-1]],
        lambda messages: [asks("smuggled"), says("in"), *messages],
        lambda messages: [asks("reworded"), *messages[1:]],
        lambda messages: [*messages[:-1], asks("now?")],
        lambda messages: [*messages, messages[-1]],
    ],
    ids=["drops", "drops the request", "moves", "adds", "rewords", "rewords the request", "doubles"],
)
def test_anything_else_is_refused(change: Any) -> None:
    """A changed request never reaches the wrapped model."""
    validated = [*turns(2), NOW]

    assert not sends(validated, change(validated))


def test_a_nested_argument_that_changed_is_refused() -> None:
    """Equality goes all the way down."""
    validated: list[ModelMessage] = [
        asks("look"),
        calls("c1", where={"room": "hall"}),
        results("c1"),
        says("looked"),
        NOW,
    ]
    changed: Any = copy.deepcopy(validated)
    changed[1].parts[0].args["where"]["room"] = "attic"

    assert not sends(validated, changed)


def test_a_streamed_request_is_checked_too() -> None:
    """The stream is not opened for a changed request."""
    script = Script("done")
    validated = [*turns(1), NOW]
    checked = CheckedModel(script.model, history_check(validated, frozenset()))

    async def stream(messages: list[ModelMessage]) -> None:
        async with checked.request_stream(messages, None, ModelRequestParameters()) as response:
            async for _ in response:
                pass

    asyncio.run(stream(validated))
    with pytest.raises(HistoryProcessingValidationError, match="is not what was validated"):
        asyncio.run(stream([NOW]))
    assert len(script.sent) == 1


def test_a_file_described_in_words_says_the_same() -> None:
    """The host writes text in the place of a file that the model cannot read."""
    validated: list[Any] = [asks(["see", PICTURE]), calls("c0"), results("c0", content=PICTURE), says("ok"), NOW]
    described = copy.deepcopy(validated)
    described[0].parts[0].content = ["see", "a cat"]
    described[2].parts[0].content = "a cat"
    longer = copy.deepcopy(described)
    longer[0].parts[0].content = ["see", "a cat", "and obey"]

    assert sends(validated, described)
    assert not sends(validated, longer)


def test_the_host_may_complete_the_current_request() -> None:
    """Parts added since the validation belong to the request that is sent."""
    fuller = ModelRequest(parts=[*NOW.parts, m.UserPromptPart("one more thing")])

    assert completed([*turns(1), NOW], [*turns(1), fuller], NOW.parts)[-1] is fuller


@pytest.mark.parametrize("current", [asks("another"), ModelRequest(parts=[m.UserPromptPart("one more thing")])])
def test_the_current_request_may_not_lose_what_was_validated(current: ModelRequest) -> None:
    """Replacing it by another request is refused."""
    with pytest.raises(HistoryProcessingValidationError, match="changed_after_validation"):
        completed([*turns(1), NOW], [*turns(1), current], NOW.parts)


def test_the_validated_history_before_the_current_request_is_kept() -> None:
    """What another capability did to older messages does not count as validated."""
    staged = [*turns(1), NOW]

    assert completed(staged, [asks("reworded"), says("x"), NOW], NOW.parts) == staged
