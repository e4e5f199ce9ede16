"""Turns of a real LionAGI branch, compiled by `kedi_compile.turn`: chat and run send the same messages.

Needs the extra `kedi-compile[lionagi]`. LionAGI itself is imported when one of its branches is first read.
"""

from importlib.util import find_spec

if find_spec("lionagi") is None:  # pragma: no cover  # the wheel check installs the core alone
    msg = "kedi_lionagi needs LionAGI; install it with: pip install 'kedi-compile[lionagi]'"
    raise ImportError(msg)

from kedi_lionagi.branch import RestoredSystem, to_branch, to_instruction
from kedi_lionagi.execution import chat, communicate, compiled_turn, run
from kedi_lionagi.legacy import prepare_messages_for_chat
from kedi_lionagi.request import turn_request
from kedi_lionagi.sessions import Session

__all__ = [
    "RestoredSystem",
    "Session",
    "chat",
    "communicate",
    "compiled_turn",
    "prepare_messages_for_chat",
    "run",
    "to_branch",
    "to_instruction",
    "turn_request",
]
