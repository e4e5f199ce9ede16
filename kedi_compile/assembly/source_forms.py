"""How a source is shown: its exact body, an extraction from it, or its identity alone.

Every form names the source, its version, coverage, fidelity, and whether its body is there; and where it is not, how
the exact text can be had again. A model is never told that it has what the request lacks. Source: Assembly
specification, Context budget and rehydration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kedi_compile.assembly.evidence import Evidence
from kedi_compile.assembly.inputs import ContextBudget
from kedi_compile.assembly.items import Candidate, Form, Item, Trust, one_line, quoted
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.sources import Extraction, Fidelity, Source, Visibility
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.dump.schema import Decision


def source_candidate(
    source: Source, evidence: Evidence, budget: ContextBudget, tokens: UiTokens, *, is_overwhelming: bool
) -> Candidate:
    """Return a source with the forms it may take in this request."""
    forms = _forms(source, evidence, budget, is_overwhelming=is_overwhelming)
    bare = (_without_tokens(form, tokens) for form in forms)
    return Candidate(Place.EVIDENCE, "source", source.handle, Trust.TOOL, source, next(bare), bare)


def _without_tokens(form: Form, tokens: UiTokens) -> Form:
    """Escape tokens of an interface in names from outside, which nobody vouches for; a body is left as it is."""
    escaped = tokens.escape(form.text)
    if not escaped.escaped:
        return form
    return replace(form, text=escaped.text, reason=f"{form.reason}; escaped {', '.join(escaped.escaped)}")


def _forms(source: Source, evidence: Evidence, budget: ContextBudget, *, is_overwhelming: bool) -> Iterator[Form]:
    extraction = evidence.extractions.get(source.handle)
    is_rehydrated = source.handle in evidence.rehydrated
    if source.handle in budget.sent and budget.sent[source.handle] == source.digest:
        yield _earlier(source)
        return
    may_show = _may_show(source, is_rehydrated=is_rehydrated)
    if may_show and source.is_unhandled:
        yield _full(source, is_rehydrated=is_rehydrated)
        yield _NOTHING  # its identity without its body would be a claim that nothing stands for
        return
    is_too_much = is_overwhelming and not source.requested
    is_taken_apart = extraction is not None and not is_rehydrated and (source.extract or is_too_much)
    if may_show and not is_taken_apart:
        yield _full(source, is_rehydrated=is_rehydrated)
    if extraction is not None and not is_rehydrated:
        yield _extracted(source, extraction, _why_extracted(source, is_too_much=is_too_much))
    yield _identity(source, _absence(source, is_rehydrated=is_rehydrated))


_NOTHING = Form(
    "",
    decision="omitted",
    reason="the result of a cache without a durable handle, so nothing is said of it",
    visibility=Visibility.NOT_VISIBLE,
)


def _why_extracted(source: Source, *, is_too_much: bool) -> str:
    if source.extract:
        return "its record asks for an extraction"
    return "its body is overwhelming, and was extracted" if is_too_much else "its body was extracted"


def _may_show(source: Source, *, is_rehydrated: bool) -> bool:
    return source.body is not None and (is_rehydrated or source.visibility is not Visibility.NOT_VISIBLE)


def _absence(source: Source, *, is_rehydrated: bool) -> str:
    if source.body is None:
        return "its text is not at hand"
    if source.visibility is Visibility.NOT_VISIBLE and not is_rehydrated:
        return "its record keeps it out"
    return ""


def _full(source: Source, *, is_rehydrated: bool) -> Form:
    head = _head(source, source.fidelity, "the body is below")
    decision: Decision = "rehydrated" if is_rehydrated else "included"
    reason = "asked for by its handle" if is_rehydrated else _why(source)
    return Form(head, source.body, decision, reason, visibility=Visibility.VISIBLE, fence=source.fence)


def _why(source: Source) -> str:
    return "a full read that was asked for" if source.requested else "current evidence"


def _earlier(source: Source) -> Form:
    head = _head(source, source.fidelity, "the body is in an earlier frame of this run, above")
    return Form(head, reason=EARLIER, visibility=Visibility.VISIBLE_EARLIER)


EARLIER: Final = "an earlier tail of this run shows it"


def seen_earlier(item: Item) -> Item:
    """Return an item of a tail as a later request sees it that sends the tail again and adds none."""
    if not isinstance(item.record, Source) or item.form.visibility is not Visibility.VISIBLE:
        return item
    return replace(item, form=replace(item.form, reason=EARLIER, visibility=Visibility.VISIBLE_EARLIER))


def _extracted(source: Source, extraction: Extraction, reason: str) -> Form:
    state = "the body is not in this request; what was taken from it is below"
    lines = [_head(source, extraction.fidelity, state), "", *_recovery(source, extraction)]
    lines += [f"- satisfied: {one_line(text)}" for text in extraction.satisfied]
    lines += [f"- unresolved: {one_line(text)}" for text in extraction.unresolved]
    quotes = [f"{one_line(anchor.where)}:\n{anchor.text}" for anchor in extraction.anchors]
    body = "\n\n".join([*quotes, *([extraction.summary] if extraction.summary.strip() else [])])
    return Form(
        "\n".join(lines),
        body or None,
        "compacted",
        reason,
        visibility=Visibility.NOT_VISIBLE,
        fidelity=extraction.fidelity,
    )


def _identity(source: Source, reason: str) -> Form:
    head = _head(source, source.fidelity, "the body is not in this request")
    return Form("\n".join([head, "", *_recovery(source)]), None, "omitted", reason, visibility=Visibility.NOT_VISIBLE)


def _head(source: Source, fidelity: Fidelity, state: str) -> str:
    coverage = "unknown" if source.coverage is None else str(source.coverage)
    return (
        f"## {quoted(source.path)}\n\nversion {quoted(source.version)}; coverage {coverage}; fidelity {fidelity}; "
        f"{state}; from {quoted(str(source.provenance))}; handle {quoted(source.handle)}"
    )


def _recovery(source: Source, extraction: Extraction | None = None) -> list[str]:
    found = (extraction.recovery if extraction else None) or source.recovery_path
    return [f"- for the exact text: {one_line(found)}"]
