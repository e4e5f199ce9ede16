"""Every way into a wrapped chat model: one edit per request, at the transport, in tracing and in the cache."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.load.serializable import Serializable
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from chats import Chat, Context, EventChat, Keeping, StreamingChat, Transport, adapter, asked, keep, lines, untouched
from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError
from ways_in import NEEDS_STREAM, ONCE, TWICE, WAYS

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
]
KINDS = (Chat, StreamingChat, EventChat)
EDITED = ["< question 3", "> answer 3", "< now"]
EDITED_TOO = ["< question 3", "> answer 3", "< now too"]
WHOLE = ["< question 1", "> answer 1", "< question 2", "> answer 2", *EDITED]
LOOKED = AIMessage("", tool_calls=[{"name": "Look", "args": {"what": "sea"}, "id": "c1"}])
each_way = pytest.mark.parametrize("way", WAYS)


class Tracing(BaseCallbackHandler):
    """Notes the messages each model run starts with."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.started += map(lines, messages)


@pytest.mark.parametrize(
    ("kind", "way"),
    [(kind, way) for kind in KINDS for way in ONCE if kind is not Chat or way not in NEEDS_STREAM],
)
def test_every_way_in_edits_its_request_once(kind: type[Chat], way: str) -> None:
    """The processor runs once, the transport gets what it returned and nothing else, the caller's list stays."""
    processor, transport, given = Keeping(1), Transport([LOOKED]), asked(3)
    model = adapter(processor).wrap(kind(transport=transport))

    WAYS[way](model, given)

    assert processor.count == 1
    assert transport.sent == [EDITED]
    assert given == asked(3)


@pytest.mark.parametrize("kind", [Chat, StreamingChat])
@pytest.mark.parametrize("way", TWICE)
def test_every_way_in_for_batches_edits_each_request_once(kind: type[Chat], way: str) -> None:
    """Each request of a batch is edited for itself."""
    processor, transport = Keeping(1), Transport([LOOKED])
    model = adapter(processor).wrap(kind(transport=transport))

    WAYS[way](model, asked(3))

    assert processor.count == 2
    assert sorted(transport.sent) == [EDITED, EDITED_TOO]


def test_every_public_method_of_a_chat_model_is_known() -> None:
    """A way in that a later version of the host adds makes this test fail, so that it gets its own line."""
    inherited = dir(Serializable)
    methods = {name for name in dir(BaseChatModel) if name not in inherited and not name.startswith("_")}
    fields = BaseChatModel.model_fields.keys()

    assert {
        name for name in methods if callable(getattr(BaseChatModel, name, None))
    } - fields == _SENDING | _COMPOSING | _REST


_SENDING = {
    *("invoke", "ainvoke", "batch", "abatch", "batch_as_completed", "abatch_as_completed", "stream", "astream"),
    *("transform", "atransform", "stream_events", "astream_events", "astream_log"),
    *("generate", "agenerate", "generate_prompt", "agenerate_prompt"),
}
_COMPOSING = {
    *("assign", "as_tool", "bind", "bind_tools", "map", "pick", "pipe", "with_alisteners", "with_config"),
    *("with_fallbacks", "with_listeners", "with_retry", "with_structured_output", "with_types"),
    *("configurable_alternatives", "configurable_fields"),
}
_REST = {
    *("config_schema", "get_config_jsonschema", "get_graph", "get_input_jsonschema", "get_input_schema", "get_name"),
    *("get_output_jsonschema", "get_output_schema", "get_prompts", "get_num_tokens", "get_num_tokens_from_messages"),
    *("get_token_ids", "asdict", "set_verbose"),
}


@each_way
def test_tracing_sees_the_edited_request(way: str) -> None:
    """What a callback handler is told is what is sent."""
    tracing, transport = Tracing(), Transport([LOOKED])
    model = adapter(keep(1)).wrap(StreamingChat(transport=transport, callbacks=[tracing]))

    WAYS[way](model, asked(3))

    assert sorted(tracing.started) == sorted(transport.sent)
    assert tracing.started[0][0] == "< question 3"


@each_way
def test_a_failing_edit_sends_nothing(way: str) -> None:
    """A processor that raises reaches the caller as the typed error, and no request goes out."""
    transport = Transport([LOOKED])
    model = adapter(_failing).wrap(StreamingChat(transport=transport))

    with pytest.raises(HistoryProcessingError, match="`history_processor` raised ValueError: no"):
        WAYS[way](model, asked(3))

    assert transport.requests == []


