"""What `kedi-compile explain` does once its history is read: load the framework, explain, and write the answer.

The history is read by `reading.py` first, because it says which framework is needed; a missing one is the command
line's to report.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from kedi_compile import KediError
from kedi_compile.explain.explanation import Explanation, Inquiry
from kedi_compile.explain.facts import explain
from kedi_compile.explain.reading import SavedHistory, UnreadableHistory
from kedi_compile.explain.show import draw, printable
from kedi_compile.explain.stacks import stack_named


def run(out: Console, saved: SavedHistory, inquiry: Inquiry, *, entries: bool, as_json: bool) -> None:
    """Explain a saved history on `out`, as a drawing or as one JSON object.

    Raises:
        UnreadableHistory: a message is none of the framework's, or is nested too deeply.
        KediError: the messages cannot be processed.
    """
    explanation = explained(saved, inquiry)
    if as_json:
        out.out(explanation.to_json(), highlight=False)
    else:
        draw(out, explanation, entries=entries)


def explained(saved: SavedHistory, inquiry: Inquiry) -> Explanation:
    """Load the messages of a saved history and explain them.

    Raises:
        UnreadableHistory: a message is none of the framework's, or is nested too deeply.
        KediError: the messages cannot be processed.
    """
    stack = stack_named(saved.stack)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a framework says of old message forms is no news to who asks here
        messages: Sequence[Any] = [stack.load(index, message) for index, message in enumerate(saved.messages)]
        try:
            return explain(stack, messages, inquiry)
        except RecursionError as error:
            raise UnreadableHistory("The history is nested too deeply") from error


def complain(err: Console, error: UnreadableHistory | KediError) -> None:
    """Say in one line what is wrong with what was given."""
    line = printable(" ".join(str(error).split()))
    err.print(Text(f"kedi-compile explain: {line}", "red"), soft_wrap=True)
