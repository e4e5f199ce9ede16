"""The assembled request: nine places, in one order."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from assembling import TOOL, compiled, everything, limited, source
from kedi_compile.assembly import ContextBudget, RequestCompiler, RequestInputs
from kedi_compile.assembly.wording import digest_of, utf8_size


def test_system_before_message_and_slot_are_the_places() -> None:
    """1 to 4, 5 to 7, and the two halves of 8; 9 are tools and response format."""
    request = RequestCompiler().compile(everything())
    texts = {section.kind: section.text for section in request.sections}

    assert request.system == "\n\n".join(texts[kind] for kind in ("core", "repository", "environment"))
    assert request.before == f"{texts['epoch']}\n\n{texts['evidence']}"
    assert request.late == "\n\n".join([request.before, request.message or "", request.slot])
    assert (request.tools, request.response_format) == ((TOOL,), {"type": "object"})


def test_a_section_has_its_sources_text_and_tokens() -> None:
    """Only places that show anything have one."""
    request = compiled(source(), source("b.py"))
    section = request.sections[-1]

    assert [int(one.place) for one in request.sections] == [1, 4, 5, 6]
    assert section.source_ids == ("a.py@v1#whole", "b.py@v1#whole")
    assert section.tokens == sum(item.tokens for item in request.items if item.place == section.place)


def test_nothing_in_it_changes() -> None:
    """It is frozen."""
    with pytest.raises(FrozenInstanceError):
        compiled().tier = "small"  # type: ignore[misc]  # that is the test


def test_the_bodies_are_those_that_are_shown() -> None:
    """By handle, with their digests."""
    shown, kept = source(), source("b.py", body=None)

    assert compiled(shown, kept).bodies == {"a.py@v1#whole": digest_of("x = 1\n")}


def test_the_late_digest_does_not_depend_on_which_tail_shows_a_body() -> None:
    """So a frame that did not change adds no tail."""
    one = source()
    first = compiled(one)

    assert compiled(one, budget=ContextBudget(sent=first.bodies)).late_digest == first.late_digest
    assert compiled(source(body="x = 2\n")).late_digest != first.late_digest


def test_the_dump_has_no_body_of_evidence() -> None:
    """Its section is told by size and digest; the others word for word."""
    request = RequestCompiler().compile(everything())
    sections = {one.kind: one for one in request.dump.sections}
    text = request.sections[-2].text

    assert sections["evidence"].text is None
    assert sections["evidence"].bytes == utf8_size(text)
    assert sections["core"].text == "# Core (core, version 1)\n\nYou are a careful engineer."
    assert sections["core"].digest == digest_of(sections["core"].text)
    assert "x = 1" not in request.dump.model_dump_json()


def test_the_dump_accounts_for_the_context_by_source_type() -> None:
    """Tokens of what is sent, of the history and of earlier tails."""
    given = everything()
    budget = limited(10_000, reserved_output=500, history=70, carried=30)
    request = RequestCompiler().compile(replace(given, budget=budget))

    assert request.dump.budget.model_dump() == {
        "limit": 10_000,
        "reserved_output": 500,
        "by_source": {
            "core": 19,
            "contracts": 0,
            "repository": 25,
            "environment": 57,
            "task_epoch": 39,
            "evidence": 47,
            "frame": 0,
            "current": 35,
            "headings": 28,
            "tools": 42,
            "history": 70,
            "tails": 30,
        },
    }
    assert request.dump.budget.total == sum(request.sizes.values())


def test_every_item_is_in_the_dump_once() -> None:
    """A source among the sources, everything else among the items."""
    request = compiled(source(), source("b.py", body=None))

    assert [one.id for one in request.dump.items] == ["core", "environment", "e1"]
    assert [one.handle for one in request.dump.sources] == ["a.py@v1#whole", "b.py@v1#whole"]


def test_nothing_of_the_dump_enters_a_request() -> None:
    """Reasons stay beside it."""
    given: RequestInputs = everything()
    request = RequestCompiler().compile(given)
    reasons = [one.reason for one in request.dump.items if len(one.reason.split()) > 2]

    assert reasons
    assert not any(reason in request.system + request.late for reason in reasons)
