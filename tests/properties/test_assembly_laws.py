"""The laws of request assembly, over random ledgers, frames, texts and runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assembling import READ, Run, extraction
from assembly_draws import (
    Operation,
    bodies,
    budgets,
    frames,
    ledgers,
    operation,
    operations,
    sources,
    texts,
    words,
)
from kedi_compile.assembly import (
    AssembledRequest,
    ContextBudget,
    Contract,
    ContractRegistry,
    EvidenceLedger,
    LiveFrame,
    Mutation,
    RequestCompiler,
    RequestInputs,
    Source,
    StableCore,
    TaskEpoch,
    Verification,
    Visibility,
)
from kedi_compile.assembly.frame import ProofState, newest_touching
from kedi_compile.assembly.run import AssembledStep, Tail
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.assembly.wording import comparable
from kedi_compile.errors import AssemblyError, BudgetExceeded
from kedi_compile.tokens import text_tokens

TOKENS = UiTokens()
CONTRACTS = ContractRegistry([Contract("look", "1", "Look.", {"explore"})])
PHASES = {"read": "explore", "edit": "implement"}


def compiler() -> RequestCompiler:
    """Return a compiler, built anew; tokens have laws of their own."""
    return RequestCompiler(CONTRACTS, tool_phases=PHASES, ui_tokens=())


@st.composite
def inputs(draw: st.DrawFn) -> RequestInputs:
    """Draw inputs that keep the invariants."""
    return RequestInputs(
        StableCore("Be careful."),
        draw(frames()),
        draw(ledgers()),
        budget=draw(budgets),
        calls=draw(st.sampled_from([(), ("read",), ("read", "edit")])),
        current_message=draw(st.one_of(st.none(), words)),
    )


def compiled(given_inputs: RequestInputs) -> AssembledRequest | None:
    """Return the request, or None where it does not fit."""
    try:
        return compiler().compile(given_inputs)
    except BudgetExceeded:
        return None


@given(inputs())
def test_compiling_is_deterministic_and_pure(given_inputs: RequestInputs) -> None:
    """Two compilers that are built alike agree, and nothing changes by it."""
    before = given_inputs.frame.snapshot(), given_inputs.evidence.snapshot()
    one, other = compiled(given_inputs), compiled(given_inputs)

    assert one == other
    if one is not None and other is not None:
        assert (one.system, one.late, one.dump) == (other.system, other.late, other.dump)
    assert (given_inputs.frame.snapshot(), given_inputs.evidence.snapshot()) == before


@given(inputs())
def test_the_places_are_always_in_order(given_inputs: RequestInputs) -> None:
    """Of sections, of items, and in the text."""
    if (request := compiled(given_inputs)) is None:
        return

    assert [item.place for item in request.items] == sorted(item.place for item in request.items)
    at = 0
    for section in request.sections:
        at = f"{request.system}\n\n{request.late}".index(section.text, at) + len(section.text)


@given(inputs())
def test_a_request_takes_no_more_than_the_room(given_inputs: RequestInputs) -> None:
    """By its own account, and by the text as it is sent."""
    request, room = compiled(given_inputs), given_inputs.budget.room
    if request is None or room is None:
        return
    sent = text_tokens(request.system) + text_tokens(request.late) + given_inputs.budget.history

    assert sum(request.sizes.values()) <= room
    assert sent <= sum(request.sizes.values())


@given(inputs())
def test_every_source_is_in_the_dump_once(given_inputs: RequestInputs) -> None:
    """With one decision, whether it is shown or not."""
    if (request := compiled(given_inputs)) is None:
        return

    handles = Counter(one.handle for one in request.dump.sources)
    assert handles == Counter(source.handle for source in given_inputs.evidence.snapshot().sources)
    assert all(one.reason for one in request.dump.sources)


@given(st.lists(st.tuples(bodies, st.booleans(), st.booleans()), max_size=5), st.integers(150, 900))
def test_no_byte_of_an_omitted_body_is_sent_and_every_shown_one_is_exact(
    drawn: list[tuple[str, bool, bool]], limit: int
) -> None:
    """Each body has words that nothing else has."""
    held = EvidenceLedger()
    for number, (body, requested, is_kept_out) in enumerate(drawn):
        visibility = Visibility.NOT_VISIBLE if is_kept_out else Visibility.VISIBLE
        held.record(Source(f"p{number}", "v", f"<{number}>{body}", READ, visibility=visibility, requested=requested))
    given_inputs = RequestInputs(StableCore("x"), LiveFrame(TaskEpoch("e", "x")), held, budget=ContextBudget(limit))
    if (request := compiled(given_inputs)) is None:
        return

    for number, source in enumerate(held.snapshot().sources):
        is_shown = request.dump.sources[number].visibility == "visible"
        assert (f"<{number}>" in request.late) is is_shown
        assert source.body is not None
        assert (f"\n{source.body}" in request.late) is is_shown


@given(texts)
def test_cleaning_leaves_no_token_and_is_idempotent(text: str) -> None:
    """And leaves a text without tokens the same object."""
    clean = TOKENS.clean(text)

    assert TOKENS.find(clean.text) == []
    assert TOKENS.clean(clean.text).text is clean.text
    assert (clean.text is text) == (not TOKENS.find(text)) or clean.text == text
    assert TOKENS.find(TOKENS.escape(text).text) == []


@given(texts)
def test_cleaning_takes_nothing_but_tokens_and_blanks(text: str) -> None:
    """Every other character stays, in order."""
    clean = TOKENS.clean(text)
    taken = Counter("".join(clean.stripped))
    without = {"`", *" \t\n\r\x85\u2028"}

    def letters(value: str) -> Counter[str]:
        return Counter(one for one in value if one not in without)

    assert letters(text) == letters(clean.text) + taken


@given(st.lists(operations, max_size=30))
def test_no_key_ever_has_two_current_records(done: list[Operation]) -> None:
    """Whatever the sequence of operations."""
    live = LiveFrame(TaskEpoch("e1", "x"))
    for do in done:
        do(live)
        now = live.snapshot()
        for keys in (
            [one.id for one in now.mutations],
            [comparable(one.claim) for one in now.verifications],
            [comparable(one.id) for one in now.requirements],
            [comparable(one.id) for one in now.work],
        ):
            assert len(keys) == len(set(keys))


@given(st.lists(st.one_of(sources(), st.integers(0, 4)), max_size=15))
def test_no_source_is_ever_current_twice(done: list[Source | int]) -> None:
    """However they are recorded and retired."""
    held = EvidenceLedger()
    for one in done:
        current = held.snapshot().sources
        if isinstance(one, Source):
            held.record(one)
        elif one < len(current):
            held.retire(current[one].handle, "gone")
        now = held.snapshot()
        assert len({source.key for source in now.sources}) == len({source.handle for source in now.sources})
        assert len({source.key for source in now.sources}) == len(now.sources)
        assert {*now.extractions, *now.rehydrated} <= {source.handle for source in now.sources}


class Watched(LiveFrame):
    """A frame that remembers every change, and how many of them a check of each claim can have seen."""

    def __init__(self) -> None:
        self.changes: list[Mutation] = []
        self.seen: dict[str, int] = {}
        super().__init__(TaskEpoch("e1", "x"))

    def mutate(self, mutation: Mutation) -> None:
        self.changes.append(mutation)
        super().mutate(mutation)

    def verify(self, verification: Verification) -> None:
        ids = [change.id for change in self.changes]
        named = ids.index(verification.after) + 1 if verification.after in ids else 0
        self.seen[comparable(verification.claim)] = len(ids) if verification.after is None else named
        super().verify(verification)


@given(texts.filter(str.strip), texts.filter(str.strip), texts.filter(str.strip))
def test_no_words_of_a_user_and_no_name_of_a_source_are_refused(raw: str, message: str, name: str) -> None:
    """Tokens of an interface in them are stripped or escaped, and none is left."""
    held = EvidenceLedger()
    held.record(Source(name, name, name, READ, extract=True))
    held.extracted(f"{name}@{name}#whole", extraction(satisfied=(name,), recovery=name))
    drawn = RequestInputs(StableCore("x"), LiveFrame(TaskEpoch("e", raw)), held, current_message=message)
    request = RequestCompiler().compile(drawn)

    assert all(TOKENS.find(item.form.text) == [] for item in request.items)


few = st.sampled_from(["a", "b"])
of_few = st.lists(few, min_size=1, max_size=1).map(tuple)
few_checks = st.builds(
    Verification, few, passed=st.just(True), paths=of_few, after=st.one_of(st.none(), st.just(""), few)
)
few_operations = st.one_of(
    operation("mutate", st.builds(Mutation, few, words, of_few)), operation("verify", few_checks), operations
)


@given(st.lists(few_operations, max_size=30))
def test_a_stale_success_is_never_shown_as_current(done: list[Operation]) -> None:
    """A check that reads as passed has no change behind what it saw that it depends on."""
    live = Watched()
    for do in done:
        do(live)
        now = live.snapshot()
        for check in now.verifications:
            if check.state is ProofState.PASSED:
                later = live.changes[live.seen[comparable(check.claim)] :]
                assert not any(check.depends_on(change) for change in later)
                assert newest_touching(check, now.mutations) is None


steps = st.tuples(
    st.lists(st.one_of(operations, sources()), max_size=3), st.booleans(), st.lists(st.integers(1, 10), max_size=1)
)


@given(st.lists(steps, min_size=1, max_size=6), budgets)
def test_earlier_tails_are_byte_identical_prefixes(
    run: list[tuple[list[Operation | Source], bool, list[int]]], budget: ContextBudget
) -> None:
    """Of those whose messages are there, unless a note says that they went, and one more where the frame changed."""
    live, held = LiveFrame(TaskEpoch("e1", "x")), EvidenceLedger()
    hand = Run(compiler_of(RequestInputs(StableCore("x"), live, held, budget=budget)))
    before: tuple[Tail, ...] = ()
    for changes, is_bound, gone in run:
        for change in changes:
            if isinstance(change, Source):
                held.record(change)
            else:
                change(live)
        left = [f"m{one}" for one in gone if one <= hand.index]
        try:
            step = hand.request(bound=is_bound, left=left)
        except AssemblyError:
            continue
        if not any("left out" in note or "they speak of" in note for note in step.notes):
            there = [tail for tail in before if tail.anchor in hand.present]
            assert [id(tail) for tail in step.tails[: len(there)]] == [id(tail) for tail in there]
            assert len(step.tails) - len(there) == step.is_new
        check_step(step, budget, is_bound=is_bound)
        again = hand.request(bound=is_bound)
        before = again.tails
        assert [id(tail) for tail in again.tails] == [id(tail) for tail in step.tails]
        assert not again.is_new


def check_step(step: AssembledStep, budget: ContextBudget, *, is_bound: bool) -> None:
    """The newest frame speaks of no body that is not there, and the whole takes no more than the room."""
    shown: set[tuple[str, str]] = set()
    for tail in step.tails:
        assert shown.issuperset(tail.leans_on.items()) or is_bound
        shown |= set(tail.bodies.items())
    assert shown.issuperset({**step.request.bodies_earlier, **step.tails[-1].leans_on}.items())
    assert budget.room is None or step.dump().budget.total <= budget.room


def compiler_of(given_inputs: RequestInputs) -> RequestCompiler:
    """Return a compiler that compiles these."""
    return RequestCompiler(CONTRACTS, inputs=given_inputs, tool_phases=PHASES, ui_tokens=())


@given(inputs(), st.integers(1, 3))
def test_an_unchanged_frame_never_adds_a_tail(given_inputs: RequestInputs, requests: int) -> None:
    """However often it is asked for, and whatever the room."""
    hand = Run(compiler_of(replace(given_inputs, current_message=None)))
    try:
        first = hand.request()
    except BudgetExceeded:
        return
    for _ in range(requests):
        assert hand.request().tails == first.tails
