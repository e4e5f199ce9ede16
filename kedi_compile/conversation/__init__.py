"""Conversations: which turns belong together, what they left, and where that is kept.

`SQLConversationStore` needs the extra `kedi-compile[stores]`; it is in `kedi_compile.stores.sql`.
"""

from kedi_compile.conversation.checkpoint import ConversationCheckpoint
from kedi_compile.conversation.lanes import LaneKey
from kedi_compile.conversation.scope import AgentProfile, HistoryProcessingSettings, history_scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.stores.protocol import ConversationStore

__all__ = [
    "AgentProfile",
    "ConversationCheckpoint",
    "ConversationState",
    "ConversationStore",
    "HistoryProcessingSettings",
    "LaneKey",
    "history_scope",
]
