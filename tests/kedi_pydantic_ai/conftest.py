"""What all tests of the Pydantic AI adapter share: async tests run on asyncio, the event loop the host supports."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Name the event loop."""
    return "asyncio"
