"""Request assembly: typed inputs become one request in a fixed, audited order.

    what a task goes on with      records · sources · evidence · frame · live_frame
    which contracts apply         contract · contract_files · contracts · phases
    what comes in                 inputs · live_request · typed · wording · ui_tokens
    what stands where, and fits   places · items · stable · late · source_forms · reduction
    the request, and its run      compiler · assembled · invariants · report · run

The names here are what users import; the rest of the room is its own. Source: Assembly specification.
"""

from kedi_compile.assembly.assembled import AssembledRequest, Section
from kedi_compile.assembly.compiler import ExtractionCallback, RequestCompiler
from kedi_compile.assembly.contract import Contract
from kedi_compile.assembly.contracts import ContractRegistry, SelectedContract
from kedi_compile.assembly.evidence import EvidenceLedger
from kedi_compile.assembly.frame import (
    Acknowledgement,
    Mutation,
    Recovery,
    Requirement,
    SteeringSlot,
    TaskEpoch,
    Verification,
    WorkItem,
    WorkState,
)
from kedi_compile.assembly.inputs import (
    ContextBudget,
    ExperimentalFlag,
    ModelTier,
    RepositoryInstructions,
    RequestInputs,
    RuntimeEnvironment,
    StableCore,
    ToolSchema,
)
from kedi_compile.assembly.live_frame import LiveFrame
from kedi_compile.assembly.live_request import InputsCallback, LiveRequest
from kedi_compile.assembly.phases import Phase
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.sources import (
    Anchor,
    Coverage,
    Extraction,
    ExtractionRequest,
    Fidelity,
    Provenance,
    Source,
    Visibility,
)

__all__ = [
    "Acknowledgement",
    "Anchor",
    "AssembledRequest",
    "ContextBudget",
    "Contract",
    "ContractRegistry",
    "Coverage",
    "EvidenceLedger",
    "ExperimentalFlag",
    "Extraction",
    "ExtractionCallback",
    "ExtractionRequest",
    "Fidelity",
    "InputsCallback",
    "LiveFrame",
    "LiveRequest",
    "ModelTier",
    "Mutation",
    "Phase",
    "Place",
    "Provenance",
    "Recovery",
    "RepositoryInstructions",
    "RequestCompiler",
    "RequestInputs",
    "Requirement",
    "RuntimeEnvironment",
    "Section",
    "SelectedContract",
    "Source",
    "StableCore",
    "SteeringSlot",
    "TaskEpoch",
    "ToolSchema",
    "Verification",
    "Visibility",
    "WorkItem",
    "WorkState",
]
