"""What a model that came late refuses, in words."""

from __future__ import annotations

from kedi_compile.history.context import RequestInfo
from kedi_compile.history.fallback import refused_assembly, refused_edit
from kedi_compile.history.flow import Staged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.revision import Revision
from kedi_compile.session import RunSession
from toy import NOW, Message, ToyDialect, answers, calls, says, user

NAMES = ("claude-opus-5-5", "small")
INFO = RequestInfo("toy:small", 1)
EARLIER = [user("q"), says("a", signature="sig"), user(NOW)]


def revision(*messages: Message) -> Revision[Message]:
    """Describe the messages as a session does."""
    policy: HistoryPolicy[Message] = HistoryPolicy()
    return RunSession(policy, ToyDialect(), owner=None).revision(messages)


def test_an_edit_is_refused_for_the_reasoning_that_it_left_behind_a_change() -> None:
    """With the ways there are to make it right."""
    staged = Staged((user(NOW),), 0, (3,), bound=(3, 5))

    refused = refused_edit(staged, NAMES)

    assert refused is not None
    assert (refused.rule, refused.entries) == ("bound_reasoning", (3, 5))
    assert refused.detail == (
        "Reasoning in entries 3, 5 is bound to the unedited history by claude-opus-5-5; keep what stands before them, "
        "drop their groups, or use bound_reasoning='strip'"
    )


def test_an_edit_that_left_none_is_not_refused() -> None:
    """Whatever the model is called, if it is called anything."""
    assert refused_edit(Staged((user(NOW),), 0, (3,)), ()) is None


def test_a_request_is_refused_for_the_reasoning_of_earlier_runs() -> None:
    """What they had assembled around it is not sent again."""
    refused = refused_assembly(revision(*EARLIER), INFO, NAMES)

    assert refused is not None
    assert (refused.rule, refused.entries) == ("bound_reasoning", (1,))
    assert refused.detail == (
        "Reasoning in entry 1 is bound to what earlier runs assembled around it by claude-opus-5-5; fall back to a "
        "model that does not bind it, or set bound_reasoning='strip', which holds for every model"
    )


def test_reasoning_of_the_run_itself_is_none_of_it() -> None:
    """Behind its first request the last group is its own."""
    own = revision(user(NOW), calls("c1", signature="sig"), answers("c1"))

    assert refused_assembly(own, RequestInfo("toy:small", 2), NAMES) is None
    assert refused_assembly(own, INFO, NAMES) is not None
