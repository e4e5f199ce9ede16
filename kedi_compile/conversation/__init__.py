"""Conversations: which turns belong together, what they left, and where that is kept.

`SQLConversationStore` needs the extra `kedi-compile[stores]` and is loaded when it is first named.
"""

from typing import TYPE_CHECKING, Any

from kedi_compile.conversation.checkpoint import ConversationCheckpoint
from kedi_compile.conversation.lanes import LaneKey
from kedi_compile.conversation.scope import AgentProfile, HistoryProcessingSettings, history_scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import ConversationStore

if TYPE_CHECKING:  # SQLAlchemy is an extra, and takes a while to load
    from kedi_compile.stores.sql import SQLConversationStore

__all__ = [
    "AgentProfile",
    "ConversationCheckpoint",
    "ConversationState",
    "ConversationStore",
    "HistoryProcessingSettings",
    "LaneKey",
    "MemoryConversationStore",
    "SQLConversationStore",
    "history_scope",
]


def __getattr__(name: str) -> Any:
    if name != "SQLConversationStore":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from kedi_compile.stores.sql import SQLConversationStore as found  # noqa: N813, PLC0415  # loaded when it is named

    return found