@each_way
def test_a_refused_edit_sends_nothing(way: str) -> None:
    """An edit that breaks a rule is refused before the transport."""
    transport = Transport([LOOKED])
    model = adapter(lambda ctx: list(ctx.messages)[1:]).wrap(StreamingChat(transport=transport))

    with pytest.raises(HistoryProcessingValidationError, match="Group 0"):
        WAYS[way](model, asked(3))

    assert transport.requests == []


@each_way
def test_the_callers_messages_are_left_alone(way: str) -> None:
    """Neither the list nor a message in it changes when the processor scribbles on its copies."""
    given = asked(3)
    before, contents = list(given), copy.deepcopy(given)
    model = adapter(_scribbling).wrap(StreamingChat(transport=Transport([LOOKED])))

    with pytest.raises(HistoryProcessingValidationError):
        WAYS[way](model, given)

    assert [id(message) for message in given] == [id(message) for message in before]
    assert given == contents


@each_way
def test_a_processor_that_changes_nothing_sends_the_callers_own_messages(way: str) -> None:
    """A no-op request is the one the host alone sends."""
    plain, transport = Transport([LOOKED]), Transport([LOOKED])
    given = asked(3)

    WAYS[way](StreamingChat(transport=plain), given)
    WAYS[way](adapter(untouched).wrap(StreamingChat(transport=transport)), given)

    assert sorted(transport.sent) == sorted(plain.sent)
    assert transport.kwargs == plain.kwargs
    assert transport.through == plain.through


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch", "generate", "agenerate", "bind_tools"])
def test_the_cache_is_asked_for_the_edited_request(way: str) -> None:
    """Two histories that are edited to the same request share an answer; an unedited one does not get it."""
    transport, cache = Transport([LOOKED]), InMemoryCache()
    model = adapter(keep(1)).wrap(Chat(transport=transport, cache=cache))
    count = 1 if way in ONCE else 2

    WAYS[way](model, asked(3))
    WAYS[way](model, [HumanMessage("another first question"), AIMessage("and answer"), *asked(3)])

    assert len(transport.requests) == count
    WAYS[way](Chat(transport=transport, cache=cache), asked(3))
    assert len(transport.requests) == 2 * count
    assert transport.sent[count][0] == "< question 1"


def test_the_edit_keeps_the_callers_objects() -> None:
    """Kept messages are the caller's own objects at the transport, not copies."""
    given, transport = asked(3), Transport()

    adapter(keep(1)).wrap(Chat(transport=transport)).invoke(given)

    assert [id(message) for message in transport.requests[0]] == [id(message) for message in given[4:]]


@pytest.mark.parametrize("way", ["invoke", "stream"])
@pytest.mark.parametrize("given", ["now", [("user", "now")], [{"role": "user", "content": "now"}]], ids=type)
def test_other_forms_of_input_are_edited_too(way: str, given: Any) -> None:
    """A prompt that is no list of messages is turned into one as the host does it."""
    transport, shown = Transport(), Keeping(1)
    model = adapter(shown).wrap(StreamingChat(transport=transport))

    WAYS[way](model, given)

    assert shown.shown == [["< now"]]
    assert transport.sent == [["< now"]]


def test_call_and_bind_arguments_reach_the_transport() -> None:
    """Arguments pass through beside an edit."""
    transport = Transport()
    model = adapter(keep(1)).wrap(StreamingChat(transport=transport))

    model.bind(temperature=0.5).invoke(asked(3), seed=1)
    list(model.bind(temperature=0.5).stream(asked(3), seed=1))

    assert transport.kwargs == [{"temperature": 0.5, "seed": 1}] * 2


def test_a_streaming_model_is_streamed_and_another_is_not() -> None:
    """The edit does not change by which of its methods a model answers."""
    transport = Transport()
    wrap = adapter(keep(1)).wrap

    list(wrap(StreamingChat(transport=transport)).stream(asked(3)))
    list(wrap(StreamingChat(transport=transport, disable_streaming=True)).stream(asked(3)))
    list(wrap(Chat(transport=transport)).stream(asked(3)))

    assert transport.through == ["_stream", "_generate", "_generate"]
    assert transport.sent == [EDITED] * 3


def test_chunks_come_while_the_model_answers() -> None:
    """A stream is passed on piece by piece."""
    reached: list[str] = []
    model = adapter(keep(1)).wrap(StreamingChat(transport=Transport(["a b c"])))

    for chunk in model.stream(asked(3)):
        reached.append(str(chunk.text))
        if len(reached) == 2:
            break

    assert reached == ["a", " b"]


def _failing(ctx: Context) -> list[BaseMessage]:
    raise ValueError("no")


def _scribbling(ctx: Context) -> list[BaseMessage]:
    for message in ctx.messages:
        message.content = "scribbled"
        message.additional_kwargs["more"] = 1
    return list(ctx.messages)
