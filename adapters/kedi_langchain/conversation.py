"""One call of a wrapped model as a turn of a conversation: the stored turns in front, and the commit of what it adds.

The rule: leading system messages of a call are its instructions, sent in front of everything and stored nowhere; the
rest of the call is what it adds. An answer of the conversation that comes back in a call is refused, because the
history would then be there twice. What an agent does in a scope is in `agent_turns.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables.config import get_config_list

from kedi_compile import ConversationError, ConversationState
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.records import History
from kedi_compile.conversation.scope import Scope
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_langchain.continuation import without_response_id
from kedi_langchain.dialect import DIALECT
from kedi_langchain.origins import ThreadOrigins


def messages_of(state: ConversationState, key: LaneKey | None = None) -> list[BaseMessage]:
    """Return the messages of a conversation as they are committed now: a new list of the host's own objects.

    They are those of the lane that was used last with LangChain, or of `key`, one of `state.lanes`; none where there is
    no such lane. A store is read, which may block.

    Raises:
        ConversationError: what is stored cannot be read.
    """
    lane = state.read(DIALECT.adapter_shortname, key)
    return [] if lane is None else list(lane.history.messages(DIALECT))


class ConversationCall:
    """A call of a wrapped model inside a turn that was entered."""

    def __init__(self, turn: Turn, key: LaneKey, given: Sequence[BaseMessage], origins: ThreadOrigins) -> None:
        self.turn = turn
        self._lane: Lane[BaseMessage] = turn.ledger.lane(key)
        self._instructions = len(list(takewhile(lambda one: isinstance(one, SystemMessage), given)))
        stored = self._lane.history.messages(DIALECT, origins.adopt)
        refuse_repetition(stored, given, turn)
        self.messages = [*given[: self._instructions], *stored, *given[self._instructions :]]

    @property
    def carried(self) -> Carried:
        """What the lane hands to this call's session."""
        return self._lane.carried

    @property
    def lane_note(self) -> str:
        """Say which lane the call goes on in."""
        return self.turn.ledger.lane_note(self._lane.key)

    def committed(
        self, history: Sequence[BaseMessage], answer: BaseMessage | None, carried: Carried
    ) -> Lane[BaseMessage] | None:
        """Return the lane as this call leaves it, or None without an answer; `history` is what was sent."""
        if answer is None:
            return None
        kept = list(history[self._instructions :])
        return after_turn(self._lane, [*kept, answer], carried)


def after_turn(lane: Lane[BaseMessage], messages: Sequence[BaseMessage], carried: Carried) -> Lane[BaseMessage]:
    """Return a lane with these messages; after a rewrite, answers from before it name no response to chain to."""
    if carried.generation > lane.carried.generation:
        *before, last = messages
        messages = [*map(without_response_id, before), last]
    return lane.after_turn(History(messages, DIALECT), replace(carried, may_warn=True))


def refuse_repetition(stored: Sequence[BaseMessage], given: Sequence[BaseMessage], turn: Turn) -> None:
    """Refuse a call that hands over answers which the conversation holds already.

    Raises:
        ConversationError: it does.
    """
    answers = [one for one in stored if isinstance(one, AIMessage)]
    objects, ids = {id(one) for one in answers}, {one.id for one in answers if one.id}
    for index, message in enumerate(given):
        if isinstance(message, AIMessage) and (id(message) in objects or message.id in ids):
            msg = (
                f"Message {index} of this call is an answer that the conversation holds already, so its history would "
                "be sent twice; inside the scope pass what is new, or use `history_scope(enabled=False)`"
            )
            raise ConversationError(msg, session_id=turn.state.session_id)


def refuse_several(prompts: Sequence[object], scope: Scope) -> None:
    """Refuse several prompts in one call of `generate` inside a conversation.

    Raises:
        ConversationError: there are several, and the scope is enabled.
    """
    if scope.enabled and len(prompts) > 1:
        msg = (
            f"`generate` was given {len(prompts)} prompts inside a conversation, where one turn follows the other; use "
            "`batch`"
        )
        raise ConversationError(msg)


def refuse_v3(scope: Scope) -> None:
    """Refuse an event stream of version 3 inside a conversation: its end cannot be followed.

    Raises:
        ConversationError: the scope is enabled.
    """
    if scope.enabled:
        msg = "Event streams of version 3 cannot be turns of a conversation; use `stream`, or events of version 2"
        raise ConversationError(msg)


def one_by_one(config: Any) -> Any:
    """Return the config of a batch, or of each of its inputs, so that one input follows the other."""
    if isinstance(config, Sequence):
        return [{**one, "max_concurrency": 1} for one in config]
    return {**(config or {}), "max_concurrency": 1}


async def in_order(
    model: BaseChatModel, inputs: Sequence[Any], config: Any, *, return_exceptions: bool = False, **kwargs: Any
) -> AsyncIterator[tuple[int, AIMessage | Exception]]:
    """Ask a model about one input after the other, and yield each answer with the place of its input."""
    for index, (given, own) in enumerate(zip(inputs, get_config_list(config, len(inputs)), strict=True)):
        answer: AIMessage | Exception
        try:
            answer = await model.ainvoke(given, own, **kwargs)
        except Exception as error:
            if not return_exceptions:
                raise
            answer = error
        yield index, answer
