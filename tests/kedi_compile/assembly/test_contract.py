"""One contract: named, versioned, hashed."""

import hashlib

import pytest

from kedi_compile.assembly import Contract
from kedi_compile.errors import AssemblyError


def test_the_hash_is_of_the_normalised_body() -> None:
    """So it is the same on every platform."""
    one, other = Contract("a", "1", "Do it.\r\nWell.  \r\n"), Contract("a", "1", "Do it.\nWell.")

    assert one.body == "Do it.\nWell."
    assert one.hash == other.hash == hashlib.sha256(b"Do it.\nWell.").hexdigest()


@pytest.mark.parametrize("name", ["security", "release", "research", "delegation", "hardware", "ui", "Security"])
def test_high_impact_contracts_are_explicit_only(name: str) -> None:
    """Whatever they say of themselves."""
    assert Contract(name, "1", "x", {"implement"}).explicit_only


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (("a b", "1", "x"), "The id of contract 'a b' is 'a b'; it must be one word without commas"),
        (("a,b", "1", "x"), "The id of contract 'a,b' is 'a,b'; it must be one word without commas"),
        (("a\n# Core", "1", "x"), "it must be one word without commas"),
        (("", "1", "x"), "The id of contract '' is blank"),
        (("a", " 1", "x"), "The version of contract 'a' is ' 1'; it must be one word"),
        (("a", 1, "x"), "The version of contract 'a' is int, and must be str"),
        (("a", "1", " \n"), "The body of contract 'a' is blank"),
        (("a", "1", "\udc80"), "The body of contract 'a' cannot be written as UTF-8 at character 0"),
        (
            ("a", "1", "x", frozenset({"deploy"})),
            "Contract 'a' names the phase 'deploy'; known are explore, plan, implement, verify, mixed",
        ),
        (("a", "1", "x", "plan"), "`phases` of contract 'a' is the str 'plan'; give a set of phases"),
        (
            ("a", "1", "x", frozenset({"plan"}), True),
            "Contract 'a' is explicit-only and names phases; drop one of the two",
        ),
    ],
)
def test_a_contract_that_says_nothing_clear_is_refused(given: tuple[object, ...], fault: str) -> None:
    """At construction, with what would be right."""
    with pytest.raises(AssemblyError) as raised:
        Contract(*given)  # type: ignore[arg-type]  # the types are what is tested

    assert fault in str(raised.value)
