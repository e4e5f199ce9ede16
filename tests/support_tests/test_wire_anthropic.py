"""Anthropic Messages: every rule with a body it accepts and one it refuses, in the provider's words."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from wire import anthropic
from wire.reading import Body
from wire.thinking import BINDING_BETA, ThinkingLedger

USER: Body = {"role": "user", "content": "What is the capital of Japan?"}
THANKS: Body = {"role": "user", "content": "Thanks."}
THOUGHT: Body = {"type": "thinking", "thinking": "Look it up.", "signature": "sig-1"}
CALL: Body = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"country": "Japan"}}
RESULT: Body = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Tokyo"}
SEARCH: Body = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND: Body = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ENABLED: Body = {"type": "enabled", "budget_tokens": 1024}


class Case(NamedTuple):
    """A body that the rule lets pass, one that it refuses, and the words of the refusal."""

    accepted: Body
    refused: Body
    words: str
    ledger: ThinkingLedger | None = None


def body(*messages: Body, **settings: object) -> Body:
    """Return a request body."""
    return {"model": "claude-sonnet-4-5", "messages": list(messages), **settings}


def says(*blocks: Body) -> Body:
    """Return an assistant message."""
    return {"role": "assistant", "content": list(blocks)}


def answers(*blocks: Body) -> Body:
    """Return a user message."""
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> Body:
    """Return a text block."""
    return {"type": "text", "text": words}


def memory() -> ThinkingLedger:
    """Return the memory of a server that issued `THOUGHT` and `CALL` as its answer to `USER`."""
    ledger = ThinkingLedger()
    ledger.record(body(USER, thinking=ENABLED), [THOUGHT, CALL])
    return ledger


LOOP = body(USER, says(THOUGHT, CALL), answers(RESULT), thinking=ENABLED)
FORGED = {**THOUGHT, "signature": "sig-2"}
MARKED: Body = {**text("Hello"), "cache_control": {"type": "ephemeral"}}
BINDING: Body = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}

CASES: Mapping[str, Case] = {
    "messages_present": Case(body(USER), body(), "messages: at least one message is required"),
    "messages_not_too_many": Case(
        body(*[USER] * 100_000),
        body(*[USER] * 100_001),
        "messages: List should have at most 100000 items",
    ),
    "messages_have_known_roles": Case(
        body(USER, {"role": "system", "content": "Be brief."}),
        body({"role": "tool", "content": "Tokyo"}),
        "messages.0: Input does not match the expected shape.",
    ),
    "first_message_is_from_the_user": Case(
        body(says({"type": "compaction", "content": "They met."}), USER),
        body(says(text("Hello")), USER),
        'messages: first message must use the "user" role',
    ),
    "content_is_not_empty": Case(
        body(USER, {"role": "assistant", "content": []}),
        body(USER, {"role": "assistant", "content": []}, THANKS),
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    "text_is_not_empty": Case(
        body(USER, says(CALL), answers({**RESULT, "content": ""})),
        body(USER, says(text(""), CALL), answers(RESULT)),
        "messages: text content blocks must be non-empty",
    ),
    "text_is_not_whitespace": Case(
        body(answers(text(" x "))),
        body(answers(text(" \n"))),
        "messages: text content blocks must contain non-whitespace text",
    ),
    "blocks_stand_in_their_role": Case(
        body(USER, says(CALL), answers(RESULT)),
        body(USER, says(CALL, RESULT)),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    "call_ids_have_allowed_characters": Case(
        body(USER, says({**CALL, "id": "call-a_1"})),
        body(USER, says({**CALL, "id": "call:a"})),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "call_ids_are_unique": Case(
        body(USER, says(CALL, {**CALL, "id": "toolu_2"})),
        body(USER, says(CALL), answers(RESULT), says(CALL), answers(RESULT)),
        "messages: `tool_use` ids must be unique",
    ),
    "calls_are_answered_directly_after": Case(
        body(USER, says(CALL), answers(RESULT), THANKS),
        body(USER, says(CALL), answers(text("Wait."), RESULT)),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each"
        " `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "results_answer_the_previous_message": Case(
        body(USER, says(text("I look.")), says(CALL), answers(RESULT)),
        body(USER, says(text("I look.")), answers(RESULT)),
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each"
        " `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    "each_call_has_a_single_result": Case(
        body(USER, says(CALL), answers(RESULT)),
        body(USER, says(CALL), answers(RESULT), answers(RESULT)),
        "messages.2.content.0: each tool_use must have a single result. Found multiple `tool_result` blocks"
        " with id: toolu_1",
    ),
    "server_results_have_their_call": Case(
        body(USER, says(SEARCH, FOUND), THANKS),
        body(USER, says(FOUND), THANKS),
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1."
        " Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
    "server_calls_get_their_result": Case(
        body(USER, says(SEARCH, CALL), answers(RESULT)),
        body(USER, says(SEARCH, CALL), answers(RESULT, text("Go on."))),
        "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding"
        " `web_search_tool_result` block",
    ),
    "thinking_carries_its_signature": Case(
        LOOP,
        body(USER, says({"type": "thinking", "thinking": "Look it up."}, CALL), answers(RESULT)),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "open_loop_begins_with_thinking": Case(
        body(USER, says(CALL), answers(RESULT), says(text("Tokyo.")), THANKS, thinking=ENABLED),
        body(USER, says(text("I look."), CALL), answers(RESULT), thinking=ENABLED),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When"
        " `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the"
        " lastmost set of `tool_use` and `tool_result` blocks).",
    ),
    "latest_thinking_is_unmodified": Case(
        LOOP,
        body(USER, says({**THOUGHT, "thinking": "Guess."}, CALL), answers(RESULT), thinking=ENABLED),
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message"
        " cannot be modified. These blocks must remain as they were in the original response.",
        memory(),
    ),
    "signatures_are_genuine": Case(
        LOOP,
        body(USER, says(FORGED, CALL), answers(RESULT), says(text("Tokyo.")), THANKS),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        memory(),
    ),
    "thinking_fits_its_prefix": Case(
        {**LOOP, "model": "claude-opus-5-5"},
        {**LOOP, "model": "claude-opus-5-5", "system": "Be brief."},
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different"
        " conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to"
        ' "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the'
        " `anthropic-beta` header.",
        memory(),
    ),
    "binding_control_needs_its_beta": Case(
        body(USER, thinking={"type": "adaptive"}),
        body(USER, thinking=BINDING),
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    "no_prefill_on_newer_models": Case(
        {**body(USER, says(SEARCH)), "model": "claude-opus-4-6"},
        {**body(USER, says(text("The capital is"))), "model": "claude-opus-4-6"},
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "cache_points_are_at_most_four": Case(
        body(answers(MARKED, MARKED, MARKED, MARKED)),
        body(answers(MARKED, MARKED, MARKED, MARKED), system=[MARKED]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
}


@pytest.mark.parametrize("rule", anthropic.RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_and_refuses(rule: anthropic.Rule) -> None:
    """Every rule lets its good body pass and answers its bad one in the provider's words."""
    name = getattr(rule, "__name__", "")
    case = CASES[name]

    accepted = tuple(rule(anthropic.read(case.accepted, ledger=case.ledger)))
    refused = anthropic.check(case.refused, ledger=case.ledger)

    assert accepted == ()
    assert case.words in [refusal.message for refusal in refused if refusal.rule == name]


