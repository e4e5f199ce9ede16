"""Redaction: what is replaced in a dump, what stays, and what happens when a redaction of the user's own fails."""

from __future__ import annotations

import time

import pytest

from canaries import CANARIES, Canary, full_dump, remains_of
from kedi_compile.dump.redaction import FAILED, Redact, Redactor, redactor_of
from kedi_compile.dump.schema import BudgetDump, RequestDump
from kedi_compile.errors import HistoryConfigurationError


def raising(text: str) -> str:
    """Fail as a redaction of the user's own may."""
    raise LookupError(text)


def replacing(text: str) -> str:
    """Replace a word that only the user knows to be secret."""
    return text.replace("Bluebird", "[project]")


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: f"{canary.name}:{canary.text[:12]!r}")
def test_a_secret_is_replaced_at_every_place_of_a_dump(canary: Canary) -> None:
    """No field, nested or not, and no key of a mapping lets a secret through."""
    dump = full_dump(f"before {canary.text}\nafter")

    redacted = Redactor().redact_dump(dump)

    written = redacted.model_dump_json()
    assert remains_of(canary, written) == set()
    assert written.count(f"[redacted: {canary.name}]") == dump.model_dump_json().count("before ")


def test_a_redacted_dump_keeps_its_structure() -> None:
    """Numbers, flags and closed words stay, and the dump is one that can be read."""
    dump = full_dump("password=hunter2hunter")

    redacted = Redactor((lambda _: "x",)).redact_dump(dump)

    assert redacted == full_dump("x")
    assert RequestDump.model_validate_json(redacted.model_dump_json()) == redacted


def test_a_dump_without_secrets_is_the_same_object() -> None:
    """What needs no change is not copied."""
    dump = full_dump("max_tokens=4096")

    assert Redactor().redact_dump(dump) is dump


def test_keys_that_become_the_same_are_numbered() -> None:
    """No number is lost where two names of sources are secrets of one kind."""
    budget = BudgetDump(limit=None, reserved_output=0, by_source={"password=a1": 1, "password=b2": 2, "history": 4})
    dump = full_dump("x")
    assert dump.assembly is not None
    dump = dump.model_copy(update={"assembly": dump.assembly.model_copy(update={"budget": budget})})

    redacted = Redactor().redact_dump(dump)

    assert redacted.assembly is not None
    assert redacted.assembly.budget.by_source == {
        "password=[redacted: secret]": 1,
        "password=[redacted: secret] (2)": 2,
        "history": 4,
    }
    assert Redactor().redact_dump(redacted) is redacted


def test_redactions_run_in_order_after_the_known_shapes() -> None:
    """A redaction of the user's own sees no known secret, and the next one sees its result."""
    seen: list[str] = []

    def seeing(text: str) -> str:
        seen.append(text)
        return text

    redactor = Redactor((replacing, seeing))

    assert redactor.redact("Bluebird password=hunter2") == "[project] password=[redacted: secret]"
    assert seen == ["[project] password=[redacted: secret]"]


@pytest.mark.parametrize(
    "redact", [raising, lambda _: None, lambda text: text.encode()], ids=["raises", "None", "bytes"]
)
def test_a_failing_redaction_lets_no_text_through(redact: Redact) -> None:
    """The text is replaced as a whole, everywhere but in closed words, and nothing is raised."""
    redactor = Redactor((redact, replacing))

    assert redactor.redact("anything") == FAILED == "[redacted: the redaction failed]"
    assert redactor.redact_dump(full_dump("anything")) == full_dump(FAILED)


def test_what_interrupts_the_program_is_no_failure() -> None:
    """A keyboard interrupt passes through a redaction."""

    def interrupted(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Redactor((interrupted,)).redact("anything")


def test_a_word_that_a_redaction_knows_is_found_in_a_known_clean_text() -> None:
    """That a text holds no known shape says nothing to a redaction of the user's own."""
    dump = full_dump("about Bluebird")

    assert Redactor().redact_dump(dump) is dump
    assert Redactor((replacing,)).redact_dump(dump) == full_dump("about [project]")


def test_one_callable_or_several_make_a_redactor() -> None:
    """`redact=` takes both."""
    assert redactor_of(replacing) == Redactor((replacing,))
    assert redactor_of([replacing, raising]) == Redactor((replacing, raising))
    assert redactor_of(()) == Redactor()


@pytest.mark.parametrize(
    ("redact", "message"),
    [
        ("password", "`redact` is 'password'; it must be a callable"),
        (7, "`redact` is 7; it must be a callable"),
        ([replacing, "password"], "Redaction 2 is 'password'; it must be a callable"),
    ],
)
def test_what_cannot_be_called_is_refused(redact: Redact, message: str) -> None:
    """A wrong redaction is an error when it is handed over, not at the first request."""
    with pytest.raises(HistoryConfigurationError, match=message.replace("(", r"\(")):
        redactor_of(redact)


@pytest.mark.parametrize("part", ["password='", "://:p@", "-----BEGIN " + "PRIVATE KEY-----", "eyJ", "token=a1", "a "])
def test_a_megabyte_of_beginnings_is_redacted_in_time(part: str) -> None:
    """All shapes together take about a second for a megabyte that was made to be slow."""
    text = (part * 1_000_000)[:1_000_000]
    before = time.process_time()

    Redactor().redact(text)

    assert time.process_time() - before < 2
