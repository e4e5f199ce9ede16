"""A database of each kind for the tests of the stores, empty and the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from stores import DATABASES, address, engine_of


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of each kind."""
    with address(request.param, tmp_path) as one:
        yield one


@pytest.fixture
def engine(place: str) -> Iterator[Engine]:
    """Another way into the same database."""
    one = engine_of(place)
    yield one
    one.dispose()
