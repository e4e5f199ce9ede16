"""Random toy histories: well-formed ones made of cycles, and odd ones made of anything.

Ids and texts come from a few, so that they repeat: an id used again, a result without call, a text said twice. In an
odd history one message object may also stand in two places.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from toy import Message, answers, calls, feedback, says, system, user

Make = Callable[[], Message]

IDS = ("c1", "c2", "c3")
TEXTS = ("ok", "go on", "why?")

MAKERS: tuple[Make, ...] = (
    *(lambda text=text: user(text) for text in TEXTS),
    *(lambda text=text: says(text) for text in TEXTS),
    *(lambda call_id=call_id: calls(call_id) for call_id in IDS),
    *(lambda call_id=call_id: answers(call_id) for call_id in IDS),
    lambda: calls("c1", "c2"),
    lambda: calls("c1", "c1"),
    lambda: answers("c1", "c2"),
    lambda: answers("c1", "c1"),
    lambda: answers("c2", text="ok"),
    lambda: calls("c1", signature="sig"),
    lambda: calls("c3", text="ok"),
    system,
    lambda: user("ok", system="Be brief."),
    feedback,
    lambda: Message("user", framework="tools"),
    lambda: says("ok", signature="sig", reasoning="hm"),
    lambda: says("ok", provider={"item": ["rs_1"]}),
    lambda: says("so far", checkpoint=True),
    lambda: says("half", interrupted=True),
    lambda: user("ok", interrupted=True),
)
"""One maker for each kind of message."""


@st.composite
def odd_histories(draw: st.DrawFn) -> list[Message]:
    """Draw one to ten messages in any order; sometimes an object stands twice."""
    messages = [make() for make in draw(st.lists(st.sampled_from(MAKERS), min_size=1, max_size=10))]
    if len(messages) > 1 and draw(st.integers(0, 9)) == 0:
        messages.append(messages[draw(st.integers(0, len(messages) - 1))])
    return messages


CYCLES: tuple[Callable[[str], list[Message]], ...] = (
    lambda i: [user("ok"), says("ok")],
    lambda i: [user(f"question {i}"), says(f"answer {i}")],
    lambda i: [user("one"), user("two"), says("both")],
    lambda i: [user("q"), calls(f"c{i}"), answers(f"c{i}"), says("ok")],
    lambda i: [user("q"), calls("c1"), answers("c1"), says("ok")],
    lambda i: [user("q"), calls(f"a{i}", f"b{i}"), answers(f"b{i}"), user("hurry"), answers(f"a{i}"), says("ok")],
    lambda i: [user("q"), calls(f"a{i}", f"b{i}"), answers(f"a{i}", f"b{i}"), feedback(), says("ok")],
    lambda i: [user("q"), calls(f"c{i}"), answers(f"c{i}"), calls(f"d{i}"), answers(f"d{i}"), says("ok")],
    lambda i: [user("q"), says("ok", signature=f"sig {i}")],
    lambda i: [user("q"), calls(f"c{i}", signature=f"sig {i}"), answers(f"c{i}"), says("ok")],
    lambda i: [user("q"), says("ok", provider={"item": [i]})],
    lambda i: [user("q"), calls(f"dead{i}")],
    lambda i: [user("q"), says("half", interrupted=True)],
    lambda i: [system(f"Rule {i}.")],
)
STARTS: tuple[Callable[[], list[Message]], ...] = (
    list,
    lambda: [system()],
    lambda: [says("Hello!")],
    lambda: [user("q", system="Be brief."), says("ok")],
)
ENDS: tuple[Callable[[], list[Message]], ...] = (
    lambda: [user("And now?")],
    lambda: [user("ok")],
    lambda: [user("And now?"), calls("c1"), answers("c1")],
    lambda: [user("And now?"), calls("now", signature="sig"), answers("now")],
    lambda: [user("And now?"), calls("x", "y"), answers("y", "x"), says("Hm."), feedback()],
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Draw a well-formed history: leading system text or a greeting or neither, cycles, the current request."""
    start = draw(st.sampled_from(STARTS))
    cycles = draw(st.lists(st.sampled_from(CYCLES), max_size=5))
    end = draw(st.sampled_from(ENDS))
    return [*start(), *(message for number, cycle in enumerate(cycles) for message in cycle(str(number))), *end()]


any_histories = st.one_of(histories(), odd_histories())
