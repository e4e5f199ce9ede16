"""The public names, exactly: a name that appears or disappears is a decision, made here."""

import inspect
from dataclasses import fields

import pytest

import kedi_compile
import kedi_compile.dump
import kedi_langchain
import kedi_lionagi
import kedi_pydantic_ai

CORE = [
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
PYDANTIC_AI = ["PydanticAdapter", "PydanticDialect", "messages_of", "to_model_messages"]
LANGCHAIN = ["LangChainAdapter", "LangChainDialect", "messages_of", "to_messages"]
LIONAGI = [
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
DUMP = ["DumpFile", "Reading", "Redact", "RequestDump", "read_dumps"]


def test_the_dump_exports_exactly_these_names() -> None:
    """What writes a dump to a file of one's own settings, and what reads one."""
    assert kedi_compile.dump.__all__ == DUMP


def test_the_core_exports_exactly_these_names() -> None:
    """`kedi_compile` has these public names, in order."""
    assert kedi_compile.__all__ == CORE


def test_the_adapters_export_exactly_these_names() -> None:
    """Each adapter has these public names, in order."""
    assert kedi_pydantic_ai.__all__ == PYDANTIC_AI
    assert kedi_langchain.__all__ == LANGCHAIN
    assert kedi_lionagi.__all__ == LIONAGI


@pytest.mark.parametrize("name", CORE)
def test_every_public_name_of_the_core_is_there(name: str) -> None:
    """What is listed can be imported, and classes say what they are for."""
    value = getattr(kedi_compile, name)

    assert not inspect.isclass(value) or value.__doc__


def test_nothing_else_looks_public() -> None:
    """A name without underscore at the root is listed or a module."""
    names = {name for name, value in vars(kedi_compile).items() if not name.startswith("_")}
    modules = {name for name in names if inspect.ismodule(getattr(kedi_compile, name))}

    assert names - modules == set(CORE)


def test_the_members_of_the_context_are_these() -> None:
    """A callback works with these, and the rest is machinery."""
    context = kedi_compile.HistoryProcessorContext
    members = {name for name in {*dir(context), *(field.name for field in fields(context))} if name[0] != "_"}

    assert members == {
        *("messages", "groups", "entries", "adapter_shortname", "model_id", "request_index", "cache_epoch"),
        *("estimated_tokens", "measured_tokens"),
        *("keep_recent_groups", "replace_groups", "text_message", "summary_messages"),
    }
