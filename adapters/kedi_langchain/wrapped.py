"""Chat models that edit the history of every request, made from the caller's own model.

A wrapped model is a copy of the caller's model whose class adds the edit in front of the six methods every way in goes
through: it keeps its type, its tools and structured output, its profile, and its tracing sees the edited request. The
edit happens once for each logical request; later attempts of a retry or fallback take it over (`attempts.py`).
Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig

from kedi_compile import HistoryConfigurationError
from kedi_langchain.attempts import FailedAttempts, caller_of, invoking
from kedi_langchain.editing import EditedRequest


class Editor(Protocol):
    """What a wrapped model asks its adapter for."""

    failed_attempts: FailedAttempts

    def begin(self, messages: Sequence[BaseMessage], model: BaseChatModel, arguments: dict[str, Any]) -> EditedRequest:
        """Begin a request of a wrapped model."""
        ...

    def note(self, request: EditedRequest) -> EditedRequest:
        """Take note of an edited request."""
        ...

    def compose(self, runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
        """Wrap what a wrapped model is composed with, and leave what is wrapped as it is."""
        ...


class EditingModel(BaseChatModel):
    """The edit in front of a chat model's own methods; only ever a base of a class made by `editing_class`."""

    kedi_editor: ClassVar[Editor]

    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> AIMessage:
        """Come through `generate`."""
        with invoking(config):
            return super().invoke(input, config, stop=stop, **kwargs)

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> AIMessage:
        """Come through `agenerate`."""
        with invoking(config):
            return await super().ainvoke(input, config, stop=stop, **kwargs)

    def generate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        caller = caller_of(callbacks=callbacks)
        edited = [self._edited(one, kwargs, caller) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        with self._attempting(edited, caller):
            result = super(EditingModel, target).generate(
                [one.messages for one in edited], stop=stop, callbacks=callbacks, **arguments
            )
        return _noted(edited, result)

    async def agenerate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        caller = caller_of(callbacks=callbacks)
        edited = [await self._aedited(one, kwargs, caller) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        with self._attempting(edited, caller):
            result = await super(EditingModel, target).agenerate(
                [one.messages for one in edited], stop=stop, callbacks=callbacks, **arguments
            )
        return _noted(edited, result)

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        """Edit, then stream; a model that cannot stream comes through `generate` instead."""
        if not self._should_stream(async_api=False, run_manager=None, **{**kwargs, "stream": True}):
            yield from super().stream(input, config, stop=stop, **kwargs)
            return
        caller = caller_of(config)
        request = self._edited(self._read(input), kwargs, caller)
        target, arguments = _common([request], self, kwargs)
        with self._attempting([request], caller):
            yield from super(EditingModel, target).stream(request.messages, config, stop=stop, **arguments)
        request.answered(None)

    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """Edit, then stream; a model that cannot stream comes through `agenerate` instead."""
        if not self._should_stream(async_api=True, run_manager=None, **{**kwargs, "stream": True}):
            async for chunk in super().astream(input, config, stop=stop, **kwargs):
                yield chunk
            return
        caller = caller_of(config)
        request = await self._aedited(self._read(input), kwargs, caller)
        target, arguments = _common([request], self, kwargs)
        with self._attempting([request], caller):
            async for chunk in super(EditingModel, target).astream(request.messages, config, stop=stop, **arguments):
                yield chunk
        request.answered(None)

    def _chat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        request = self._edited(self._read(input), kwargs, caller_of(config))
        target, arguments = _common([request], self, kwargs)
        return super(EditingModel, target)._chat_model_stream_v3(request.messages, config, stop=stop, **arguments)

    async def _achat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        request = await self._aedited(self._read(input), kwargs, caller_of(config))
        target, arguments = _common([request], self, kwargs)
        return await super(EditingModel, target)._achat_model_stream_v3(
            request.messages, config, stop=stop, **arguments
        )

    def with_fallbacks(self, fallbacks: Sequence[Runnable[Any, Any]], **kwargs: Any) -> Any:
        """Fall back to models that get the same edited request; they are wrapped too."""
        return self.kedi_editor.compose(super().with_fallbacks(fallbacks, **kwargs))

    def configurable_alternatives(
        self, which: ConfigurableField, *, default_key: str = "default", prefix_keys: bool = False, **kwargs: Any
    ) -> Any:
        """Offer alternatives that edit too; they are wrapped."""
        return super().configurable_alternatives(
            which,
            default_key=default_key,
            prefix_keys=prefix_keys,
            **{name: self._alternative(one) for name, one in kwargs.items()},
        )

    def _alternative(self, given: Any) -> Any:
        compose = self.kedi_editor.compose
        return compose(given) if isinstance(given, Runnable) else lambda: compose(given())

    def _read(self, input: LanguageModelInput) -> list[BaseMessage]:
        return self._convert_input(input).to_messages()

    def _edited(self, messages: Sequence[BaseMessage], kwargs: dict[str, Any], caller: Hashable) -> EditedRequest:
        _refuse_second_edit(self)
        request = self.kedi_editor.begin(messages, self, kwargs)
        known = self.kedi_editor.failed_attempts.take(caller, messages)
        return self.kedi_editor.note(request.edit(known))

    async def _aedited(
        self, messages: Sequence[BaseMessage], kwargs: dict[str, Any], caller: Hashable
    ) -> EditedRequest:
        _refuse_second_edit(self)
        request = self.kedi_editor.begin(messages, self, kwargs)
        known = self.kedi_editor.failed_attempts.take(caller, messages)
        return self.kedi_editor.note(await request.aedit(known))

    @contextmanager
    def _attempting(self, edited: Sequence[EditedRequest], caller: Hashable) -> Generator[None]:
        """Leave the edits of a failing attempt for the next one."""
        try:
            yield
        except Exception:
            for one in edited:
                self.kedi_editor.failed_attempts.leave(caller, one.attempt)
            raise


_is_edited_outside: ContextVar[bool] = ContextVar("kedi_is_edited_outside", default=False)


@contextmanager
def edited_outside() -> Generator[None]:
    """Refuse wrapped models while a request is under way that was edited already."""
    token = _is_edited_outside.set(True)
    try:
        yield
    finally:
        _is_edited_outside.reset(token)


def _refuse_second_edit(model: BaseChatModel) -> None:
    if _is_edited_outside.get():
        msg = (
            f"This {type(model).__name__} is wrapped already, and the middleware edits its requests too; give the "
            "agent and its other middleware models that are not wrapped"
        )
        raise HistoryConfigurationError(msg)


def _common(
    edited: Sequence[EditedRequest], model: EditingModel, kwargs: dict[str, Any]
) -> tuple[EditingModel, dict[str, Any]]:
    """The one model and arguments of a batch: without old state as soon as one of its requests was rewritten."""
    for one in edited:
        one.session.sent()
    changed = next((one for one in edited if one.is_rewritten), None)
    return (cast("EditingModel", changed.model), changed.arguments) if changed else (model, kwargs)


def _noted(edited: Sequence[EditedRequest], result: LLMResult) -> LLMResult:
    runs = result.run or []
    for index, (request, generations) in enumerate(zip(edited, result.generations, strict=True)):
        run_id = str(runs[index].run_id) if index < len(runs) else None
        if generations and isinstance(first := generations[0], ChatGeneration):
            request.answered(first.message, run_id)
    return result


def editing_class(cls: type[BaseChatModel], editor: Editor) -> type[EditingModel]:
    """Make the class of a wrapped model: the caller's own class with the edit in front, by its own name."""
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__annotations__": {"kedi_editor": ClassVar[Editor]},
        "kedi_editor": editor,
    }
    return cast("type[EditingModel]", type(cls.__name__, (EditingModel, cls), namespace))
