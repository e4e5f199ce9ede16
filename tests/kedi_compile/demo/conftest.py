"""The demo's two runs, made once for each file of tests."""

from __future__ import annotations

import pytest

from kedi_compile.demo.performance import Performance, Refusal, perform, provoke
from kedi_compile.demo.replay import Recording, load_recording


@pytest.fixture(scope="module")
def recording() -> Recording:
    """The shipped recording."""
    return load_recording()


@pytest.fixture(scope="module")
def seen(recording: Recording) -> Performance:
    """One run of the agent."""
    return perform(recording)


@pytest.fixture(scope="module")
def refused(recording: Recording) -> Refusal:
    """One run with the careless slice."""
    return provoke(recording)
