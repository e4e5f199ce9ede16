"""Places 5 to 8: epoch and objective, evidence, frame, the current message and active steering.

They are sent with the current request and never kept in the history. Late placement is deliberate: policies guide, and
must not bury what the model is deciding now. Source: Assembly specification, Deterministic assembly order, Dynamic
frame requirements.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedi_compile.assembly.evidence import Evidence
from kedi_compile.assembly.frame import Frame, Mutation, ProofState, Verification, WorkItem, WorkState
from kedi_compile.assembly.inputs import ContextBudget
from kedi_compile.assembly.items import Candidate, Form, Trust, one_line, quoted
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.source_forms import source_candidate
from kedi_compile.assembly.ui_tokens import UiTokens, UserText
from kedi_compile.assembly.wording import normalised

RECENT_MUTATIONS = 20
"""Mutations beyond the newest of this many are stale frames, and go when there is no room."""


def epoch_candidate(frame: Frame, tokens: UiTokens) -> Candidate:
    """Return the epoch: the user's words, and the objective now."""
    epoch = frame.epoch
    raw = tokens.clean(epoch.raw_objective)
    objective = f"Objective now: {one_line(epoch.objective)}\n\n" if epoch.objective else ""
    text = f"# Task epoch {quoted(epoch.id)}\n\n{objective}The user's request, word for word:"
    form = Form(text, raw.text, reason=f"the active task epoch{told(raw)}")
    return Candidate(Place.EPOCH, "task_epoch", epoch.id, Trust.USER, epoch, form)


def told(user: UserText) -> str:
    """Say what was done about tokens of an interface in a user's words; nothing where there were none."""
    done = (("stripped", user.stripped), ("escaped", user.escaped))
    return "".join(f"; {what} {', '.join(found)}" for what, found in done if found)


def evidence_candidates(
    evidence: Evidence, budget: ContextBudget, overwhelming: frozenset[str], tokens: UiTokens
) -> Iterator[Candidate]:
    """Yield the sources, in the order they became current; `overwhelming` are the handles of too much at once."""
    for source in evidence.sources:
        yield source_candidate(source, evidence, budget, tokens, is_overwhelming=source.handle in overwhelming)


def frame_candidates(frame: Frame) -> Iterator[Candidate]:
    """Yield mutations, checks, requirements, recovery, and work items, in this order."""
    newest = {mutation.id for mutation in frame.mutations[-RECENT_MUTATIONS:]}
    for mutation in frame.mutations:
        yield _mutation(mutation, is_recent=mutation.id in newest)
    for verification in frame.verifications:
        yield _verification(verification)
    for requirement in frame.requirements:
        text = f"- unresolved requirement {quoted(requirement.id)}: {one_line(requirement.text)}"
        yield _line("requirement", requirement.id, requirement, Form(text, reason="unresolved"))
    if frame.recovery is not None:
        told_lines = "\n".join(f"> {line}" for line in normalised(frame.recovery.text).splitlines())
        form = Form(f"- current recovery summary:\n\n{told_lines}", reason="the single current one")
        yield _line("recovery", "recovery", frame.recovery, form)
    for item in frame.work:
        yield _work(item)


def _line(kind: str, name: str, record: object, fullest: Form, *smaller: Form) -> Candidate:
    return Candidate(Place.FRAME, kind, name, Trust.OPERATOR, record, fullest, smaller)


def _mutation(mutation: Mutation, *, is_recent: bool) -> Candidate:
    paths = f" ({', '.join(map(quoted, mutation.paths))})" if mutation.paths else ""
    head = f"- mutation {quoted(mutation.id)}{paths}"
    full = Form(f"{head}: {one_line(mutation.summary)}", reason="recent", narration=mutation.summary)
    smaller = [Form(head, decision="compacted", reason="its summary was left out")]
    if not is_recent:
        smaller = [Form("", decision="omitted", reason=f"older than the newest {RECENT_MUTATIONS}")]
    return _line("mutation", mutation.id, mutation, full, *smaller)


_PROOF_WORDS = {
    ProofState.PASSED: "passed",
    ProofState.FAILED: "failed",
    ProofState.STALE: "stale: it passed, and something it depends on was changed since",
}


def proof_head(verification: Verification) -> str:
    """Return the line that says what a check says now."""
    is_stale = verification.state is ProofState.STALE
    by = f" by mutation {quoted(verification.stale_by or '')}" if is_stale else ""
    return f"{_says(verification.claim, verification.state)}{by}"


def passed_head(claim: str) -> str:
    """Return how the line of a check begins that passed and is not stale."""
    return _says(claim, ProofState.PASSED)


def _says(claim: str, state: ProofState) -> str:
    return f"- check of {quoted(claim)}: {_PROOF_WORDS[state]}"


def _verification(verification: Verification) -> Candidate:
    head = proof_head(verification)
    if not verification.detail.strip():
        return _line("verification", verification.claim, verification, Form(head, reason=verification.state))
    full = Form(f"{head}; {one_line(verification.detail)}", reason=verification.state, narration=verification.detail)
    bare = Form(head, decision="compacted", reason="its detail was left out")
    return _line("verification", verification.claim, verification, full, bare)


def _work(item: WorkItem) -> Candidate:
    head = f"- work item {quoted(item.id)}, {item.state}: {one_line(item.title)}"
    forms = [Form(head, reason=f"{item.state}")]
    if item.note.strip():
        forms = [
            Form(f"{head}; {one_line(item.note)}", reason=f"{item.state}", narration=item.note),
            Form(head, decision="compacted", reason="its note was left out"),
        ]
    if item.state is WorkState.DONE:
        forms.append(Form("", decision="omitted", reason="done"))
    return _line("work_item", item.id, item, *forms)


def current_candidates(frame: Frame, message: str | None, tokens: UiTokens) -> Iterator[Candidate]:
    """Yield the user's message, where it is not the framework's own, and the protected steering slot."""
    if message is not None:
        clean = tokens.clean(message)
        form = Form(clean.text, reason=f"the current message{told(clean)}")
        yield Candidate(Place.CURRENT, "current_message", "current_message", Trust.USER, message, form)
    if (slot := frame.steering) is not None:
        text = (
            f"# Active steering {quoted(slot.id)}\n\n{normalised(slot.text)}\n\n"
            "It holds until it is acknowledged by its id."
        )
        trust = Trust.TOOL if slot.provenance.is_tool else Trust.OPERATOR
        form = Form(text, reason="active until it is acknowledged")
        yield Candidate(Place.CURRENT, "steering", slot.id, trust, slot, form)
