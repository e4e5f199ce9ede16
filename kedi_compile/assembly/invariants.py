"""The eight invariants: they check the assembled request, not its inputs.

    no_ui_tokens                          no command token of an interface in model-visible content
    single_current_frame                  no controller summary unless it is the single current one
    no_duplicate_records                  no duplicate card, action, or failure record
    no_partial_as_full                    no partial extraction labelled as full source
    no_stale_success                      no stale success labelled current after a relevant mutation
    source_needs_coverage_and_visibility  no source identity without coverage and visibility
    cache_result_is_visible_or_handled    no cache result without its body or an explicit durable handle
    no_policy_from_untrusted              no policy inferred from untrusted tool content

All run, and all failures are reported together, each with a hint at the record to fix. Source: Assembly specification,
Compiler invariants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from kedi_compile.assembly.assembled import AssembledRequest
from kedi_compile.assembly.frame import (
    Mutation,
    Requirement,
    SteeringSlot,
    Verification,
    WorkItem,
    newest_touching,
)
from kedi_compile.assembly.inputs import RepositoryInstructions
from kedi_compile.assembly.items import Item, Trust
from kedi_compile.assembly.late import passed_head
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.sources import Fidelity, Source, Visibility
from kedi_compile.assembly.wording import comparable, utf8_size
from kedi_compile.errors import BrokenInvariant, InvariantViolation

Invariant = Callable[[AssembledRequest], Iterator[BrokenInvariant]]


def no_ui_tokens(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """No command token of an interface stands in model-visible content, outside code and bodies of evidence."""
    own = [(item, _own_words(item)) for item in request.items]
    if not request.ui_tokens.may_be_in(text for _, texts in own for text in texts):
        return
    for item, texts in own:
        if found := [token for text in texts for token in request.ui_tokens.find(text)]:
            yield BrokenInvariant(
                "no_ui_tokens",
                f"{_name(item)} holds {', '.join(dict.fromkeys(found))}, which an interface takes for itself",
                "take it out of the record, or quote it in backticks",
                (item.id,),
            )


def _own_words(item: Item) -> tuple[str, ...]:
    """What is no data: our own words, and what the user wrote."""
    return (item.form.text, item.form.body or "") if item.trust is Trust.USER else (item.form.text,)


def single_current_frame(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """There is exactly one task epoch, and at most one steering slot and one recovery summary."""
    counts = Counter(item.kind for item in request.items if item.form.is_shown)
    for kind, least in (("task_epoch", 1), ("steering", 0), ("recovery", 0)):
        if not least <= counts[kind] <= 1:
            ids = tuple(item.id for item in request.items if item.kind == kind)
            yield BrokenInvariant(
                "single_current_frame",
                f"the request shows {counts[kind]} {kind} records {list(ids)!r}",
                "keep the single current one and retire the others",
                ids,
            )


def no_duplicate_records(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """No two records of one kind have one id, whatever the case and spacing of its letters, or say the same."""
    shown = [item for item in request.items if item.form.is_shown and item.place.is_late]
    for what, key in (("id", _comparable_id), ("words", _words)):
        keys = [(item.kind, key(item)) for item in shown]
        if len(set(keys)) == len(keys):
            continue
        groups: dict[tuple[str, str], list[Item]] = {}
        for item, own in zip(shown, keys, strict=True):
            groups.setdefault(own, []).append(item)
        shown = [twins[0] for twins in groups.values()]  # what has one id is reported once
        yield from (_twins(twins, what) for twins in groups.values() if len(twins) > 1)


def _twins(twins: list[Item], what: str) -> BrokenInvariant:
    ids = tuple(item.id for item in twins)
    detail = f"{len(twins)} {twins[0].kind} records have the same {what}: {', '.join(map(repr, ids))}"
    return BrokenInvariant("no_duplicate_records", detail, "give one canonical record, and retire the others", ids)


def _comparable_id(item: Item) -> str:
    return item.id if isinstance(item.record, (Source, Mutation)) else comparable(item.id)


def _words(item: Item) -> str:
    match item.record:
        case WorkItem(title=title, note=note):
            return comparable(f"{title}; {note}")
        case Requirement(text=text):
            return comparable(text)
        case _:
            return item.id  # nothing but its id tells it from another


def no_partial_as_full(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """A body that is labelled full is the covered part of its source, whole, and from the source itself."""
    for source, item in request.shown_sources:
        if source.fidelity is Fidelity.FULL and (why := _partial(source)):
            hint = "give its real coverage, or label it extracted or summarised"
            yield BrokenInvariant("no_partial_as_full", f"{_name(item)} is labelled full, and {why}", hint, (item.id,))


def _partial(source: Source) -> str | None:
    if source.derived_from is not None:
        return f"it is derived from {source.derived_from!r}"
    if source.body is None or source.coverage is None:
        return None
    size, coverage = utf8_size(source.body), source.coverage
    if coverage.is_whole:
        is_other = source.size is not None and source.size != size
        return f"its body has {size:,} bytes, and the whole source {source.size:,}" if is_other else None
    if coverage.unit == "bytes" and source.size is not None and coverage.ranges[-1][1] > source.size:
        return f"it covers {coverage}, and the whole source has {source.size:,} bytes"
    there = size if coverage.unit == "bytes" else _lines(source.body)
    unit = coverage.unit if there != 1 else coverage.unit.removesuffix("s")
    return f"its body has {there:,} {unit}, not {coverage.size:,}" if there != coverage.size else None


def _lines(body: str) -> int:
    return body.count("\n") + (body != "" and not body.endswith("\n"))


def no_stale_success(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """A check that passed before a mutation it depends on is not labelled passed."""
    for item in request.items:
        check = item.record
        if not isinstance(check, Verification) or not check.passed or not item.form.is_shown:
            continue
        if not item.form.text.startswith(passed_head(check.claim)):
            continue
        later = newest_touching(check, request.frame.mutations)
        if later is not None or check.stale_by is not None:
            by = later.id if later is not None else check.stale_by
            yield BrokenInvariant(
                "no_stale_success",
                f"the check of {check.claim!r} is labelled passed, and mutation {by!r} came after it",
                "check again, or record the mutation through the live frame",
                (item.id,),
            )


def source_needs_coverage_and_visibility(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """Every source that the request names says what part it covers and whether its body is there."""
    for source, item in request.shown_sources:
        missing = [name for name in ("coverage", "visibility") if getattr(source, name) is None]
        missing += ["visibility"] if item.form.visibility is None and "visibility" not in missing else []
        if missing:
            detail = f"{_name(item)} has no {' and no '.join(missing)}"
            hint = "say what part of the source the record covers, and whether its body is to be shown"
            yield BrokenInvariant("source_needs_coverage_and_visibility", detail, hint, (item.id,))


def cache_result_is_visible_or_handled(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """The result of a cache shows its body, or names the durable handle it can be had by."""
    for source, item in request.shown_sources:
        is_visible = item.form.visibility in (Visibility.VISIBLE, Visibility.VISIBLE_EARLIER)
        if source.is_cached and not is_visible and source.durable_handle is None:
            detail = f"{_name(item)} is the result of a cache, without its body and without a durable handle"
            hint = "give the record its body, or a `durable_handle`"
            yield BrokenInvariant("cache_result_is_visible_or_handled", detail, hint, (item.id,))


_POLICY: Final = frozenset({Place.CORE, Place.CONTRACTS, Place.REPOSITORY})


def no_policy_from_untrusted(request: AssembledRequest) -> Iterator[BrokenInvariant]:
    """Core, contracts, repository instructions and steering come from people, never from what a tool returned."""
    for item in request.items:
        is_policy = item.place in _POLICY or item.kind == "steering"
        if is_policy and item.form.is_shown and (item.trust is Trust.TOOL or _is_from_tool(item.record)):
            detail = f"{_name(item)} would bind the model, and comes from a tool"
            hint = "record what the tool returned as evidence; a person or a file of the repository may give policy"
            yield BrokenInvariant("no_policy_from_untrusted", detail, hint, (item.id,))


def _is_from_tool(record: object) -> bool:
    return isinstance(record, (RepositoryInstructions, SteeringSlot)) and record.provenance.is_tool


def _name(item: Item) -> str:
    return f"{item.kind.replace('_', ' ')} {item.id!r}"


INVARIANTS: Final[tuple[Invariant, ...]] = (
    no_ui_tokens,
    single_current_frame,
    no_duplicate_records,
    no_partial_as_full,
    no_stale_success,
    source_needs_coverage_and_visibility,
    cache_result_is_visible_or_handled,
    no_policy_from_untrusted,
)


def check_invariants(request: AssembledRequest) -> None:
    """Run every invariant.

    Raises:
        InvariantViolation: at least one is broken; the error holds all that are.
    """
    if broken := [one for invariant in INVARIANTS for one in invariant(request)]:
        raise InvariantViolation(broken)
