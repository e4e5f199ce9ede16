"""The settings: numbers that can work, a store that can keep records, and records that end as they say."""

from typing import Any

import pytest

from kedi_compile import HistoryArchiveSettings, HistoryConfigurationError
from kedi_compile.stores.held import HeldRecords
from kedi_compile.stores.protocol import Gone


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"threshold_tokens": -1}, "`threshold_tokens` is -1; it must be an int of at least 0"),
        ({"threshold_tokens": True}, "`threshold_tokens` is True; it must be an int of at least 0"),
        ({"preserve_recent_tokens": 1.5}, "`preserve_recent_tokens` is 1.5; it must be an int of at least 0"),
        ({"minimum_reduction_tokens": None}, "`minimum_reduction_tokens` is None; it must be an int of at least 0"),
        ({"page_characters": 0}, "`page_characters` is 0; it must be an int of at least 1"),
        ({"expires_after": 0}, "`expires_after` is 0; it must be a positive number of seconds, or None"),
        ({"expires_after": float("inf")}, "`expires_after` is inf; it must be a positive number of seconds, or None"),
        ({"expires_after": True}, "`expires_after` is True; it must be a positive number of seconds, or None"),
        ({"quota_bytes": 0}, "`quota_bytes` is 0; it must be an int of at least 1"),
        ({"store": {}}, "`store` is {}; it must have the methods `put`, `get` and `release` of an archive store"),
        (
            {"store": HeldRecords(), "quota_bytes": 5},
            "`quota_bytes` bounds what this process holds; with a `store` set the bound there",
        ),
    ],
)
def test_what_can_never_work_is_refused(options: dict[str, Any], fault: str) -> None:
    """At construction, with the value and what would be right."""
    given: dict[str, Any] = {"threshold_tokens": 9, "preserve_recent_tokens": 3, "minimum_reduction_tokens": 1}

    with pytest.raises(HistoryConfigurationError) as raised:
        HistoryArchiveSettings(**{**given, **options})

    assert str(raised.value) == fault


def test_records_are_kept_in_this_process_without_a_store() -> None:
    """Each settings object holds its own, until they are released."""
    one, other = HistoryArchiveSettings(9, 3, 1), HistoryArchiveSettings(9, 3, 1)
    one.keep("a", b"x", now=0.0)

    assert one == other
    assert one.find("a", now=0.0) == b"x"
    assert other.find("a", now=0.0) is Gone.UNKNOWN

    one.release("a")

    assert one.find("a", now=0.0) is Gone.RELEASED


def test_a_store_is_given_the_time_at_which_a_record_ends() -> None:
    """Seconds from now, by the clock of the caller."""
    store = HeldRecords()
    settings = HistoryArchiveSettings(9, 3, 1, store=store, expires_after=5)
    settings.keep("a", b"x", now=100.0)

    assert store.get("a", now=104.9) == b"x"
    assert settings.find("a", now=105.0) is Gone.EXPIRED


def test_expired_records_make_room() -> None:
    """A quota counts what can still be read."""
    settings = HistoryArchiveSettings(9, 3, 1, expires_after=5, quota_bytes=1)
    settings.keep("a", b"x", now=0.0)
    settings.keep("b", b"y", now=5.0)

    assert settings.find("b", now=6.0) == b"y"
