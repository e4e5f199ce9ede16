"""The agent whose requests are assembled and dumped, and the three runs that the demo makes with it.

Two questions of the warden over the morning's talk of the other demo, and one more by an agent whose processor slices
the history without looking. The recording was made with this very agent, so a change here wants a new one
(`make record`).
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import httpx2
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModelSettings

from kedi_compile import HistoryPrefixWarning, HistoryProcessingValidationError, HistoryProcessorCallback
from kedi_compile.assembly import (
    ContextBudget,
    ContractRegistry,
    RequestCompiler,
    RequestInputs,
    RuntimeEnvironment,
    StableCore,
)
from kedi_compile.demo.desk import Desk, extract
from kedi_compile.demo.performance import keep_recent, slice_carelessly
from kedi_compile.demo.replay import Recording, ReplayTransport, replayed_model
from kedi_pydantic_ai import PydanticAdapter

PHONE: Final = "+41 00 555 01 23"
MOVE: Final = (
    f"Move the school class from Saturday to Sunday; the teacher is on {PHONE}. "
    "Was there ever too little soup? /nothink"
)
EXACT: Final = "What does the log say of that day, word for word?"
THIRD: Final = "And who comes on Monday?"

CORE: Final = "You help the warden of a mountain hut. People come first, then the book. Say so if you do not know."
TOOL_PHASES: Final = {
    "read_book": "explore",
    "read_kitchen_log": "explore",
    "read_again": "explore",
    "count_beds": "verify",
    "move": "implement",
}
_LIMIT: Final = 12_000
_RESERVED: Final = 4_096
_OVERWHELMING: Final = 2_000
_PHONES: Final = re.compile(r"\+\d[\d ]{8,}\d")


def hide_phones(text: str) -> str:
    """Take telephone numbers out of a dump; what a secret of one's own looks like, nobody else knows."""
    return _PHONES.sub("[redacted: telephone]", text)


def desk_compiler(desk: Desk) -> RequestCompiler:
    """Return the compiler of the agent's requests."""
    inputs = RequestInputs(
        StableCore(CORE, id="hut"),
        desk.frame,
        desk.evidence,
        environment=RuntimeEnvironment("/hut", {"season": "summer"}),
        budget=ContextBudget(_LIMIT, _RESERVED, overwhelming=_OVERWHELMING),
    )
    return RequestCompiler(
        desk_contracts(),
        inputs=inputs,
        tool_phases=TOOL_PHASES,
        reference_contract_modules=["guests"],
        extraction=extract,
    )


def desk_agent(
    model: Model, desk: Desk, dump: Path | None, processor: HistoryProcessorCallback[ModelMessage] = keep_recent
) -> Agent[object, str]:
    """Return the agent of a desk; every request that it makes is written to `dump`, or none is."""
    redact = () if dump is None else hide_phones
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)  # what it warns of is what the demo shows
        adapter = PydanticAdapter[object](
            processor, request_compiler=desk_compiler(desk), dump=dump, dump_errors="raise", redact=redact
        )
    agent = Agent(model, model_settings=AnthropicModelSettings(max_tokens=_RESERVED), capabilities=[adapter])
    desk.equip(agent)
    return agent


@dataclass(frozen=True)
class DeskPerformance:
    """What the runs left: the bodies that were sent, the history of the warden's talk, and the refusal at the end."""

    sent: Sequence[bytes]
    history: Sequence[ModelMessage]
    answers: Sequence[str]
    refusal: HistoryProcessingValidationError | None


def perform(recording: Recording, dump: Path) -> DeskPerformance:
    """Ask both questions, and the third one of a careless agent; every request is written to `dump`.

    Raises:
        AgentRunError: the agent asked for more than was recorded.
        KediError: a request could not be assembled, or not be dumped.
    """
    transport = ReplayTransport(recording.exchanges)
    history, answers = asyncio.run(ask_both(transport, recording.history, dump))
    refusal = asyncio.run(_ask_carelessly(transport, history, dump))
    return DeskPerformance(transport.sent, history, answers, refusal)


async def ask_both(
    transport: httpx2.AsyncBaseTransport, history: Sequence[ModelMessage], dump: Path | None
) -> tuple[list[ModelMessage], list[str]]:
    """Ask both questions over a history, and return what it is then, and the answers."""
    desk, answers = Desk(), []
    agent = desk_agent(replayed_model(transport), desk, dump)
    for question in (MOVE, EXACT):
        result = await agent.run(desk.ask(question), message_history=history)
        history = result.all_messages()
        answers.append(result.output)
    return list(history), answers


async def _ask_carelessly(
    transport: httpx2.AsyncBaseTransport, history: Sequence[ModelMessage], dump: Path
) -> HistoryProcessingValidationError | None:
    desk = Desk()
    agent = desk_agent(replayed_model(transport), desk, dump, slice_carelessly)
    try:
        await agent.run(desk.ask(THIRD), message_history=history)
    except HistoryProcessingValidationError as error:
        return error
    return None


def desk_contracts() -> ContractRegistry:
    """Return the contracts of the hut, which are data of the demo."""
    with as_file(files("kedi_compile.demo") / "contracts") as folder:
        return ContractRegistry.from_folder(folder)