def test_no_case_without_its_rule() -> None:
    """A case belongs to a rule of the tuple."""
    assert set(CASES) == {getattr(rule, "__name__", "") for rule in anthropic.RULES}


def test_neighbours_of_one_role_are_one_turn() -> None:
    """Results in two user messages in a row answer one assistant turn of two messages."""
    second = {**CALL, "id": "toolu_2"}
    split = body(USER, says(CALL), says(second), answers(RESULT), answers({**RESULT, "tool_use_id": "toolu_2"}))

    assert anthropic.check(split) == ()


def test_a_system_message_may_not_stand_between_call_and_result() -> None:
    """A mid-conversation system message breaks the pair."""
    interrupted = body(USER, says(CALL), {"role": "system", "content": "Be brief."}, answers(RESULT))

    rules = [refusal.rule for refusal in anthropic.check(interrupted)]

    assert rules == ["calls_are_answered_directly_after", "results_answer_the_previous_message"]


def test_redacted_thinking_opens_a_loop() -> None:
    """A redacted block counts as thinking, and needs its data."""
    redacted: Body = {"type": "redacted_thinking", "data": "opaque"}
    loop = body(USER, says(redacted, CALL), answers(RESULT), thinking=ENABLED)
    bare = body(USER, says({"type": "redacted_thinking"}, CALL), answers(RESULT), thinking=ENABLED)

    assert anthropic.check(loop) == ()
    assert anthropic.check(bare)[0].message == "messages.1.content.0.redacted_thinking.data: Field required"


def test_issued_thinking_may_not_be_left_out_of_an_open_loop() -> None:
    """Even with adaptive thinking the server knows that the call came with a thought."""
    without = body(USER, says(CALL), answers(RESULT), thinking={"type": "adaptive"})

    (refusal,) = anthropic.check(without, ledger=memory())

    assert refusal.message.startswith("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`")


def test_thinking_may_be_left_out_after_the_loop() -> None:
    """Outside a tool turn thinking may be omitted."""
    done = body(USER, says(CALL), answers(RESULT), says(text("Tokyo.")), THANKS, thinking=ENABLED)

    assert anthropic.check(done, ledger=memory()) == ()


def test_a_foreign_signature_passes_a_lenient_memory() -> None:
    """A history that another server began can be continued."""
    foreign = body(USER, says(FORGED, text("Tokyo.")), THANKS)

    assert anthropic.check(foreign, ledger=ThinkingLedger(strict=False)) == ()
    assert anthropic.check(foreign, ledger=ThinkingLedger())[0].rule == "signatures_are_genuine"


