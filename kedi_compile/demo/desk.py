"""The desk of the hut: what an agent goes on with between requests, and the tools that write it down.

A tool records what it read in the evidence ledger and answers with the handle alone, so a body is sent once. What it
changed or counted goes into the live frame. The tools are async, so that those of one answer write in its order; the
host runs others in threads. `desk_agent.py` makes the agent; nothing here reads a clock, and the book and the log are
the same in every run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import RunContext

from kedi_compile import AssemblyError
from kedi_compile.assembly import (
    Acknowledgement,
    Anchor,
    EvidenceLedger,
    Extraction,
    ExtractionRequest,
    LiveFrame,
    Mutation,
    Provenance,
    Requirement,
    Source,
    SteeringSlot,
    TaskEpoch,
    Verification,
)

BEDS: Final = 18
"""Those of the house, without the annex."""
PAGES: Final = {
    "Saturday": {"school class": 16, "climbers": 2},
    "Sunday": {"two sisters": 2},
}
"""Night -> the beds that each group of guests has."""
LOG: Final = "log/kitchen"
ROOF: Final = SteeringSlot(
    "roof", "The roof of the annex leaks: count 18 beds, not 20, until it is mended.", Provenance(author="the warden")
)
_DAYS: Final = 120
_NOTES: Final = (
    "bread from the valley came late, and the last table waited for it",
    "two of the gas bottles were changed; the third one is half full",
    "all of it was eaten, and nobody asked for more",
    "the cook left the recipe for the dumplings in the drawer",
    "a quiet evening with cards; the kitchen was closed at nine",
)
_SHORT: Final = {31: "a class of 18 came over the pass and the pot was empty before the last four had any"}


def kitchen_log() -> str:
    """Return the log of the kitchen, a line a day."""
    return "".join(_log_lines())


def _log_lines() -> Iterator[str]:
    for day in range(1, _DAYS + 1):
        guests = 6 + day * 7 % 13
        note = _SHORT.get(day, _NOTES[day % len(_NOTES)])
        yield f"day {day}: {guests} guests, {guests // 2 + 1} litres of soup; {note}\n"


def extract(request: ExtractionRequest) -> Extraction:
    """Pick the lines that tell of an empty pot; a second model would read it with the request's objective."""
    lines = (request.source.body or "").splitlines()
    found = [Anchor(f"line {number}", line) for number, line in enumerate(lines, 1) if "empty" in line]
    return Extraction(tuple(found), summary=f"{len(lines)} days were read; on the others the soup was enough.")


class Desk:
    """The book, the frame and the evidence of one warden's day."""

    def __init__(self) -> None:
        self._book = {night: dict(guests) for night, guests in PAGES.items()}
        self._versions = dict.fromkeys(PAGES, 1)
        self._changes = 0
        self._questions = 0
        self.evidence = EvidenceLedger()
        self.frame = LiveFrame(TaskEpoch("morning", "Good morning!"))
        self.frame.steer(ROOF)

    def ask(self, question: str) -> str:
        """Begin a task epoch with a question, and return the question."""
        self._questions += 1
        self.frame.begin(TaskEpoch(f"question-{self._questions}", question))
        return question

    def equip(self, agent: Agent[object, str]) -> None:
        """Give an agent the tools of the desk."""
        agent.tool(self.read_book)
        agent.tool(self.read_kitchen_log)
        agent.tool_plain(self.count_beds)
        agent.tool_plain(self.move)
        agent.tool_plain(self.read_again)
        agent.tool_plain(self.acknowledge)

    async def read_book(self, ctx: RunContext[object], night: str) -> str:
        """Read the page of one night."""
        page = "".join(f"{guests}: {beds} beds\n" for guests, beds in self._book[night].items())
        version = str(self._versions[night])
        source = Source(f"book/{night}", version, page or "nobody\n", _by(ctx))
        return f"recorded as evidence: {self.evidence.record(source).handle}"

    async def read_kitchen_log(self, ctx: RunContext[object]) -> str:
        """Read the log of the kitchen, all of it."""
        source = Source(LOG, "day 120", kitchen_log(), _by(ctx))
        return f"recorded as evidence: {self.evidence.record(source).handle}"

    async def read_again(self, handle: str) -> str:
        """Have the exact text of evidence shown again."""
        with _told_to_the_model():
            self.evidence.rehydrate(handle)
        return f"shown from the next request on: {handle}"

    async def count_beds(self, night: str) -> str:
        """Count the beds of the house that are free."""
        free = BEDS - sum(self._book[night].values())
        self.frame.verify(Verification(f"{night} is not overbooked", free >= 0, f"{free} free", (f"book/{night}",)))
        return f"{free} of {BEDS} beds are free on {night}"

    async def move(self, guests: str, night: str, to: str) -> str:
        """Move guests from one night to another."""
        self._book[to][guests] = self._book[night].pop(guests)
        self._changes += 1
        change = Mutation(f"move-{self._changes}", f"{guests}: {night} to {to}", (f"book/{night}", f"book/{to}"))
        self.frame.mutate(change)
        self.frame.require(Requirement("teacher", "Confirm the new night to the teacher in writing"))
        for page in (night, to):
            self._outdate(page, change.id)
        return f"moved: {change.id}"

    async def acknowledge(self, steering_id: str) -> str:
        """Acknowledge active steering by its id, once you go by it."""
        with _told_to_the_model():
            self.frame.acknowledge(Acknowledgement(steering_id, "the tool call acknowledge"))
        return "acknowledged"

    def _outdate(self, night: str, change: str) -> None:
        old = f"book/{night}@{self._versions[night]}#whole"
        if any(source.handle == old for source in self.evidence.snapshot().sources):
            self.evidence.retire(old, f"changed by {change}")
        self._versions[night] += 1


@contextmanager
def _told_to_the_model() -> Generator[None]:
    """Answer a handle or an id that names nothing with what there is, and let the model try again."""
    try:
        yield
    except AssemblyError as error:
        raise ModelRetry(str(error)) from error


def _by(ctx: RunContext[object]) -> Provenance:
    return Provenance(tool_call_id=ctx.tool_call_id)
