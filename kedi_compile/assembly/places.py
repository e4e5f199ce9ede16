"""The nine places of a request, in the order that every request is assembled in.

1 to 4 are the stable system text, which a provider can cache; 5 to 8 are late, sent with the current request and
never kept in the history; 9 goes through the framework's own fields. Source: Assembly specification, Deterministic
assembly order.
"""

from __future__ import annotations

from enum import IntEnum


class Place(IntEnum):
    """Where something stands in a request; a smaller number comes first."""

    CORE = 1
    CONTRACTS = 2
    REPOSITORY = 3
    ENVIRONMENT = 4
    EPOCH = 5
    EVIDENCE = 6
    FRAME = 7
    CURRENT = 8
    OUTPUT = 9

    @property
    def is_stable(self) -> bool:
        """Whether it belongs to the system text."""
        return self <= Place.ENVIRONMENT

    @property
    def is_late(self) -> bool:
        """Whether it is sent with the current request."""
        return Place.EPOCH <= self <= Place.CURRENT
