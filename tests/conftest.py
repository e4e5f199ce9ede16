"""What every test shares: the event loop, and how hard the property tests look.

The properties run the same 2,000 examples each time, so a failure in CI can be repeated anywhere. More, and others,
on demand: `HYPOTHESIS_PROFILE=thorough pytest tests/properties`.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

from cassette import VCR_CONFIG

settings.register_profile("ci", max_examples=2_000, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=20_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio only: no host runs its agents on anything else."""
    return "asyncio"


@pytest.fixture
def vcr_config() -> dict[str, Any]:
    """Say how cassettes are written and matched."""
    return dict(VCR_CONFIG)
