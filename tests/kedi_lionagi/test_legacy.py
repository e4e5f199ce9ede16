"""The older entry point: deprecated, and nothing but the compiler."""

from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi.protocols.messages import Instruction

from kedi_compile import TurnCompileError
from kedi_lionagi import prepare_messages_for_chat
from turn_lionagi import talked

NOW = Instruction(content={"instruction": "Now?"})


def test_it_is_deprecated_and_delegates() -> None:
    """A warning, and the compiler's own messages."""
    with pytest.deprecated_call(match="use kedi_lionagi.to_branch and compile_chat_request"):
        messages = prepare_messages_for_chat(talked().msgs.messages, new_instruction=NOW)

    assert messages == [
        {"role": "user", "content": "Guidance: Be terse.\nInstruction: Hello?"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Instruction: Now?"},
    ]


def test_a_progression_selects() -> None:
    """Without the system record's id there is no policy; an empty progression means all."""
    pile = talked().msgs.messages
    ids = [record.id for record in pile]

    with pytest.deprecated_call():
        some = prepare_messages_for_chat(pile, ids[1:], NOW)
    with pytest.deprecated_call():
        everything = prepare_messages_for_chat(pile, [], NOW)

    assert [message["content"] for message in some] == ["Instruction: Hello?", "Hi.", "Instruction: Now?"]
    assert everything[0]["content"] == "Guidance: Be terse.\nInstruction: Hello?"


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ({"to_chat": False}, "to_chat=False"),
        ({"system_prefix": "P"}, "system_prefix"),
        ({"aggregate_actions": True}, "aggregate_actions"),
        ({"round_notifications": True}, "round_notifications"),
        ({"scratchpad": {"a": "b"}}, "scratchpad"),
        ({"new_instruction": None}, "Pass `new_instruction`"),
    ],
)
def test_an_option_with_another_meaning_is_refused(option: dict[str, Any], name: str) -> None:
    """The compiler gives a history one meaning."""
    arguments = {"new_instruction": NOW, **option}

    with pytest.deprecated_call(), pytest.raises(TurnCompileError, match=name):
        prepare_messages_for_chat(talked().msgs.messages, **arguments)
