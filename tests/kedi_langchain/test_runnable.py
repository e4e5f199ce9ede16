"""Compositions: models are wrapped where they stand, attempts share an edit, and what hides a model is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    ConfigurableField,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langgraph.graph import MessagesState, StateGraph

from chats import Chat, Context, Keeping, StreamingChat, Transport, adapter, asked, keep
from kedi_compile import HistoryConfigurationError, HistoryProcessingError, HistoryProcessingValidationError

AnyRunnable = Runnable[Any, Any]
EDITED = ["< question 3", "> answer 3", "< now"]
OVERLOADED = RuntimeError("overloaded")
FAST: dict[str, Any] = {"wait_exponential_jitter": False}
THOUGHT = AIMessage([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "yes"}])
PROMPT = ChatPromptTemplate.from_messages([MessagesPlaceholder("history")])


def chat(transport: Transport | None = None, **fields: Any) -> Chat:
    """Return a model that cannot stream."""
    return Chat(transport=transport or Transport(), **fields)


def _graph(model: Chat) -> AnyRunnable:
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.set_entry_point("model")
    return graph.compile()


def _configurable() -> Any:
    return init_chat_model("gpt-5", model_provider="openai", configurable_fields="any", api_key="none")


COMPOSED: dict[str, Callable[[Chat], AnyRunnable]] = {
    "binding": lambda model: model.bind(stop=["x"]),
    "tools": lambda model: model.bind_tools([]),
    "config": lambda model: model.with_config(tags=["mine"]),
    "binding of a binding": lambda model: model.bind(stop=["x"]).with_config(tags=["mine"]),
    "sequence": lambda model: model | StrOutputParser(),
    "sequence in the middle": lambda model: RunnableLambda(list) | model | StrOutputParser(),
    "retry": lambda model: model.with_retry(),
    "retry of a sequence": lambda model: (model | StrOutputParser()).with_retry(),
    "fallbacks": lambda model: model.with_fallbacks([chat()]),
    "parallel": lambda model: RunnableParallel(answer=model, given=RunnablePassthrough()),
    "sequence in a parallel": lambda model: RunnableParallel(answer=model.bind(stop=["x"]) | StrOutputParser()),
    "branch": lambda model: RunnableBranch((bool, model), chat()),
    "branch by default": lambda model: RunnableBranch((lambda _: False, chat()), model | StrOutputParser()),
    "named": lambda model: (model | StrOutputParser()).with_config(run_name="mine"),
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("compose", COMPOSED.values(), ids=COMPOSED)
def test_models_are_wrapped_where_they_stand(compose: Callable[[Chat], AnyRunnable], is_async: bool) -> None:
    """A composition that shows its model edits once, and answers as before; the given one stays as it was."""
    transport, processor = Transport(["done"]), Keeping(1)
    given = compose(chat(transport))
    wrapped = adapter(processor).wrap(given)

    answer = asyncio.run(wrapped.ainvoke(asked())) if is_async else wrapped.invoke(asked())

    assert (transport.sent, processor.count) == ([EDITED], 1)
    assert isinstance(wrapped, type(given))
    alone = given.invoke(asked())
    assert type(answer) is type(alone)
    assert len(transport.sent[1]) == 7


def test_a_prompt_in_front_of_the_model_is_part_of_the_request() -> None:
    """What the prompt makes of its input is what the processor is shown."""
    transport = Transport()
    chain = adapter(keep(1)).wrap(PROMPT | chat(transport) | StrOutputParser())

    assert chain.invoke({"history": asked()}) == "done"
    assert list(chain.stream({"history": asked()})) == ["done"]
    assert transport.sent == [EDITED, EDITED]


def test_a_model_that_assigns_a_key_is_wrapped() -> None:
    """`RunnablePassthrough.assign` answers beside its input."""
    transport = Transport(["done"])
    assigned = adapter(keep(1)).wrap(RunnablePassthrough.assign(answer=PROMPT | chat(transport) | StrOutputParser()))

    assert assigned.invoke({"history": asked()})["answer"] == "done"
    assert transport.sent == [EDITED]


def test_a_model_mapped_over_inputs_is_wrapped() -> None:
    """`.map()` makes a request of each input."""
    transport, processor = Transport(), Keeping(1)

    adapter(processor).wrap(chat(transport).map()).invoke([asked(), asked()])

    assert (transport.sent, processor.count) == ([EDITED, EDITED], 2)


def test_a_sequence_keeps_its_name() -> None:
    """Tracing finds the rebuilt sequence by the same name."""
    chain = chat() | StrOutputParser()
    chain.name = "mine"

    assert adapter(keep(1)).wrap(chain).get_name() == "mine"


def test_a_binding_keeps_its_arguments_and_config() -> None:
    """Bound arguments, tags and tools reach the request."""
    transport = Transport()

    adapter(keep(1)).wrap(chat(transport).bind(seed=1).with_config(tags=["mine"])).invoke(asked())

    assert transport.kwargs == [{"seed": 1}]


OPAQUE: dict[str, Callable[[], AnyRunnable]] = {
    "_ConfigurableModel": _configurable,
    "_ConfigurableModel, bound": lambda: _configurable().bind_tools([]),
    "CompiledStateGraph": lambda: _graph(chat()),
    "RunnableConfigurableFields": lambda: chat().configurable_fields(model_name=ConfigurableField(id="name")),
    "RunnableConfigurableAlternatives": (
        lambda: chat().configurable_alternatives(ConfigurableField(id="name"), other=chat())
    ),
    "RouterRunnable": lambda: RouterRunnable({"one": chat()}),
}
each_opaque = pytest.mark.parametrize("make", OPAQUE.values(), ids=OPAQUE)


@pytest.mark.parametrize(
    "make",
    [*OPAQUE.values(), lambda: RunnableLambda(lambda messages: messages), StrOutputParser],
    ids=[*OPAQUE, "RunnableLambda", "parser"],
)
def test_what_cannot_be_looked_into_is_refused(make: Callable[[], AnyRunnable]) -> None:
    """The error says what to wrap instead; nothing is passed through unedited."""
    with pytest.raises(HistoryConfigurationError, match="wrap the chat model itself before composing it"):
        adapter(keep(1)).wrap(make())


@each_opaque
@pytest.mark.parametrize(
    "beside",
    [
        lambda hidden: hidden | chat(),
        lambda hidden: RunnableParallel(shown=chat(), hidden=hidden),
        lambda hidden: chat().with_fallbacks([hidden]),
    ],
    ids=["sequence", "parallel", "fallback"],
)
def test_a_step_that_hides_a_model_is_refused_beside_one_that_shows_it(
    make: Callable[[], AnyRunnable], beside: Callable[[AnyRunnable], AnyRunnable]
) -> None:
    """One visible model does not let the hidden one of another step through."""
    with pytest.raises(HistoryConfigurationError, match="wrap the chat model itself before composing it"):
        adapter(keep(1)).wrap(beside(make()))


def test_a_lambda_that_calls_a_model_is_refused_beside_one_that_shows_it() -> None:
    """The host knows which runnables a function closes over."""
    hidden = chat()
    step: AnyRunnable = RunnableLambda(lambda messages: hidden.invoke(messages))  # noqa: PLW0108  # a function around a model

    with pytest.raises(HistoryConfigurationError, match="wrap the chat model itself before composing it"):
        adapter(keep(1)).wrap(RunnableParallel(shown=chat(), hidden=step))


@pytest.mark.parametrize(
    "made",
    [StrOutputParser() | StrOutputParser(), RunnableParallel(one=StrOutputParser())],
    ids=["sequence", "parallel"],
)
def test_a_composition_without_a_model_is_refused(made: AnyRunnable) -> None:
    """There is nothing to edit in it."""
    with pytest.raises(HistoryConfigurationError, match="no chat model in sight"):
        adapter(keep(1)).wrap(made)


@pytest.mark.parametrize("compose", [lambda model: model, *COMPOSED.values()], ids=["model", *COMPOSED])
@pytest.mark.parametrize("is_other", [False, True], ids=["same adapter", "other adapter"])
def test_wrapping_twice_is_refused(compose: Callable[[Any], AnyRunnable], is_other: bool) -> None:
    """Two edits of one request would follow each other, wherever the wrapped model stands."""
    first = adapter(keep(1))
    second = adapter(keep(1)) if is_other else first

    with pytest.raises(HistoryConfigurationError, match="is wrapped already"):
        second.wrap(compose(first.wrap(chat())))


ATTEMPTS: dict[str, Callable[[AnyRunnable], Any]] = {
    "invoke": lambda subject: subject.invoke(asked()),
    "ainvoke": lambda subject: asyncio.run(subject.ainvoke(asked())),
    "batch": lambda subject: subject.batch([asked()]),
    "abatch": lambda subject: asyncio.run(subject.abatch([asked()])),
}
MORE: dict[str, Callable[[AnyRunnable], Any]] = {
    "batch_as_completed": lambda subject: list(subject.batch_as_completed([asked()])),
    "stream": lambda subject: list(subject.stream(asked())),
    "astream": lambda subject: asyncio.run(_drained(subject.astream(asked()))),
    "astream_events v2": lambda subject: asyncio.run(_drained(subject.astream_events(asked(), version="v2"))),
    "transform": lambda subject: list(subject.transform(iter([asked()]))),
}


async def _drained(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


@pytest.mark.parametrize("through", ATTEMPTS.values(), ids=ATTEMPTS)
@pytest.mark.parametrize("composed", ["before", "after", "after bind_tools"])
def test_retries_share_one_edit(through: Callable[[AnyRunnable], Any], composed: str) -> None:
    """Each attempt sends the edited list; the processor runs for the first one only. The host retries no other way."""
    transport, processor = Transport([OVERLOADED, OVERLOADED, "done"]), Keeping(1)
    model, wrap = chat(transport), adapter(processor).wrap
    subject: AnyRunnable = wrap(model.with_retry(**FAST))
    if composed == "after":
        subject = wrap(model).with_retry(**FAST)
    elif composed == "after bind_tools":
        subject = wrap(model).bind_tools([]).with_retry(**FAST)

    through(subject)

    assert transport.sent == [EDITED] * 3
    assert processor.count == 1


@pytest.mark.parametrize("through", [*ATTEMPTS.values(), *MORE.values()], ids=[*ATTEMPTS, *MORE])
@pytest.mark.parametrize("composed", ["before", "after", "after, both wrapped", "before, sequences"])
def test_fallbacks_share_one_edit(through: Callable[[AnyRunnable], Any], composed: str) -> None:
    """The second model gets what the first one got, also in streams that break before their first chunk."""
    processor = Keeping(1)
    broken, working = Transport([OVERLOADED]), Transport(["done"])
    first, second = StreamingChat(transport=broken), StreamingChat(transport=working)
    wrap = adapter(processor).wrap
    subjects: dict[str, Callable[[], AnyRunnable]] = {
        "before": lambda: wrap(first.with_fallbacks([second])),
        "after": lambda: wrap(first).with_fallbacks([second]),
        "after, both wrapped": lambda: wrap(first).with_fallbacks([wrap(second)]),
        "before, sequences": (lambda: wrap((first | StrOutputParser()).with_fallbacks([second | StrOutputParser()]))),
    }

    through(subjects[composed]())

    assert (broken.sent, working.sent) == ([EDITED], [EDITED])
    assert processor.count == 1


def test_fallbacks_composed_after_bind_tools_share_one_edit() -> None:
    """Binding tools first and falling back then is one logical request as well."""
    processor, transport = Keeping(1), Transport()
    wrap = adapter(processor).wrap
    first, second = wrap(chat(Transport([OVERLOADED]))), wrap(chat(transport))

    first.bind_tools([]).with_fallbacks([second.bind_tools([])]).invoke(asked())

    assert transport.sent == [EDITED]
    assert processor.count == 1


@pytest.mark.parametrize("through", ["batch", "abatch"])
def test_equal_requests_of_a_batch_are_edited_each(through: str) -> None:
    """Two requests that say the same are two: identity is never guessed from text."""
    processor, transport = Keeping(1), Transport()
    model = adapter(processor).wrap(chat(transport).with_retry(**FAST))

    if through == "batch":
        model.batch([asked()] * 3)
    else:
        asyncio.run(model.abatch([asked()] * 3))

    assert transport.sent == [EDITED] * 3
    assert processor.count == 3


def test_equal_requests_that_fail_are_edited_each_and_tried_again_with_their_edit() -> None:
    """Three failed attempts leave three edits, and each further attempt takes one."""
    processor, transport = Keeping(1), Transport([OVERLOADED, OVERLOADED, OVERLOADED, "done"])
    model = adapter(processor).wrap(chat(transport).with_retry(**FAST))

    model.batch([asked()] * 3)

    assert transport.sent == [EDITED] * 6
    assert processor.count == 3


def test_a_request_after_one_that_gave_up_is_edited_anew() -> None:
    """What the attempts of a failed request left is not taken over by a later request."""
    processor, transport = Keeping(1), Transport([OVERLOADED, OVERLOADED, "done"])
    model = adapter(processor).wrap(chat(transport).with_retry(stop_after_attempt=2, **FAST))

    with pytest.raises(RuntimeError, match="overloaded"):
        model.invoke(asked())
    model.invoke(asked())

    assert transport.sent == [EDITED] * 3
    assert processor.count == 2


def test_an_edit_is_taken_over_by_one_attempt_only() -> None:
    """Below one caller, an equal request behind the answer to the second attempt is a new one."""
    processor = Keeping(1)
    model = adapter(processor).wrap(chat(Transport([OVERLOADED, "done"])))

    def ask(messages: list[BaseMessage]) -> None:
        with pytest.raises(RuntimeError, match="overloaded"):
            model.invoke(messages)
        model.invoke(messages)
        model.invoke(messages)

    RunnableLambda(ask).invoke(asked())

    assert processor.count == 2


def test_a_later_call_is_edited_anew() -> None:
    """An edit is shared by the attempts of one request, not kept for the next."""
    processor = Keeping(1)
    model = adapter(processor).wrap(chat().with_retry(**FAST))

    model.invoke(asked())
    model.invoke(asked())

    assert processor.count == 2


@pytest.mark.parametrize(
    ("handled", "error"),
    [((Exception,), RuntimeError), ((RuntimeError,), HistoryProcessingValidationError)],
    ids=["any error falls back", "only the transport's"],
)
def test_a_fallback_that_binds_reasoning_is_refused(
    handled: tuple[type[Exception], ...], error: type[Exception]
) -> None:
    """An edit proved for one model is checked against the next; the host raises the first error of those it handles."""
    broken, binding = Transport([OVERLOADED]), Transport()
    first, second = chat(broken, model_name="plain"), chat(binding, model_name="claude-opus-5-5")
    composed = first.with_fallbacks([second], exceptions_to_handle=handled)

    with pytest.raises(error):
        adapter(_without_the_first).wrap(composed).invoke([*asked(2), THOUGHT, *asked(0)])

    assert broken.sent == [["< question 2", "> answer 2", "< now", "> yes", "< now"]]
    assert binding.sent == []


def test_a_fallback_that_does_not_bind_gets_the_edit() -> None:
    """The same edit is fine for a model that judges each thought by itself."""
    working = Transport()
    model = chat(Transport([OVERLOADED])).with_fallbacks([chat(working)])

    adapter(_without_the_first).wrap(model).invoke([*asked(2), THOUGHT, *asked(0)])

    assert working.sent == [["< question 2", "> answer 2", "< now", "> yes", "< now"]]


def test_a_failing_edit_in_a_fallback_reaches_the_caller() -> None:
    """Neither model is called when the edit fails."""
    broken, working = Transport(), Transport()

    with pytest.raises(HistoryProcessingError, match="no"):
        adapter(_failing).wrap(chat(broken).with_fallbacks([chat(working)])).invoke(asked())

    assert (broken.sent, working.sent) == ([], [])


def test_two_models_in_a_parallel_are_two_requests() -> None:
    """Each branch edits for itself."""
    one, two, processor = Transport(), Transport(), Keeping(1)

    adapter(processor).wrap(RunnableParallel(one=chat(one), two=chat(two))).invoke(asked())

    assert (one.sent, two.sent, processor.count) == ([EDITED], [EDITED], 2)


def _failing(ctx: Context) -> list[BaseMessage]:
    raise ValueError("no")


def _without_the_first(ctx: Context) -> list[BaseMessage]:
    return list(ctx.messages)[2:]
