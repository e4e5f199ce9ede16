"""Chat models that edit the history of every request, made from the caller's own model.

A wrapped model is a copy of the caller's model whose class adds the edit in front of the six methods every way in goes
through: it keeps its type, its tools and structured output, its profile, and its tracing sees the edited request. The
edit happens once for each logical request; later attempts of a retry or fallback take it over (`attempts.py`).
Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Hashable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, ClassVar, Protocol, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig

from kedi_compile import HistoryConfigurationError
from kedi_compile.conversation.scope import Scope, current_scope, entered
from kedi_compile.conversation.turns import Turn
from kedi_langchain.attempts import FailedAttempts, caller_of, invoking
from kedi_langchain.conversation import in_order, one_by_one, refuse_several, refuse_v3
from kedi_langchain.editing import EditedRequest
from kedi_langchain.prompt import PromptHook


class Editor(Protocol):
    """What a wrapped model asks its adapter for."""

    failed_attempts: FailedAttempts

    hook: PromptHook

    def works_in(self, scope: Scope) -> bool:
        """Tell whether requests made in a scope are any of its business."""
        ...

    def take_turn(self, scope: Scope) -> Turn | None:
        """Take a ticket for a call; None where it is no turn of a conversation."""
        ...

    def begin(
        self,
        messages: Sequence[BaseMessage],
        model: BaseChatModel,
        arguments: dict[str, Any],
        scope: Scope,
        turn: Turn | None,
    ) -> EditedRequest:
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

    def batch(self, inputs: list[Any], config: Any = None, **kwargs: Any) -> list[AIMessage]:
        """Come through `invoke`; inside a conversation one after the other, in the order of the inputs."""
        return super().batch(inputs, one_by_one(config) if current_scope().enabled else config, **kwargs)

    def batch_as_completed(self, inputs: Sequence[Any], config: Any = None, **kwargs: Any) -> Any:
        """Come through `invoke`; inside a conversation in the order of the inputs, as `batch`."""
        return super().batch_as_completed(inputs, one_by_one(config) if current_scope().enabled else config, **kwargs)

    def abatch_as_completed(self, inputs: Sequence[Any], config: Any = None, **kwargs: Any) -> Any:
        """Come through `ainvoke`; inside a conversation in the order of the inputs, which the host would mix."""
        if current_scope().enabled:
            return in_order(self, inputs, config, **kwargs)
        return super().abatch_as_completed(inputs, config, **kwargs)

    def generate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        scope = current_scope()
        if not self.kedi_editor.works_in(scope):
            return super().generate(messages, stop=stop, callbacks=callbacks, **kwargs)
        refuse_several(messages, scope)
        caller = caller_of(callbacks=callbacks)
        edited = [self._edited(one, kwargs, caller, scope) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        with self._attempting(edited, caller):
            result = super(EditingModel, target).generate(
                [one.whole for one in edited], stop=stop, callbacks=callbacks, **arguments
            )
            answers = _noted(edited, result)
        for one, answer in answers:
            one.commit_sync(answer)
        return result

    async def agenerate(
        self, messages: list[list[BaseMessage]], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Edit each request of the batch, then generate."""
        scope = current_scope()
        if not self.kedi_editor.works_in(scope):
            return await super().agenerate(messages, stop=stop, callbacks=callbacks, **kwargs)
        refuse_several(messages, scope)
        caller = caller_of(callbacks=callbacks)
        edited = [await self._aedited(one, kwargs, caller, scope) for one in messages]
        target, arguments = _common(edited, self, kwargs)
        async with self._aattempting(edited, caller):
            result = await super(EditingModel, target).agenerate(
                [one.whole for one in edited], stop=stop, callbacks=callbacks, **arguments
            )
            answers = _noted(edited, result)
        for one, answer in answers:
            await one.commit(answer)
        return result

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        """Edit, then stream, in the scope of this call; a model that cannot stream comes through `generate`."""
        return self._streaming(current_scope(), input, config, stop, kwargs)

    def _streaming(
        self, scope: Scope, input: LanguageModelInput, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
    ) -> Iterator[AIMessageChunk]:
        if not self._should_stream(async_api=False, run_manager=None, **{**kwargs, "stream": True}):
            with entered(scope):
                chunks = list(super().stream(input, config, stop=stop, **kwargs))
            yield from chunks
            return
        if not self.kedi_editor.works_in(scope):
            yield from super().stream(input, config, stop=stop, **kwargs)
            return
        caller, chunks = caller_of(config), []
        request = self._edited(self._read(input), kwargs, caller, scope)
        target, arguments = _common([request], self, kwargs)
        with self._attempting([request], caller):
            for chunk in super(EditingModel, target).stream(request.whole, config, stop=stop, **arguments):
                chunks += [chunk] if request.is_followed else []
                with request.read():
                    yield chunk
            answer = _streamed(request, chunks)
        request.commit_sync(answer)

    def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """Edit, then stream, in the scope of this call; a model that cannot stream comes through `agenerate`."""
        return self._astreaming(current_scope(), input, config, stop, kwargs)

    async def _astreaming(
        self, scope: Scope, input: LanguageModelInput, config: RunnableConfig | None, stop: Any, kwargs: dict[str, Any]
    ) -> AsyncIterator[AIMessageChunk]:
        if not self._should_stream(async_api=True, run_manager=None, **{**kwargs, "stream": True}):
            with entered(scope):
                chunks = [chunk async for chunk in super().astream(input, config, stop=stop, **kwargs)]
            for chunk in chunks:
                yield chunk
            return
        if not self.kedi_editor.works_in(scope):
            async for chunk in super().astream(input, config, stop=stop, **kwargs):
                yield chunk
            return
        caller, chunks = caller_of(config), []
        request = await self._aedited(self._read(input), kwargs, caller, scope)
        target, arguments = _common([request], self, kwargs)
        async with self._aattempting([request], caller):
            async for chunk in super(EditingModel, target).astream(request.whole, config, stop=stop, **arguments):
                chunks += [chunk] if request.is_followed else []
                with request.read():
                    yield chunk
            answer = _streamed(request, chunks)
        await request.commit(answer)

    def _chat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        scope = current_scope()
        refuse_v3(scope)
        request = self._edited(self._read(input), kwargs, caller_of(config), scope)
        target, arguments = _common([request], self, kwargs)
        request.unseen()
        return super(EditingModel, target)._chat_model_stream_v3(request.whole, config, stop=stop, **arguments)

    async def _achat_model_stream_v3(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, *, stop: Any = None, **kwargs: Any
    ) -> Any:
        scope = current_scope()
        refuse_v3(scope)
        request = await self._aedited(self._read(input), kwargs, caller_of(config), scope)
        target, arguments = _common([request], self, kwargs)
        request.unseen()
        return await super(EditingModel, target)._achat_model_stream_v3(request.whole, config, stop=stop, **arguments)

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

    def _edited(
        self, messages: Sequence[BaseMessage], kwargs: dict[str, Any], caller: Hashable, scope: Scope
    ) -> EditedRequest:
        _refuse_second_edit(self)
        editor = self.kedi_editor
        turn = editor.take_turn(scope)
        if turn is not None:
            turn.enter_sync()
        try:
            if (prompt := editor.hook.newest(messages)) is not None:
                known = editor.failed_attempts.take_prompt(caller, prompt)
                messages = [*messages[:-1], known or editor.hook.edit(prompt)]
            request = replace(editor.begin(messages, self, kwargs, scope, turn), prompt=prompt)
            with request.recording():
                return editor.note(request.edit(editor.failed_attempts.take(caller, request.shown)))
        except BaseException as error:
            if turn is not None:
                turn.abandon_sync(error)
            raise

    async def _aedited(
        self, messages: Sequence[BaseMessage], kwargs: dict[str, Any], caller: Hashable, scope: Scope
    ) -> EditedRequest:
        _refuse_second_edit(self)
        editor = self.kedi_editor
        turn = editor.take_turn(scope)
        if turn is not None:
            await turn.enter()
        try:
            if (prompt := editor.hook.newest(messages)) is not None:
                known = editor.failed_attempts.take_prompt(caller, prompt)
                messages = [*messages[:-1], known or await editor.hook.aedit(prompt)]
            request = replace(editor.begin(messages, self, kwargs, scope, turn), prompt=prompt)
            with request.recording():
                return editor.note(await request.aedit(editor.failed_attempts.take(caller, request.shown)))
        except BaseException as error:
            if turn is not None:
                await turn.abandon(error)
            raise

    @contextmanager
    def _attempting(self, edited: Sequence[EditedRequest], caller: Hashable) -> Generator[None]:
        """Leave the edits of a failing attempt for the next one, and give up its turn."""
        try:
            yield
        except BaseException as error:
            self._leave(edited, caller, error)
            for one in edited:
                one.abandon_sync(error)
            raise

    @asynccontextmanager
    async def _aattempting(self, edited: Sequence[EditedRequest], caller: Hashable) -> AsyncGenerator[None]:
        """Do what `_attempting` does on an asynchronous path."""
        try:
            yield
        except BaseException as error:
            self._leave(edited, caller, error)
            for one in edited:
                await one.abandon(error)
            raise

    def _leave(self, edited: Sequence[EditedRequest], caller: Hashable, error: BaseException) -> None:
        for one in edited:
            one.failed(error)
        if isinstance(error, Exception):
            for one in edited:
                self.kedi_editor.failed_attempts.leave(caller, one.attempt)
                if one.prompt is not None:
                    self.kedi_editor.failed_attempts.leave_prompt(caller, one.prompt, one.shown[-1])


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
    """The one model and arguments of a batch: without old state as soon as one of its requests may name none."""
    for one in edited:
        one.session.sent()
    changed = next((one for one in edited if not one.may_name_old_state), None)
    return (cast("EditingModel", changed.model), changed.arguments) if changed else (model, kwargs)


def _noted(edited: Sequence[EditedRequest], result: LLMResult) -> list[tuple[EditedRequest, BaseMessage | None]]:
    """Note the answers and return them by their requests; a model may give none."""
    runs = result.run or []
    answers: list[tuple[EditedRequest, BaseMessage | None]] = []
    for index, (request, generations) in enumerate(zip(edited, result.generations, strict=True)):
        run_id = str(runs[index].run_id) if index < len(runs) else None
        first = generations[0] if generations else None
        answer = first.message if isinstance(first, ChatGeneration) else None
        if answer is not None:
            request.answered(answer, run_id)
        else:
            request.unseen()
        answers.append((request, answer))
    return answers


def _streamed(request: EditedRequest, chunks: Sequence[AIMessageChunk]) -> BaseMessage | None:
    """Note that a stream has ended, and return its whole answer if it is a turn."""
    if not chunks:
        request.answered(None)
        return None
    answer = message_chunk_to_message(add_ai_message_chunks(chunks[0], *chunks[1:]))
    request.answered(answer)
    return answer


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
