"""Edit an agent's message history safely, and know exactly what every model request contains.

This package knows no framework; the adapter for Pydantic AI is `kedi_pydantic_ai`.
"""

from kedi_compile.dialect import EntryKind, HistoryEntry, HistoryOrigin, ProtectedReason
from kedi_compile.errors import (
    HistoryConfigurationError,
    HistoryPrefixWarning,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessingWarning,
    HistoryProtectedWarning,
    KediError,
    Violation,
)
from kedi_compile.history.context import (
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
    HistoryProcessorState,
)
from kedi_compile.history.groups import HistoryGroup

__all__ = [
    "EntryKind",
    "HistoryConfigurationError",
    "HistoryEntry",
    "HistoryGroup",
    "HistoryOrigin",
    "HistoryPrefixWarning",
    "HistoryProcessingError",
    "HistoryProcessingValidationError",
    "HistoryProcessingWarning",
    "HistoryProcessorCallback",
    "HistoryProcessorCondition",
    "HistoryProcessorContext",
    "HistoryProcessorState",
    "HistoryProtectedWarning",
    "KediError",
    "ProtectedReason",
    "Violation",
]
