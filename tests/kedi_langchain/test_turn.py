"""A compiled turn as LangChain messages, as a model is sent them."""

from typing import Any

import pytest
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from kedi_compile import CompiledChatRequest, HistoryPrefixWarning, TurnRequest, compile_chat_request
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_langchain import LangChainAdapter, to_messages


class Reader(SimpleChatModel):
    """A model that keeps what it was sent."""

    sent: list[BaseMessage] = []  # noqa: RUF012  # pydantic copies a field's default

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.sent.extend(messages)
        return "Done."

    @property
    def _llm_type(self) -> str:
        return "reader"


def compiled(*images: str) -> CompiledChatRequest:
    """Return a turn after one answered question."""
    branch = Branch("Be terse.", [Instruction.create("Hello?"), AssistantResponse.create("Hi.")])
    return compile_chat_request(branch, TurnRequest(Instruction.create("And now?", images=images)))


def test_a_model_is_sent_a_turn() -> None:
    """Humans ask, and the assistant answers; the current instruction is the last."""
    reader = Reader()

    answer = reader.invoke(to_messages(compiled()))

    assert answer.text == "Done."
    assert [(type(message), message.content) for message in reader.sent] == [
        (HumanMessage, "Guidance: Be terse.\nInstruction: Hello?"),
        (AIMessage, "Hi."),
        (HumanMessage, "Instruction: And now?"),
    ]


def test_a_wrapped_model_edits_a_turn_like_any_history() -> None:
    """It drops whole groups, but for the one that the policy is folded into."""
    reader = Reader()
    with pytest.warns(HistoryPrefixWarning):
        adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(0))
    branch = Branch("Be terse.", [Instruction.create("Hello?"), AssistantResponse.create("Hi.")])
    branch.append(Instruction.create("More?"), AssistantResponse.create("Yes."))
    turn = compile_chat_request(branch, TurnRequest(Instruction.create("And now?")))

    adapter.wrap(reader).invoke(to_messages(turn))

    assert [message.content for message in reader.sent] == [
        "Guidance: Be terse.\nInstruction: Hello?",
        "Hi.",
        "Instruction: And now?",
    ]


def test_a_turn_without_policy_is_protected_by_nothing() -> None:
    """Without system, blocks and guidance every group may go."""
    reader = Reader()
    with pytest.warns(HistoryPrefixWarning):
        adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(0))
    branch = Branch(records=[Instruction.create("Hello?"), AssistantResponse.create("Hi.")])

    adapter.wrap(reader).invoke(to_messages(compile_chat_request(branch, TurnRequest(Instruction.create("And now?")))))

    assert [message.content for message in reader.sent] == ["Instruction: And now?"]


def test_an_image_keeps_its_place_and_detail() -> None:
    """Text first, then the images as the compiler has them."""
    message = to_messages(compiled("https://example.com/a.png"))[-1]

    assert message.content == [
        {"type": "text", "text": "Instruction: And now?"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "auto"}},
    ]


def test_an_unset_detail_is_left_out() -> None:
    """A provider refuses null where it takes a word."""
    instruction = Instruction.create("And now?", images="https://example.com/a.png")
    instruction.content.image_detail = None

    message = to_messages(compile_chat_request(Branch(), TurnRequest(instruction)))[-1]

    assert message.content == [
        {"type": "text", "text": "Instruction: And now?"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]


def test_a_change_of_the_messages_does_not_reach_the_turn() -> None:
    """They share nothing."""
    turn = compiled("https://example.com/a.png")

    content = to_messages(turn)[-1].content
    assert isinstance(content, list)
    content[1]["image_url"]["url"] = "changed"  # type: ignore[index]  # a mapping here
    content.clear()

    assert turn.messages[-1].content[1]["image_url"]["url"] == "https://example.com/a.png"  # type: ignore[index]
