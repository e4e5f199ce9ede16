"""The histories that a provider refused: caught before transport where our rules can see it, else reproduced.

The words are those of the recorded 400. Two of the three are no edits but the work of an older host, which today's
model classes send in another form.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart

from agents import Context, Script, adapter
from bodies import APIS
from kedi_compile import HistoryProcessingValidationError
from recorded import FOLDER, WITHOUT, exchanges, histories
from replayed import Stage, stage_of

pytestmark = pytest.mark.skipif(FOLDER is None, reason=WITHOUT)


class Refused:
    """A recorded refusal: the history, and the provider's words."""

    def __init__(self, cassette: str) -> None:
        self.cassette = cassette

    @cached_property
    def stage(self) -> Stage:
        """The refused history as a request of today's host."""
        (found,) = (one for one in histories() if one.name == f"{self.cassette}.rejected")
        return replace(stage_of(found), settings={})

    @cached_property
    def words(self) -> str:
        """The message of the recorded 400."""
        (exchange,) = (one for one in exchanges(self.cassette) if one.status == 400)
        answer = json.loads(exchange.answer)
        return str(answer.get("message") or answer["error"]["message"])


MODIFIED = Refused("openai_responses_modified_history_400")
NOVA = Refused("bedrock_nova_toolresult_400")
INTERLEAVED = Refused("deepseek_responses_interleaved_400")


def test_an_edited_answer_behind_its_reasoning_is_refused_before_transport() -> None:
    """The edit that the provider answered with 400 is named by our rules, and nothing is sent."""
    question, response, prompt = MODIFIED.stage.history
    answer = _recorded_answer(response)
    script = Script()
    agent = Agent(script.model, capabilities=[adapter(_with_another_text)])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        asyncio.run(agent.run(message_history=[question, answer, prompt]))

    assert [violation.rule for violation in caught.value.violations] == ["altered_entry"]
    assert caught.value.violations[0].entries == (1,)
    assert script.requests == []


def test_the_same_edit_done_by_hand_is_refused_in_the_provider_s_words() -> None:
    """Reasoning whose answer was replaced goes out without its following item."""
    (body,) = MODIFIED.stage.sent()

    assert [refusal.message for refusal in MODIFIED.stage.refusals(body)] == [MODIFIED.words]


def test_a_stored_document_in_a_result_is_refused_by_nova() -> None:
    """As a model class without Nova's profile maps it, the history gets the recorded refusal."""
    body = APIS["bedrock"].map(NOVA.stage.history)

    refusals = APIS["bedrock"].judge(body, NOVA.stage.model_name)

    assert [refusal.message for refusal in refusals] == [NOVA.words]


def test_interleaved_calls_are_refused_by_deepseek() -> None:
    """As the model class for OpenAI maps it, the history gets DeepSeek's recorded refusal."""
    body = APIS["openai_responses"].map(INTERLEAVED.stage.history)

    refusals = APIS["deepseek_responses"].judge(body, is_deepseek=True)

    assert [refusal.message for refusal in refusals] == [INTERLEAVED.words]


@pytest.mark.parametrize("refused", [NOVA, INTERLEAVED], ids=["nova", "interleaved"])
def test_the_host_now_sends_it_in_a_form_that_is_accepted(refused: Refused) -> None:
    """A refusal that no edit caused is the host's to prevent, and the host of today does."""
    (body,) = refused.stage.sent()

    assert refused.stage.refusals(body) == ()


def _recorded_answer(edited: ModelMessage) -> ModelResponse:
    """The response as it came: the recorded text and its id in place of the edited text."""
    assert isinstance(edited, ModelResponse)
    item = json.loads(exchanges(MODIFIED.cassette)[0].answer)["output"][1]
    text = TextPart(item["content"][0]["text"], id=item["id"], provider_name="openai")
    return replace(edited, parts=[text if isinstance(part, TextPart) else part for part in edited.parts])


def _with_another_text(ctx: Context) -> Sequence[ModelMessage]:
    """Do what the recorded program did: put another text in the place of the answer's."""
    answer = ctx.messages[1]
    assert isinstance(answer, ModelResponse)
    other = TextPart("The meaning of life is 42")
    answer.parts = [other if isinstance(part, TextPart) else part for part in answer.parts]
    return ctx.messages
