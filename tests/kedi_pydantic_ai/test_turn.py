"""A compiled turn as Pydantic AI messages, as an agent sends them."""

import asyncio
from collections.abc import Sequence

import pytest
from pydantic_ai import Agent, BinaryContent, ImageUrl
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserContent, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents import Context, adapter
from kedi_compile import CompiledChatRequest, HistoryProcessingValidationError, TurnRequest, compile_chat_request
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_pydantic_ai import to_model_messages

Said = tuple[str, str | Sequence[UserContent]]


def compiled(*images: str, detail: str | None = None) -> CompiledChatRequest:
    """Return a turn after one answered question."""
    branch = Branch("Be terse.", [Instruction.create("Hello?"), AssistantResponse.create("Hi.")])
    instruction = Instruction.create("And now?", images=images, image_detail=detail)  # type: ignore[arg-type]  # as given
    return compile_chat_request(branch, TurnRequest(instruction))


def said(messages: Sequence[ModelMessage]) -> list[Said]:
    """Return who says what in a list of messages."""
    out: list[Said] = []
    for message in messages:
        for part in message.parts:
            assert isinstance(part, UserPromptPart | TextPart)
            out.append(("user" if isinstance(message, ModelRequest) else "assistant", part.content))
    return out


class Reader:
    """A model that keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Said] = []
        self.model = FunctionModel(self._answer)

    def _answer(self, messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        self.sent = said(messages)
        return ModelResponse(parts=[TextPart("Done.")])


def test_an_agent_sends_a_turn_as_its_history() -> None:
    """Without a prompt the current instruction is the last message."""
    reader = Reader()

    result = asyncio.run(Agent(reader.model).run(message_history=to_model_messages(compiled())))

    assert result.output == "Done."
    assert reader.sent == [
        ("user", "Guidance: Be terse.\nInstruction: Hello?"),
        ("assistant", "Hi."),
        ("user", "Instruction: And now?"),
    ]


def test_a_history_processor_edits_a_turn_like_any_history() -> None:
    """It drops whole groups, but for the one that the policy is folded into."""
    reader = Reader()
    agent = Agent(reader.model, capabilities=[adapter(lambda ctx: ctx.keep_recent_groups(0))])
    branch = Branch("Be terse.", [Instruction.create("Hello?"), AssistantResponse.create("Hi.")])
    branch.append(Instruction.create("More?"), AssistantResponse.create("Yes."))
    turn = compile_chat_request(branch, TurnRequest(Instruction.create("And now?")))

    asyncio.run(agent.run(message_history=to_model_messages(turn)))

    assert reader.sent == [
        ("user", "Guidance: Be terse.\nInstruction: Hello?"),
        ("assistant", "Hi."),
        ("user", "Instruction: And now?"),
    ]


def test_an_edit_that_would_lose_the_policy_is_refused() -> None:
    """The group that holds it says why it is protected."""
    reasons: list[frozenset[str]] = []

    def drop(ctx: Context) -> list[ModelMessage]:
        reasons.append(frozenset(ctx.groups[0].protected_reasons))
        return list(ctx.messages)[2:]

    agent = Agent(Reader().model, capabilities=[adapter(drop)])

    with pytest.raises(HistoryProcessingValidationError, match="protected by guidance"):
        asyncio.run(agent.run(message_history=to_model_messages(compiled())))
    assert reasons == [{"guidance"}]


def test_messages_of_the_user_in_a_row_are_one_request() -> None:
    """An empty answer is not sent; the host would merge the requests around it, and lose what protects the policy."""
    reader = Reader()
    agent = Agent(reader.model, capabilities=[adapter(lambda ctx: ctx.keep_recent_groups(0))])
    branch = Branch("Be terse.", [Instruction.create("Hello?"), AssistantResponse.create("")])
    branch.append(Instruction.create("Hm?"), AssistantResponse.create("Hi."))
    branch.append(Instruction.create("More?"), AssistantResponse.create("Yes."))
    turn = compile_chat_request(branch, TurnRequest(Instruction.create("And now?")))

    messages = to_model_messages(turn)
    asyncio.run(agent.run(message_history=messages))

    assert [len(message.parts) for message in messages] == [2, 1, 1, 1, 1]
    assert reader.sent == [
        ("user", "Guidance: Be terse.\nInstruction: Hello?"),
        ("user", "Instruction: Hm?"),
        ("assistant", "Hi."),
        ("user", "Instruction: And now?"),
    ]


def test_a_turn_without_policy_is_protected_by_nothing() -> None:
    """Without system, blocks and guidance every group may go."""
    reader = Reader()
    agent = Agent(reader.model, capabilities=[adapter(lambda ctx: ctx.keep_recent_groups(0))])
    branch = Branch(records=[Instruction.create("Hello?"), AssistantResponse.create("Hi.")])
    turn = compile_chat_request(branch, TurnRequest(Instruction.create("And now?")))

    asyncio.run(agent.run(message_history=to_model_messages(turn)))

    assert reader.sent == [("user", "Instruction: And now?")]


def test_an_image_keeps_its_place_and_detail() -> None:
    """Text first, then an URL as an URL and data as data."""
    turn = compiled("https://example.com/a.png", "data:image/jpg;base64,iVBORw0KGgo=", detail="low")

    (_, content) = said(to_model_messages(turn))[-1]

    assert content == [
        "Instruction: And now?",
        ImageUrl("https://example.com/a.png", vendor_metadata={"detail": "low"}),
        BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/jpeg", vendor_metadata={"detail": "low"}),
    ]


def test_an_unset_detail_stays_unset() -> None:
    """Nothing is made up for it."""
    instruction = Instruction.create("And now?", images="https://example.com/a.png")
    instruction.content.image_detail = None

    messages = to_model_messages(compile_chat_request(Branch(), TurnRequest(instruction)))

    (_, content) = said(messages)[-1]
    assert content == ["Instruction: And now?", ImageUrl("https://example.com/a.png")]


def test_a_change_of_the_messages_does_not_reach_the_turn() -> None:
    """They share nothing."""
    turn = compiled("https://example.com/a.png")

    content = said(to_model_messages(turn))[-1][1]
    assert isinstance(content, list)
    content.clear()

    assert len(turn.messages[-1].content) == 2
