"""Compares what the dump says with the bytes that were sent, and with what the agent keeps.

No code of the adapter or of the compiler takes part: the bodies and the dump are read as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic_ai.messages import ModelMessagesTypeAdapter

from kedi_compile.demo.desk import kitchen_log
from kedi_compile.demo.desk_agent import PHONE, DeskPerformance, desk_contracts
from kedi_compile.demo.proof import Check, are_as_recorded, messages_in
from kedi_compile.demo.replay import Recording
from kedi_compile.dump.reading import read_dumps
from kedi_compile.dump.schema import RequestDump

LATE: Final = ("# Task epoch ", "# Active steering ")
"""What a late text begins with, and nothing that a person or a model of this demo says."""


def dumps_of(path: Path) -> list[RequestDump]:
    """Read the dump back."""
    return list(read_dumps(path))


def check_desk(recording: Recording, seen: DeskPerformance, path: Path) -> list[Check]:
    """Check every claim of the demo, in the order it makes them."""
    dumps = dumps_of(path)
    sent = [body.decode() for body in seen.sent]
    whole = [number for number, body in enumerate(sent, 1) if _as_json(kitchen_log()) in body]
    kept = ModelMessagesTypeAdapter.dump_json(list(seen.history)).decode()
    return [
        Check("within a run each request begins with the bytes of the one before", _are_appended(dumps, seen.sent)),
        Check("every contract in force stands whole in the system text that was sent", _are_in_force(dumps, sent)),
        Check("the log was sent as one line of it, and whole in request 8 alone", whole == [8]),
        Check("the late texts are in what was sent, and not in what the agent keeps", _are_late(sent, kept)),
        Check("the telephone number was sent, and is not in the dump", _is_hidden(sent, path)),
        Check("the careless request is in the dump, and was not sent", _is_refused(dumps, seen)),
        Check("all requests are the ones the recorded answers were given to", are_as_recorded(recording, seen.sent)),
    ]


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _are_appended(dumps: Sequence[RequestDump], sent: Sequence[bytes]) -> bool:
    pairs = [
        (messages_in(earlier), messages_in(later))
        for (earlier, later), (first, second) in zip(pairwise(sent), pairwise(dumps), strict=False)
        if first.run_id == second.run_id
    ]
    return bool(pairs) and all(later.startswith(earlier[:-1] + b",") for earlier, later in pairs)


def _are_in_force(dumps: Sequence[RequestDump], sent: Sequence[str]) -> bool:
    found = list(_contracts_in_force(dumps, sent))
    return bool(found) and all(found)


def _contracts_in_force(dumps: Sequence[RequestDump], sent: Sequence[str]) -> Iterator[bool]:
    bodies = {contract.id: contract.body for contract in desk_contracts()}
    for dump, body in zip(dumps, sent, strict=False):
        system = json.dumps(json.loads(body)["system"], ensure_ascii=False)
        for contract in () if dump.assembly is None else dump.assembly.contracts:
            yield contract.in_force and _as_json(bodies[contract.id]) in system


def _are_late(sent: Sequence[str], kept: str) -> bool:
    return all(any(mark in body for body in sent) and mark not in kept for mark in LATE)


def _is_hidden(sent: Sequence[str], path: Path) -> bool:
    return any(PHONE in body for body in sent) and PHONE not in path.read_text(encoding="utf-8")


def _is_refused(dumps: Sequence[RequestDump], seen: DeskPerformance) -> bool:
    outcomes = [dump.outcome for dump in dumps]
    return seen.refusal is not None and outcomes == ["answered"] * len(seen.sent) + ["refused"]
