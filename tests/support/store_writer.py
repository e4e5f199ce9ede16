"""A program that writes to a store from a process of its own.

- `count ADDRESS SESSION TIMES` counts the conversation's head up.
- `die ADDRESS SESSION WHERE` starts one commit onto what is there, of a head, an added and a dropped entry, and kills
  itself before the statement that begins with WHERE, or before the transaction's end where that is `COMMIT`.
- `fork ADDRESS SESSION TIMES` counts up once, forks, and counts up in both processes; it ends with 0 if neither found
  an open connection.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from kedi_compile.stores.protocol import Change
from kedi_compile.stores.sql import SQLConversationStore
from stores import count_up, digested, engine_of


def die(address: str, session_id: str, where: str) -> None:
    """Begin a commit and be killed in it."""
    engine = engine_of(address)
    store = SQLConversationStore(engine)
    there = store.head(session_id)
    revision = there.revision if there else 0

    @event.listens_for(engine, "before_cursor_execute")
    def _statement(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(where):
            os.kill(os.getpid(), signal.SIGKILL)

    @event.listens_for(engine, "commit")
    def _commit(_connection: Any) -> None:
        if where == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)

    store.commit(session_id, Change(revision, b"half", digested([b"new"]), frozenset(digested([b"old"]))))


def fork(address: str, session_id: str, times: int) -> int:
    """Use one store in two processes, and return the connections that they found after the fork."""
    engine = engine_of(address)
    store = SQLConversationStore(engine)
    count_up(store, session_id, 1)
    assert isinstance(engine.pool, QueuePool)
    assert engine.pool.checkedin() == 1

    child = os.fork()
    idle = engine.pool.checkedin()
    count_up(store, session_id, times)
    engine.dispose()
    return idle + (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 0)


if __name__ == "__main__":
    task, place, session, how = sys.argv[1:]
    if task == "die":
        die(place, session, how)
    elif task == "fork":
        sys.exit(fork(place, session, int(how)))
    else:
        with SQLConversationStore(place) as opened:
            count_up(opened, session, int(how))
