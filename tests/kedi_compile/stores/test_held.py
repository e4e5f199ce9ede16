"""Records in memory: the very bytes until they are released or expire, within a quota, under references used once."""

import pytest

from kedi_compile.stores.held import HeldRecords, QuotaExceeded
from kedi_compile.stores.protocol import ArchiveStore, Gone


def test_it_is_an_archive_store() -> None:
    """The protocol's methods are there."""
    assert isinstance(HeldRecords(), ArchiveStore)


def test_a_record_comes_back_as_it_was() -> None:
    """The very bytes, and nothing under another name."""
    held = HeldRecords()
    held.put("a", b"\x00\xff", None)

    assert held.get("a", now=1e12) == b"\x00\xff"
    assert held.get("b", now=0.0) is Gone.UNKNOWN


def test_a_released_record_is_remembered_as_released() -> None:
    """An unknown reference too, so that a late writer cannot bring it back."""
    held = HeldRecords()
    held.put("a", b"x", None)
    held.release("a")
    held.release("b")

    assert held.get("a", now=0.0) is Gone.RELEASED
    with pytest.raises(ValueError, match="'b' was used before"):
        held.put("b", b"x", None)
    assert held.held_bytes == 0


def test_a_record_expires_at_its_time() -> None:
    """Not before, and for good; releasing it then changes nothing."""
    held = HeldRecords()
    held.put("a", b"x", 10.0)

    assert held.get("a", now=9.9) == b"x"
    assert held.get("a", now=10.0) is Gone.EXPIRED
    held.release("a")
    assert held.get("a", now=0.0) is Gone.EXPIRED


def test_a_reference_is_used_once() -> None:
    """A second record under it is refused, the first one stays."""
    held = HeldRecords()
    held.put("a", b"x", None)

    with pytest.raises(ValueError, match="Reference 'a' was used before; each record needs one of its own"):
        held.put("a", b"y", None)
    assert held.get("a", now=0.0) == b"x"


def test_a_quota_bounds_what_is_there() -> None:
    """What was released makes room; what does not fit leaves no trace."""
    held = HeldRecords(quota_bytes=3)
    held.put("a", b"xx", None)
    with pytest.raises(QuotaExceeded, match="2 bytes do not fit: 2 of 3 are held; release records, or raise it"):
        held.put("b", b"yy", None)

    held.release("a")
    held.put("b", b"yyy", None)

    assert held.get("b", now=0.0) == b"yyy"
