"""Records the demo's data from the emulator: `python -m demo_recording`, a part of `make record`.

The whole conversation is spoken through the real agent and client, so that every id and signature in it was issued
by the emulator, which refuses those it does not know. Times and run ids are left out: they differ from run to run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import httpx2
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart
from pydantic_core import to_jsonable_python

from emulator import Answer, Call, ProviderEmulator, Step, Thinking, answer
from kedi_compile.demo.desk_agent import ask_both
from kedi_compile.demo.performance import keep_recent
from kedi_compile.demo.replay import HOST, replayed_model
from kedi_compile.demo.story import QUESTION, THINKING, hut_agent

RECORDED_FROM: Final = "a provider emulator that enforces wire rules, not the provider"

SYSTEM: Final = "You help the warden of a mountain hut. Answer in one or two sentences."

_FLEETING: Final = frozenset({"timestamp", "run_id", "conversation_id", "cost"})

Turn = tuple[str, Sequence[Step]]

CONVERSATION: Final[Sequence[Turn]] = (
    (
        "Good morning! What can you help me with today?",
        ["Good morning! I can look up free beds and tomorrow's weather, and help you word letters to guests."],
    ),
    (
        "How many beds are free on Friday?",
        [
            answer(Call("beds", {"night": "Friday"})),
            "On Friday 13 of 20 beds are free: seven in the bunk room, four in the attic and both in the annex.",
        ],
    ),
    (
        "A hiker left her boots here. What do I write?",
        ["Write: Dear guest, your boots are dry and safe. Shall we send them down with the lift on Tuesday?"],
    ),
    (
        "Can a school class of 16 stay on Saturday?",
        [
            answer(
                Thinking(
                    "Sixteen children and probably two teachers. Saturday is usually busy, so the beds have to be "
                    "looked up before anything is promised."
                ),
                Call("beds", {"night": "Saturday"}),
            ),
            "Not on Saturday: only four beds are free then. Please promise nothing before they name another night.",
        ],
    ),
    (
        "How is the weather here and at the pass?",
        [
            answer(Call("weather", {"place": "the hut"}), Call("weather", {"place": "the pass"})),
            "Here it clears at noon, up to 14 degrees. The pass is foggy and windy: send nobody over before late.",
        ],
    ),
    (
        "Then what do I tell the teacher?",
        ["Tell her that Saturday is nearly full, and offer Sunday: the hut is almost empty then."],
    ),
    (
        "She takes Sunday. Is there really room?",
        [
            answer(Call("beds", {"night": "Sunday"})),
            "Yes: on Sunday 18 beds are free, enough for 16 children and two teachers.",
        ],
    ),
    (
        "How much soup is that for 18 people?",
        ["Count on half a litre each, so nine litres; make ten if they come over the pass."],
    ),
    (
        "Does the supply lift run on Tuesday?",
        ["By your plan it runs on Tuesdays and Fridays at nine, wind permitting; I cannot look it up myself."],
    ),
    (
        "And tomorrow's weather at the pass?",
        [
            answer(Call("weather", {"place": "the pass"})),
            "Foggy, clearing late, between 1 and 7 degrees, with wind of 45 km/h.",
        ],
    ),
)

ENDING: Final[Turn] = (
    QUESTION,
    [
        answer(
            Thinking(
                "Saturday was looked up earlier, but beds go quickly and the number has to be right. I ask again "
                "instead of trusting what was said this morning."
            ),
            Call("beds", {"night": "Saturday"}),
        ),
        "Yes. Four beds are free on Saturday, three in the bunk room and one in the annex, so two more fit in.",
    ],
)

DESK: Final[Sequence[Step]] = (
    answer(Call("read_book", {"night": "Saturday"}), Call("read_book", {"night": "Sunday"})),
    answer(Call("read_kitchen_log")),
    answer(Call("acknowledge", {"steering_id": "roof"}), Call("count_beds", {"night": "Sunday"})),
    answer(Call("move", {"guests": "school class", "night": "Saturday", "to": "Sunday"})),
    answer(Call("count_beds", {"night": "Sunday"}), Call("read_book", {"night": "Sunday"})),
    (
        "The class has Sunday now; with the annex closed the house is full. The soup was short once, on day 31. The "
        "teacher still has to be told in writing."
    ),
    answer(Call("read_again", {"handle": "log/kitchen@day 120#whole"})),
    (
        "Day 31: 15 guests, 8 litres of soup; a class of 18 came over the pass and the pot was empty before the last "
        "four had any."
    ),
)


def record() -> dict[str, object]:
    """Speak the conversation and return the content of each data file by its name."""
    return asyncio.run(_record())


async def _record() -> dict[str, object]:
    steps = [*(step for _, steps in (*CONVERSATION, ENDING) for step in steps), *DESK]
    with ProviderEmulator(*steps) as emulator:
        heard = _Recorder(emulator.url)
        model = replayed_model(heard)
        plain = hut_agent(model, None)
        history: list[ModelMessage] = [ModelRequest([SystemPromptPart(SYSTEM)])]
        for question, answers in CONVERSATION:
            settings = THINKING if _thinks(answers) else None
            history = (await plain.run(question, message_history=history, model_settings=settings)).all_messages()
        heard.taken()
        await hut_agent(model, keep_recent).run(ENDING[0], message_history=history, model_settings=THINKING)
        ending = heard.taken()
        await ask_both(heard, history, dump=None)
    assert not emulator.refusals, emulator.refusals
    return {
        "conversation.json": _lasting(to_jsonable_python(history)),
        "exchange.json": {"recorded_from": RECORDED_FROM, "exchanges": ending},
        "desk.json": {"recorded_from": RECORDED_FROM, "exchanges": heard.taken()},
    }


def _thinks(answers: Sequence[Step]) -> bool:
    parts = (part for step in answers if isinstance(step, Answer) for part in step.parts)
    return any(isinstance(part, Thinking) for part in parts)


class _Recorder(httpx2.AsyncBaseTransport):
    """Hands each request on to the emulator and notes the exchange."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._inner = httpx2.AsyncHTTPTransport()
        self._exchanges: list[dict[str, object]] = []

    def taken(self) -> list[dict[str, object]]:
        """Return what was noted since the last time."""
        taken, self._exchanges = self._exchanges, []
        return taken

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        url = str(request.url).replace(HOST, self._url)
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        passed_on = httpx2.Request(request.method, url, headers=headers, content=body)
        response = await self._inner.handle_async_request(passed_on)
        answer = json.loads(await response.aread())
        await response.aclose()
        self._exchanges.append({"request": json.loads(body), "response": answer})
        return httpx2.Response(response.status_code, json=answer, request=request)


def _lasting(value: object) -> object:
    """Return a JSON value without what differs from run to run and without what is not set."""
    if isinstance(value, dict):
        return {key: _lasting(item) for key, item in value.items() if item is not None and key not in _FLEETING}
    return [_lasting(item) for item in value] if isinstance(value, list) else value


def as_text(content: object) -> str:
    """Write the content of a data file as the text it is stored as."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Record, and write the files into the package."""
    folder = Path(str(files("kedi_compile.demo")))
    for name, content in record().items():
        (folder / name).write_text(as_text(content), encoding="utf-8")


if __name__ == "__main__":
    main()
