"""One current record of a key, and what became of the others."""

from kedi_compile.assembly.records import Records, Retired


def test_a_second_record_of_a_key_replaces_the_first() -> None:
    """Which is kept as retired, with the reason."""
    records: Records[str, str] = Records()
    records.put("a", "old", "")
    records.put("b", "other", "")
    records.put("a", "new", "newer")

    assert records.current == ("other", "new")
    assert records.retired == (Retired("old", "newer"),)
    assert records.get("a") == "new"


def test_a_record_that_is_current_already_stays_where_it_is() -> None:
    """What says nothing new replaces nothing, so a frame that is noted again is unchanged."""
    records: Records[str, str] = Records()
    records.put("a", "one", "")
    records.put("b", "two", "")
    records.put("a", "one", "newer")

    assert records.current == ("one", "two")
    assert records.retired == ()


def test_an_amended_record_stays_current_and_in_its_place() -> None:
    """Nothing is retired by it."""
    records: Records[str, str] = Records()
    records.put("a", "one", "")
    records.put("b", "two", "")
    records.amend("a", "three")

    assert records.current == ("three", "two")
    assert records.retired == ()


def test_a_dropped_record_is_retired() -> None:
    """A key that has none drops nothing."""
    records: Records[str, str] = Records()
    records.put("a", "one", "")

    assert records.drop("a", "done") == "one"
    assert records.drop("a", "done") is None
    assert (records.current, records.retired) == ((), (Retired("one", "done"),))
