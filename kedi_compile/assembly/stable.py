"""Places 1 to 4: core, contracts, repository instructions, environment; the text that providers cache.

Nothing in here depends on the state of the work, so the text is byte-identical while its inputs are. Tools are listed
with the digests of their schemas; the schemas themselves travel once, at place 9. Source: Assembly specification,
Deterministic assembly order, Contract selection policy.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedi_compile.assembly.contracts import SelectedContract
from kedi_compile.assembly.inputs import RepositoryInstructions, RequestInputs
from kedi_compile.assembly.items import Candidate, Form, Trust, one_line, quoted
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.wording import normalised


def stable_candidates(inputs: RequestInputs, selection: tuple[SelectedContract, ...]) -> Iterator[Candidate]:
    """Yield the candidates of places 1 to 4, in order; none of them has a smaller form."""
    core = inputs.core
    heading = f"# Core ({one_line(core.id)}, version {one_line(core.version)})"
    yield _candidate(Place.CORE, core.id, core, f"{heading}\n\n{normalised(core.text)}", "always on")
    for selected in selection:
        contract = selected.contract
        heading = f"# Contract {contract.id} (version {contract.version}, sha256 {contract.hash})"
        yield _candidate(Place.CONTRACTS, contract.id, selected, f"{heading}\n\n{contract.body}", selected.reason)
    root = inputs.environment.working_root
    for instructions in inputs.repository:
        yield _instructions(instructions, root)
    yield _candidate(Place.ENVIRONMENT, "environment", inputs.environment, _environment(inputs), "always on")


def _instructions(one: RepositoryInstructions, working_root: str) -> Candidate:
    trust = Trust.TOOL if one.provenance.is_tool else Trust.REPOSITORY
    if one.applies_to(working_root):
        heading = f"# Repository instructions for {quoted(one.root)} ({one_line(str(one.provenance))})"
        form = Form(f"{heading}\n\n{normalised(one.text)}", reason=f"applies to the working root {working_root}")
    else:
        form = Form("", decision="omitted", reason=f"applies below {one.root}, and the working root is {working_root}")
    return Candidate(Place.REPOSITORY, "repository_instructions", one.root, trust, one, form)


def _candidate(place: Place, name: str, record: object, text: str, reason: str) -> Candidate:
    return Candidate(place, _KINDS[place], name, Trust.OPERATOR, record, Form(text, reason=reason))


_KINDS = {Place.CORE: "core", Place.CONTRACTS: "contract", Place.ENVIRONMENT: "environment"}


def _environment(inputs: RequestInputs) -> str:
    environment = inputs.environment
    lines = [
        f"- working root: {quoted(environment.working_root)}",
        f"- model tier: {inputs.tier}",
        *(f"- policy: {flag}" for flag in sorted(inputs.flags)),
        *(f"- {one_line(name)}: {one_line(environment.facts[name])}" for name in sorted(environment.facts)),
        *(f"- tool {quoted(tool.name)}, schema sha256 {tool.digest}" for tool in environment.tools or ()),
    ]
    return "\n".join(["# Environment", "", *lines])
