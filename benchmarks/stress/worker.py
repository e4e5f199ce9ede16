"""One process of several on one conversation: `python -m benchmarks.stress.worker STACK ADDRESS SESSION NAME COUNT`.

It makes its turns one after the other, each again as often as another process was faster, and prints a line when a
turn was committed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings

from benchmarks.stress.turns import STACKS
from kedi_compile import ConversationConflict, ConversationState, history_scope
from kedi_compile.conversation import SQLConversationStore


async def main(stack: str, address: str, session: str, name: str, count: str) -> None:
    """Make the turns."""
    turn = STACKS[stack]()
    with SQLConversationStore(address) as store:
        state = ConversationState(session, store)
        for number in range(int(count)):
            prompt = f"{number} of {name}"
            while True:
                try:
                    with history_scope(enabled=True, state=state):
                        await turn(prompt)
                    break
                except ConversationConflict:
                    continue
            print(prompt, flush=True)


if __name__ == "__main__":
    # The host logs every exception that a handler raises, and here lost races are what is asked for.
    logging.getLogger("langchain_core.callbacks.manager").setLevel(logging.CRITICAL)
    warnings.simplefilter("error")
    asyncio.run(main(*sys.argv[1:]))
