"""Chat models that edit the history of every request, made from the caller's own model.

A wrapped model is a copy of the caller's model whose class adds the edit in front of the six methods every way in goes
through: it keeps its type, its tools and structured output, its profile, and its tracing sees the edited request. The
edit happens once for each logical request; retries and fallbacks that were composed here reuse it. Measured on
langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, ClassVar, Protocol, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig

from kedi_langchain.editing import EditedRequest


class Editor(Protocol):
    """What a wrapped model asks its adapter for."""

    def edit_request(
        self, messages: Sequence[BaseMessage], model: BaseChatModel, arguments: dict[str, Any]
    ) -> EditedRequest:
        """Edit one request on a synchronous path."""
        ...

    async def aedit_request(
        self, messages: Sequence[BaseMessage], model: BaseChatModel, arguments: dict[str, Any]
    ) -> EditedRequest:
        """Edit one request on an asynchronous path."""
        ...

    def compose(self, runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
        """Wrap what a wrapped model is composed with, and leave what is wrapped as it is."""
        ...


class EditingModel(BaseChatModel):
    """The edit in front of a chat model's own methods; only ever a base of a class made by `editing_class`."""

    kedi_editor: ClassVar[Editor]

    def generate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        edited = [self.kedi_editor.edit_request(one, self, kwargs) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        result = super(EditingModel, target).generate(
            [one.messages for one in edited], stop=stop, callbacks=callbacks, **arguments
        )
        return _noted(edited, result)

    async def agenerate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        edited = [await self.kedi_editor.aedit_request(one, self, kwargs) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        result = await super(EditingModel, target).agenerate(
            [one.messages for one in edited], stop=stop, callbacks=callbacks, **arguments
        )
        return _noted(edited, result)

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        """Edit, then stream; a model that cannot stream comes through `generate` instead."""
        if not self._should_stream(async_api=False, **{**kwargs, "stream": True}):
            yield from super().stream(input, config, stop=stop, **kwargs)
            return
        request = self.kedi_editor.edit_request(self._messages(input), self, kwargs)
        target = cast("EditingModel", request.model)
        request.session.sent()
        yield from super(EditingModel, target).stream(request.messages, config, stop=stop, **request.arguments)

    async def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """Edit, then stream; a model that cannot stream comes through `agenerate` instead."""
        if not self._should_stream(async_api=True, **{**kwargs, "stream": True}):
            async for chunk in super().astream(input, config, stop=stop, **kwargs):
                yield chunk
            return
        request = await self.kedi_editor.aedit_request(self._messages(input), self, kwargs)
        target = cast("EditingModel", request.model)
        request.session.sent()
        async for chunk in super(EditingModel, target).astream(
            request.messages, config, stop=stop, **request.arguments
        ):
            yield chunk

    def _chat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        request = self.kedi_editor.edit_request(self._messages(input), self, kwargs)
        target = cast("EditingModel", request.model)
        request.session.sent()
        return super(EditingModel, target)._chat_model_stream_v3(
            request.messages, config, stop=stop, **request.arguments
        )

    async def _achat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        request = await self.kedi_editor.aedit_request(self._messages(input), self, kwargs)
        target = cast("EditingModel", request.model)
        request.session.sent()
        return await super(EditingModel, target)._achat_model_stream_v3(
            request.messages, config, stop=stop, **request.arguments
        )

    def with_retry(self, **kwargs: Any) -> Any:
        """Retry with the edit of the first attempt."""
        return self.kedi_editor.compose(super().with_retry(**kwargs))

    def with_fallbacks(self, fallbacks: Sequence[Runnable[Any, Any]], **kwargs: Any) -> Any:
        """Fall back to models that get the same edited request; they are wrapped too."""
        return self.kedi_editor.compose(super().with_fallbacks(fallbacks, **kwargs))

    def _messages(self, input: LanguageModelInput) -> list[BaseMessage]:
        return self._convert_input(input).to_messages()


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
