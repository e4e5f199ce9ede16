"""Laws of durable threads: whatever a request showed, the thread is left with what the edit kept of it, and no more."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph.message import add_messages

from chats import Chat, Transport
from kedi_compile.history.flow import Staged
from kedi_langchain.durable import replacement
from kedi_langchain.editing import EditedRequest

exchanges = st.lists(
    st.tuples(st.sampled_from(["itself", "a changed copy", "hidden"]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=8,
)
"""How the request shows each exchange of the thread, whether the edit drops it, and whether one is added before it."""


def _thread(length: int) -> list[BaseMessage]:
    pairs = ((HumanMessage(f"q{n}", id=f"q{n}"), AIMessage(f"a{n}", id=f"a{n}")) for n in range(length))
    return [message for pair in pairs for message in pair]


def _edited(thread: list[BaseMessage], plan: list[tuple[str, bool, bool]], summary: list[BaseMessage]) -> EditedRequest:
    """Build the request, with a summary in front of what the edit kept."""
    shown: list[BaseMessage] = []
    kept: list[int] = []
    for number, (form, is_dropped, has_guest) in enumerate(plan):
        own = thread[2 * number : 2 * number + 2]
        copies = [message.model_copy(update={"content": "cleared"}) for message in own]
        guests = [HumanMessage("guest"), AIMessage("guest")] if has_guest else []
        exchange = {"itself": own, "a changed copy": copies, "hidden": []}[form]
        kept += range(len(shown), len(shown) + len(guests) + (0 if is_dropped else len(exchange)))
        shown += [*guests, *exchange]
    messages = (*summary, *(shown[entry] for entry in kept))
    outcome = Staged(messages, 0, (*[None] * len(summary), *kept))
    nobody = cast("Any", None)
    return EditedRequest(nobody, nobody, tuple(shown), Chat(transport=Transport()), outcome=outcome)


@given(exchanges, st.booleans())
def test_only_what_the_edit_dropped_goes(plan: list[tuple[str, bool, bool]], has_summary: bool) -> None:
    """Hidden messages stay where they were, guests are never stored, kept messages are the thread's own."""
    thread = _thread(len(plan))
    summary: list[BaseMessage] = [HumanMessage("sum"), AIMessage("noted")] if has_summary else []
    update = replacement(_edited(thread, plan, summary), thread, [AIMessage("done", id="done")])

    left = cast("list[BaseMessage]", add_messages(cast("Any", thread), cast("Any", update)))

    gone = {f"{who}{n}" for n, (form, dropped, _) in enumerate(plan) if dropped and form != "hidden" for who in "qa"}
    expected = [message.text for message in thread if message.id not in gone]
    assert [message.text for message in left if message.text not in ("sum", "noted")] == [*expected, "done"]
    assert [message.text for message in left if message.text in ("sum", "noted")] == [one.text for one in summary]
