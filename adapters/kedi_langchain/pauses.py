"""Pauses of a graph: what `interrupt()` raises in a callback reaches the graph, as from any other code of a node.

A request that was paused is neither refused nor failed: nothing was sent, and the graph makes it anew when it resumes.
Measured on langgraph 1.2.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

from kedi_compile import KediError


@contextmanager
def letting_the_graph_pause() -> Generator[None]:
    """Let a pause through that a callback of this package has raised."""
    try:
        yield
    except KediError as error:
        if (pause := error.__cause__) is not None and is_pause(pause):
            raise pause from None
        raise


def is_pause(error: BaseException) -> bool:
    """Tell whether this leaves a graph for a while, or for another node, and is no failure."""
    return isinstance(error, GraphBubbleUp)
