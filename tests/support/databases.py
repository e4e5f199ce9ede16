"""The PostgreSQL server of the tests: the one named by `KEDI_POSTGRES` (`postgres.sh start FOLDER` prints an address).

Each test gets a schema of its own that is dropped afterwards; without the variable these tests skip.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest


@contextmanager
def postgres_schema() -> Iterator[tuple[str, str]]:
    """Make a schema; give the server's address and the options that lead a connection there."""
    address = os.environ.get("KEDI_POSTGRES")
    if not address:
        pytest.skip("needs a PostgreSQL server: KEDI_POSTGRES is unset")
    name = f"kedi_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            yield address, f"-c search_path={name}"
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")
