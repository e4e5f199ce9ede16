"""What is found out about a history, on both stacks: groups, entries, and what `keep_recent_groups` would do."""

from __future__ import annotations

import copy
import json
import warnings

import pytest

from kedi_compile import HistoryProcessingError
from kedi_compile.explain.explanation import Explanation, Inquiry
from kedi_compile.explain.facts import explain
from kedi_compile.explain.stacks import stack_named
from saved import LANGCHAIN, PENDING, PYDANTIC_AI, Saved

STORIES = pytest.mark.parametrize(("stack", "saved"), [("pydantic-ai", PYDANTIC_AI), ("langchain", LANGCHAIN)])
BINDING = "anthropic:claude-opus-5-5"


def ask(stack: str, saved: Saved, inquiry: Inquiry | None = None) -> Explanation:
    """Explain a saved history."""
    found = stack_named(stack)
    messages = [found.load(index, message) for index, message in enumerate(saved)]
    return explain(found, messages, inquiry or Inquiry())


@STORIES
def test_the_groups_are_those_of_the_next_request(stack: str, saved: Saved) -> None:
    """Each group has its entries, its first words, and what protects it; a placeholder stands for the next request."""
    explanation = ask(stack, saved)

    found = [
        (one.start, one.end, one.words, one.closed, one.eligible, one.protected_reasons) for one in explanation.groups
    ]
    assert found == [
        (0, 1, "Be brief.", False, False, ("system",)),
        (1, 3, "What is the tide?", True, True, ()),
        (3, 5, "And the wind?", True, True, ()),
        (5, 9, "Look at the harbour.", True, False, ("signed_reasoning",)),
        (9, 11, "Thank you.", True, True, ()),
        (11, 12, "(the next user message)", False, False, ("current_request",)),
    ]
    assert (explanation.entries_read, explanation.ending) == (11, "placeholder_added")
    assert explanation.prompt == "(the next user message)"


@STORIES
def test_the_entries_say_what_they_are(stack: str, saved: Saved) -> None:
    """Each entry has its kind and role, the calls it opens and answers, and its own reasons."""
    entries = ask(stack, saved).entries[5:9]

    found = [
        (one.index, one.group, one.kind, one.role, one.calls, one.results, one.protected_reasons) for one in entries
    ]
    assert found == [
        (5, 3, "user", "user", (), (), ()),
        (6, 3, "assistant", "assistant", ("c1",), (), ("signed_reasoning",)),
        (7, 3, "tool_result", "tool", (), ("c1",), ()),
        (8, 3, "assistant", "assistant", (), (), ()),
    ]


@STORIES
def test_the_edit_keeps_the_last_eligible_groups(stack: str, saved: Saved) -> None:
    """What is protected stays, the last eligible ones stay, and the others go; each says why."""
    explanation = ask(stack, saved, Inquiry(1))

    assert [(one.kept, one.why) for one in explanation.groups] == [
        (True, "protected by system"),
        (False, "eligible, not one of the last 1"),
        (False, "eligible, not one of the last 1"),
        (True, "protected by signed_reasoning"),
        (True, "eligible, one of the last 1"),
        (True, "protected by current_request"),
    ]
    edit = explanation.edit
    assert (edit.outcome, edit.entries_before, edit.entries_after, edit.first_change) == ("edited", 12, 8, 1)
    assert edit.tokens_before == explanation.tokens == sum(group.tokens for group in explanation.groups)
    assert edit.tokens_after == sum(group.tokens for group in explanation.groups if group.kept)
    assert (edit.bound_entries, edit.model_binds, edit.violations) == ((6,), None, ())


@STORIES
def test_over_holds_an_edit_back(stack: str, saved: Saved) -> None:
    """Nothing goes while no more than `over` groups are eligible."""
    explanation = ask(stack, saved, Inquiry(1, 3))

    assert explanation.groups[1].why == "eligible, and no more than 3 are"
    assert (explanation.edit.outcome, explanation.edit.first_change) == ("unchanged", None)


