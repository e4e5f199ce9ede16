"""Edit an agent's message history safely, and know exactly what every model request contains.

This package knows no framework; the adapters are `kedi_pydantic_ai`, `kedi_langchain` and `kedi_lionagi`. The records
that a turn is compiled from are in `kedi_compile.turn`, those that a request is assembled from in
`kedi_compile.assembly`.
"""

from kedi_compile.assembled_turn import compile_assembled_turn
from kedi_compile.assembly import (
    AssembledRequest,
    ContextBudget,
    Contract,
    ContractRegistry,
    EvidenceLedger,
    LiveFrame,
    RequestCompiler,
    RequestInputs,
    StableCore,
    SteeringSlot,
    TaskEpoch,
)
from kedi_compile.conversation import (
    AgentProfile,
    ConversationCheckpoint,
    ConversationState,
    HistoryProcessingSettings,
    history_scope,
)
from kedi_compile.dialect import EntryKind, HistoryEntry, HistoryOrigin, ProtectedReason
from kedi_compile.dump.schema import RequestDump
from kedi_compile.errors import (
    AssemblyError,
    BudgetExceeded,
    ConversationConflict,
    ConversationError,
    DumpError,
    HistoryConfigurationError,
    HistoryLaneWarning,
    HistoryPrefixWarning,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessingWarning,
    HistoryProtectedWarning,
    InvariantViolation,
    KediError,
    TurnCompileError,
    TurnStreamError,
    UnknownInputError,
    UnknownRecordError,
    Violation,
)
from kedi_compile.history.archive_settings import HistoryArchiveSettings
from kedi_compile.history.context import (
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
    HistoryProcessorState,
)
from kedi_compile.history.groups import HistoryGroup
from kedi_compile.history.usage import UsageCheckpoint
from kedi_compile.message import CompiledMessage, MessageRole
from kedi_compile.turn import CompiledChatRequest, ContextBlock, TurnRequest, compile_chat_request, provider_messages

__all__ = [
    "AgentProfile",
    "AssembledRequest",
    "AssemblyError",
    "BudgetExceeded",
    "CompiledChatRequest",
    "CompiledMessage",
    "ContextBlock",
    "ContextBudget",
    "Contract",
    "ContractRegistry",
    "ConversationCheckpoint",
    "ConversationConflict",
    "ConversationError",
    "ConversationState",
    "DumpError",
    "EntryKind",
    "EvidenceLedger",
    "HistoryArchiveSettings",
    "HistoryConfigurationError",
    "HistoryEntry",
    "HistoryGroup",
    "HistoryLaneWarning",
    "HistoryOrigin",
    "HistoryPrefixWarning",
    "HistoryProcessingError",
    "HistoryProcessingSettings",
    "HistoryProcessingValidationError",
    "HistoryProcessingWarning",
    "HistoryProcessorCallback",
    "HistoryProcessorCondition",
    "HistoryProcessorContext",
    "HistoryProcessorState",
    "HistoryProtectedWarning",
    "InvariantViolation",
    "KediError",
    "LiveFrame",
    "MessageRole",
    "ProtectedReason",
    "RequestCompiler",
    "RequestDump",
    "RequestInputs",
    "StableCore",
    "SteeringSlot",
    "TaskEpoch",
    "TurnCompileError",
    "TurnRequest",
    "TurnStreamError",
    "UnknownInputError",
    "UnknownRecordError",
    "UsageCheckpoint",
    "Violation",
    "compile_assembled_turn",
    "compile_chat_request",
    "history_scope",
    "provider_messages",
]
