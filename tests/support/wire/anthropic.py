"""Anthropic Messages: what `/v1/messages` accepts.

Neighbours of one role are merged first. Every tool call is answered by a result at the head of the next
user turn, ids are unique, text is not empty, and thinking goes back unmodified inside an open tool loop.
Rules that need the server's memory (genuine signatures, thinking bound to its prefix) are in `thinking.py`;
they are skipped without a ledger. Which rule has which words: `words.py`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from .anthropic_turns import SERVER_CALL_KINDS, THINKING_KINDS, Placed, Turn, open_loop, read_turns
from .reading import Body, count_key, is_blank, mapping_of, mappings_of, repeated, text_of, with_next
from .refusal import Refusal
from .thinking import (
    BINDING_BETA,
    Reading,
    ThinkingLedger,
    binds_thinking,
    latest_thinking_is_unmodified,
    signatures_are_genuine,
    thinking_fits_its_prefix,
)
from .words import refuse

_MOST_MESSAGES = 100_000
_MOST_CACHE_POINTS = 4
_ONLY_ROLE = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "server_tool_use": "assistant",
    "mcp_tool_use": "assistant",
    "tool_result": "user",
}


def messages_present(reading: Reading) -> Iterator[Refusal]:
    """A request has at least one message."""
    if not reading.turns:
        yield _refuse("messages_present")


def messages_not_too_many(reading: Reading) -> Iterator[Refusal]:
    """A request has at most 100,000 messages."""
    if len(mappings_of(reading.body.get("messages"))) > _MOST_MESSAGES:
        yield _refuse("messages_not_too_many")


def messages_have_known_roles(reading: Reading) -> Iterator[Refusal]:
    """A message is from the user, the assistant or, in between, the system."""
    for turn in reading.turns:
        if turn.role not in ("user", "assistant", "system"):
            yield _refuse("messages_have_known_roles", index=turn.index)


def first_message_is_from_the_user(reading: Reading) -> Iterator[Refusal]:
    """A conversation begins with the user, or with the compaction that stands for its beginning."""
    if reading.turns and reading.turns[0].role == "assistant" and reading.turns[0].first_kind() != "compaction":
        yield _refuse("first_message_is_from_the_user")


def content_is_not_empty(reading: Reading) -> Iterator[Refusal]:
    """Every message has content; only a last assistant message may be empty."""
    messages = mappings_of(reading.body.get("messages"))
    for index, message in enumerate(messages):
        last = index == len(messages) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not last:
            yield _refuse("content_is_not_empty", index=index)


def text_is_not_empty(reading: Reading) -> Iterator[Refusal]:
    """No text block is empty, inside tool results neither."""
    for block in _texts(reading):
        if block.get("text") == "":
            yield _refuse("text_is_not_empty")


def text_is_not_whitespace(reading: Reading) -> Iterator[Refusal]:
    """No text block of a message is only whitespace."""
    for block in _texts(reading):
        if block.get("text") and is_blank(block.get("text")):
            yield _refuse("text_is_not_whitespace")


def blocks_stand_in_their_role(reading: Reading) -> Iterator[Refusal]:
    """Calls and thinking are the assistant's, results of client tools the user's."""
    for turn, block in _placed(reading):
        role = _ONLY_ROLE.get(block.kind, turn.role)
        if role != turn.role:
            yield _refuse("blocks_stand_in_their_role", index=block.message, kind=block.kind, role=role)


def call_ids_have_allowed_characters(reading: Reading) -> Iterator[Refusal]:
    """A call id is made of letters, digits, underscore and hyphen."""
    for block in _of_kind(reading, "tool_use"):
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", block.text("id")):
            yield _refuse("call_ids_have_allowed_characters", path=block.path)


def call_ids_are_unique(reading: Reading) -> Iterator[Refusal]:
    """No two calls of a request share an id."""
    if repeated(block.text("id") for block in _of_kind(reading, "tool_use")):
        yield _refuse("call_ids_are_unique")


def calls_are_answered_directly_after(reading: Reading) -> Iterator[Refusal]:
    """All results of a turn stand at the head of the next user turn, before any text."""
    for turn, following in with_next(reading.turns):
        answered = {block.text("tool_use_id") for block in following.leading_results()} if following else set()
        calls = (block.text("id") for block in turn.of_kind("tool_use"))
        missing = [call for call in calls if call not in answered]
        if missing:
            ids = ", ".join(missing)
            yield _refuse("calls_are_answered_directly_after", index=turn.blocks[0].message, ids=ids)


def results_answer_the_previous_message(reading: Reading) -> Iterator[Refusal]:
    """A result belongs to a call of the turn directly before it."""
    previous = Turn("", -1, ())
    for turn in reading.turns:
        calls = {block.text("id") for block in previous.of_kind("tool_use")}
        for block in turn.of_kind("tool_result"):
            if block.text("tool_use_id") not in calls:
                id_ = block.text("tool_use_id")
                yield _refuse("results_answer_the_previous_message", path=block.path, id=id_)
        previous = turn


def each_call_has_a_single_result(reading: Reading) -> Iterator[Refusal]:
    """No call is answered twice."""
    for turn in reading.turns:
        counts = Counter(block.text("tool_use_id") for block in turn.of_kind("tool_result"))
        for block in turn.of_kind("tool_result"):
            if counts.pop(block.text("tool_use_id"), 1) > 1:
                id_ = block.text("tool_use_id")
                yield _refuse("each_call_has_a_single_result", path=block.path, id=id_)


def server_results_have_their_call(reading: Reading) -> Iterator[Refusal]:
    """A result of a server tool has its call somewhere before it."""
    seen: set[str] = set()
    for _, block in _placed(reading):
        if block.kind in SERVER_CALL_KINDS:
            seen.add(block.text("id"))
        elif block.kind != "tool_result" and block.is_server_result() and block.text("tool_use_id") not in seen:
            id_ = block.text("tool_use_id")
            yield _refuse("server_results_have_their_call", path=block.path, kind=block.kind, id=id_)


def server_calls_get_their_result(reading: Reading) -> Iterator[Refusal]:
    """A server call may stay in flight, but not past a later user turn that is more than results."""
    answered = {b.text("tool_use_id") for _, b in _placed(reading) if b.is_server_result()}
    spoken = [turn.index for turn in reading.turns if turn.role == "user" and _is_more_than_results(turn)]
    for block in _of_kind(reading, *SERVER_CALL_KINDS):
        if block.text("id") not in answered and any(index > block.message for index in spoken):
            name = "mcp" if block.kind == "mcp_tool_use" else block.text("name")
            id_ = block.text("id")
            yield _refuse("server_calls_get_their_result", index=block.message, name=name, id=id_)


def thinking_carries_its_signature(reading: Reading) -> Iterator[Refusal]:
    """Thinking without its signature, or redacted thinking without its data, is not accepted."""
    for block in reading.thinking():
        field = "signature" if block.kind == "thinking" else "data"
        if not block.text(field):
            yield _refuse("thinking_carries_its_signature", path=block.path, kind=block.kind, field=field)


def open_loop_begins_with_thinking(reading: Reading) -> Iterator[Refusal]:
    """With thinking enabled, the turn that opened the running tool loop begins with its thinking."""
    if reading.thinking_mode != "enabled" or reading.bound:
        return
    for turn in open_loop(reading.turns)[:1]:
        if turn.first_kind() not in THINKING_KINDS:
            yield _refuse("open_loop_begins_with_thinking", index=turn.index, found=turn.first_kind())


def binding_control_needs_its_beta(reading: Reading) -> Iterator[Refusal]:
    """The prefix behaviour can only be chosen with the beta header."""
    thinking = mapping_of(reading.body.get("thinking"))
    if "block_binding" in thinking and BINDING_BETA not in reading.betas:
        yield _refuse("binding_control_needs_its_beta", kind=reading.thinking_mode or "adaptive")


def no_prefill_on_newer_models(reading: Reading) -> Iterator[Refusal]:
    """From 4.6 on a request ends with the user, or with a server call that is still running."""
    last = reading.turns[-1] if reading.turns else None
    if last and last.role == "assistant" and not _is_suspended(last) and _refuses_prefill(reading.model):
        yield _refuse("no_prefill_on_newer_models")


def cache_points_are_at_most_four(reading: Reading) -> Iterator[Refusal]:
    """Tools, system and messages carry at most four cache markers together."""
    marked = [reading.body.get(key) for key in ("tools", "system", "messages")]
    count = count_key(marked, "cache_control")
    if count > _MOST_CACHE_POINTS:
        yield _refuse("cache_points_are_at_most_four", count=count)


Rule = Callable[[Reading], Iterator[Refusal]]

RULES: tuple[Rule, ...] = (
    messages_present,
    messages_not_too_many,
    messages_have_known_roles,
    binding_control_needs_its_beta,
    thinking_carries_its_signature,
    call_ids_have_allowed_characters,
    blocks_stand_in_their_role,
    first_message_is_from_the_user,
    content_is_not_empty,
    text_is_not_empty,
    text_is_not_whitespace,
    cache_points_are_at_most_four,
    call_ids_are_unique,
    each_call_has_a_single_result,
    calls_are_answered_directly_after,
    results_answer_the_previous_message,
    server_results_have_their_call,
    server_calls_get_their_result,
    no_prefill_on_newer_models,
    open_loop_begins_with_thinking,
    latest_thinking_is_unmodified,
    signatures_are_genuine,
    thinking_fits_its_prefix,
)


def read(
    body: Body,
    *,
    ledger: ThinkingLedger | None = None,
    betas: frozenset[str] = frozenset(),
    bound: bool | None = None,
) -> Reading:
    """Return the request as the rules see it; `bound=None` looks the model up."""
    binds = binds_thinking(text_of(body.get("model"))) if bound is None else bound
    return Reading(body, read_turns(body), ledger, betas, binds)


def check(
    body: Body,
    *,
    ledger: ThinkingLedger | None = None,
    betas: frozenset[str] = frozenset(),
    bound: bool | None = None,
) -> tuple[Refusal, ...]:
    """Return every refusal of a request body, the one the provider reports first."""
    reading = read(body, ledger=ledger, betas=betas, bound=bound)
    return tuple(refusal for rule in RULES for refusal in rule(reading))


def _refuse(rule: str, **values: object) -> Refusal:
    return refuse("anthropic", rule, **values)


def _placed(reading: Reading) -> Iterator[tuple[Turn, Placed]]:
    return ((turn, block) for turn in reading.turns for block in turn.blocks)


def _of_kind(reading: Reading, *kinds: str) -> tuple[Placed, ...]:
    return tuple(block for turn in reading.turns for block in turn.of_kind(*kinds))


def _texts(reading: Reading) -> Iterator[Body]:
    for _, block in _placed(reading):
        if block.kind == "text":
            yield block.data
        elif block.kind == "tool_result":
            inner = mappings_of(block.data.get("content"))
            yield from (part for part in inner if part.get("type") == "text")


def _is_more_than_results(turn: Turn) -> bool:
    return any(block.kind != "tool_result" for block in turn.blocks)


def _is_suspended(turn: Turn) -> bool:
    return bool(turn.of_kind(*SERVER_CALL_KINDS)) or any(block.is_server_result() for block in turn.blocks)


def _refuses_prefill(model: str) -> bool:
    found = re.match(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2})(?!\d))?", model)
    if not found:
        return False
    version = int(found[2]), int(found[3] or 0)
    return found[1] in ("fable", "mythos") or version >= (4, 6)