@STORIES
def test_a_model_that_binds_reasoning_has_the_edit_refused(stack: str, saved: Saved) -> None:
    """A named model is looked up in the adapters' own table, and the rules speak for themselves."""
    edit = ask(stack, saved, Inquiry(1, model=BINDING)).edit

    assert (edit.outcome, edit.model_binds, edit.bound_entries) == ("refused", True, (6,))
    assert [broken.rule for broken in edit.violations] == ["bound_reasoning"]
    assert (edit.entries_after, edit.first_change) == (8, 1)
    assert ask(stack, saved, Inquiry(1, model="anthropic:claude-sonnet-4-5")).edit.model_binds is False


@STORIES
def test_open_cycle_lets_closed_groups_with_reasoning_go(stack: str, saved: Saved) -> None:
    """With `open_cycle` the signed thought of a closed group protects nothing."""
    explanation = ask(stack, saved, Inquiry(1, reasoning_protection="open_cycle"))

    assert [group.kept for group in explanation.groups] == [True, False, False, False, True, True]


def test_a_history_that_waits_for_results_gets_no_prompt() -> None:
    """The results come into the group of their calls, so it is the current request already."""
    explanation = ask("pydantic-ai", PENDING, Inquiry(0))

    assert (explanation.ending, explanation.prompt) == ("open_calls", None)
    assert [(call.call_id, call.entry) for call in explanation.open_calls] == [("c2", 12)]
    assert explanation.groups[-1].protected_reasons == ("current_request", "pending_tool_call")
    assert explanation.edit.entries_before == 13


def test_a_given_prompt_is_the_next_user_message() -> None:
    """A prompt is a message of its own behind an answer, and joins a request that nobody has answered."""
    behind_answer = ask("pydantic-ai", PYDANTIC_AI, Inquiry(prompt="And now?"))
    behind_request = ask("pydantic-ai", PYDANTIC_AI[:-1], Inquiry(prompt="And now?"))
    behind_call = ask("pydantic-ai", PENDING, Inquiry(prompt="And now?"))

    assert (behind_answer.ending, behind_answer.groups[-1].words) == ("prompt_added", "And now?")
    assert (behind_request.groups[-1].start, behind_request.groups[-1].end) == (9, 11)
    assert behind_call.ending == "prompt_added_over_open_calls"
    assert behind_call.groups[-2].protected_reasons == ("pending_tool_call",)


def test_a_history_that_ends_with_a_request_is_left_as_it_is() -> None:
    """Its last group is the current request; system text alone is none."""
    assert ask("pydantic-ai", PYDANTIC_AI[:-1]).ending == "request"
    assert ask("langchain", LANGCHAIN[:8]).ending == "request"
    assert ask("langchain", LANGCHAIN[:1]).ending == "placeholder_added"


def test_a_result_without_a_call_is_named() -> None:
    """A history that was cut by hand may hold one."""
    explanation = ask("langchain", LANGCHAIN[7:])

    assert [(one.call_id, one.entry) for one in explanation.orphan_results] == [("c1", 0)]


@STORIES
def test_nothing_that_can_be_freed_is_a_fact_and_no_warning(stack: str, saved: Saved) -> None:
    """What `HistoryProtectedWarning` would say is in the explanation, and no warning is raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        explanation = ask(stack, saved[5:9], Inquiry(0))

    assert explanation.edit.is_stuck
    assert explanation.edit.outcome == "unchanged"
    assert caught == []


@STORIES
def test_the_messages_are_left_alone(stack: str, saved: Saved) -> None:
    """Explaining changes nothing of what it was given."""
    found = stack_named(stack)
    messages = [found.load(index, message) for index, message in enumerate(saved)]
    before = copy.deepcopy(messages)

    explain(found, messages, Inquiry(0))

    assert messages == before


def test_the_first_words_are_one_short_line() -> None:
    """White space is one blank, and a long text is cut."""
    saved = [{"type": "human", "data": {"content": "a\n\n\tb " + "c" * 1_000}}]

    assert ask("langchain", saved).groups[0].words == "a b " + "c" * 76


def test_what_cannot_be_copied_is_an_error_of_its_own() -> None:
    """Nesting beyond what copying takes is told apart from a failed callback."""
    deep = json.loads('{"a":' * 700 + "1" + "}" * 700)

    with pytest.raises((RecursionError, HistoryProcessingError)):
        ask("langchain", [{"type": "ai", "data": {"content": "a", "additional_kwargs": {"x": deep}}}])
