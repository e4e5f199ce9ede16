"""The nine places."""

from kedi_compile.assembly.places import Place


def test_the_places_stand_in_the_specifications_order() -> None:
    """One ordered enum, from the core to the output."""
    assert [place.name for place in Place] == [
        *("CORE", "CONTRACTS", "REPOSITORY", "ENVIRONMENT"),
        *("EPOCH", "EVIDENCE", "FRAME", "CURRENT"),
        "OUTPUT",
    ]
    assert sorted(Place) == list(Place)
    assert list(map(int, Place)) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_place_is_stable_or_late_or_the_frameworks() -> None:
    """1 to 4, 5 to 8, and 9."""
    assert [place for place in Place if place.is_stable] == [1, 2, 3, 4]
    assert [place for place in Place if place.is_late] == [5, 6, 7, 8]