class Conversation:
    """Two bound thoughts, each with its turn: the ground of the prefix tests."""

    tools = ({"name": "lookup", "input_schema": {}},)

    def __init__(self) -> None:
        self.ledger = ThinkingLedger()
        self.messages: list[Body] = []
        for name in ("one", "two", "three"):
            self.messages.append(answers(text(f"Ask sig-{name}")))
            said = [{"type": "thinking", "thinking": name, "signature": f"sig-{name}"}, text("Answer.")]
            self.ledger.record(self.body(), said)
            self.messages.append(says(*said))
        self.messages.append(THANKS)

    def body(self, *messages: Body, **settings: object) -> Body:
        """Return a request of a binding model over these or the conversation's own messages."""
        known = {"model": "claude-fable-5-2", "system": "Be kind.", "tools": list(self.tools)}
        return {**known, "messages": list(messages or self.messages), **settings}

    def without(self, *signatures: str) -> Body:
        """Return the conversation without some of its thoughts."""
        return self.body(*(_strip(message, signatures) for message in self.messages))

    def misfit(self, request: Body) -> str | None:
        """Return the place of the block that the server names, None if it accepts the request."""
        refusals = anthropic.check(request, ledger=self.ledger, betas=frozenset({BINDING_BETA}))
        assert {refusal.rule for refusal in refusals} <= {"thinking_fits_its_prefix"}
        return refusals[0].message.split(": ")[0] if refusals else None


def _strip(message: Body, signatures: tuple[str, ...]) -> Body:
    blocks = message["content"]
    kept = [b for b in blocks if b.get("signature") not in signatures] if isinstance(blocks, list) else blocks
    return {**message, "content": kept}


def test_an_appended_conversation_keeps_its_thinking() -> None:
    """Appending never breaks a binding, nor does moving a cache marker or writing text as a string."""
    talk = Conversation()
    moved = [{"role": "user", "content": "Ask sig-one"}, *talk.messages[1:-1], answers(MARKED)]

    assert talk.misfit(talk.body()) is None
    assert talk.misfit(talk.body(*moved, max_tokens=7)) is None


def test_oldest_thinking_may_go_first() -> None:
    """Thinking is removed oldest first, from the end, or altogether."""
    talk = Conversation()

    assert talk.misfit(talk.without("sig-one")) is None
    assert talk.misfit(talk.without("sig-one", "sig-two")) is None
    assert talk.misfit(talk.without("sig-three")) is None
    assert talk.misfit(talk.without("sig-one", "sig-two", "sig-three")) is None


def test_a_gap_in_the_thinking_is_refused() -> None:
    """What is kept is an unbroken run of the original sequence."""
    talk = Conversation()

    assert talk.misfit(talk.without("sig-two")) == "messages.5.content.0"


def test_an_edit_before_a_kept_block_is_refused() -> None:
    """System, tools and every earlier message are part of the prefix."""
    talk = Conversation()
    edited = [answers(text("Ask something else")), *talk.messages[1:]]
    shortened = talk.messages[2:]

    assert talk.misfit(talk.body(system="Be unkind.")) == "messages.1.content.0"
    assert talk.misfit(talk.body(tools=[])) == "messages.1.content.0"
    assert talk.misfit(talk.body(*edited)) == "messages.1.content.0"
    assert talk.misfit(talk.body(*shortened)) == "messages.1.content.0"


def test_an_edit_with_all_later_thinking_dropped_is_accepted() -> None:
    """Dropping every bound block after the edit is a way out."""
    talk = Conversation()
    stripped = talk.without("sig-two", "sig-three")["messages"]
    assert isinstance(stripped, list)
    edited = [*stripped[:2], answers(text("Another question")), *stripped[3:]]

    assert talk.misfit(talk.body(*edited)) is None


def test_an_unreferenced_deferred_tool_may_be_added() -> None:
    """A tool with deferred loading is not part of the prefix."""
    talk = Conversation()
    deferred = {"name": "more", "input_schema": {}, "defer_loading": True}

    assert talk.misfit(talk.body(tools=[*talk.tools, deferred])) is None
    assert talk.misfit(talk.body(tools=[*talk.tools, {**deferred, "defer_loading": False}])) is not None


def test_dropping_on_mismatch_accepts_the_edit() -> None:
    """With the beta and `drop_block` an edit costs the thinking, not the request."""
    talk = Conversation()
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

    assert talk.misfit(talk.body(system="Be unkind.", thinking=dropping)) is None


def test_the_prefix_starts_at_the_latest_compaction() -> None:
    """What the server compacted may be left out; what follows the compaction is bound as before."""
    compaction: Body = {"type": "compaction", "content": "They met."}
    ledger = ThinkingLedger()
    whole = [USER, says(compaction, text("Go on.")), THANKS]
    ledger.record({"model": "claude-opus-5-5", "messages": whole}, [THOUGHT, text("Welcome.")])
    said = says(THOUGHT, text("Welcome."))

    shortened = {"model": "claude-opus-5-5", "messages": [*whole[1:], said, THANKS]}
    edited = {"model": "claude-opus-5-5", "messages": [says(compaction, text("Stop.")), THANKS, said, THANKS]}

    assert anthropic.check(shortened, ledger=ledger) == ()
    assert anthropic.check(edited, ledger=ledger)[0].rule == "thinking_fits_its_prefix"
