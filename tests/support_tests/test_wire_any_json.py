"""The validators judge any JSON: a body of the wrong shape is refused or passes, it never raises."""

from hypothesis import given, settings
from hypothesis import strategies as st

from wire import anthropic, bedrock, google, openai_chat, openai_responses
from wire.issued_items import ItemLedger
from wire.reading import Body
from wire.thinking import ThinkingLedger

WORDS = st.sampled_from(["", " ", "a", "b", "user", "assistant", "model", "system", "tool"])
KINDS = st.sampled_from(
    [
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"),
        *("web_search_tool_result", "reasoning", "message", "function_call", "function_call_output"),
        *("item_reference", "compaction", "unheard_of"),
    ]
)
KEYS = st.sampled_from(
    [
        *("id", "tool_use_id", "call_id", "tool_call_id", "text", "content", "signature", "data", "role"),
        *("encrypted_content", "tool_calls", "toolUse", "toolResult", "toolUseId", "reasoningContent"),
        *("functionCall", "functionResponse", "parts", "cache_control", "thinking", "document"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(0, 2) | WORDS


def objects(values: st.SearchStrategy[object]) -> st.SearchStrategy[Body]:
    """Return JSON objects with the keys and kinds that the rules look at."""
    typed = st.builds(lambda fields, kind: {**fields, "type": kind}, st.dictionaries(KEYS, values, max_size=4), KINDS)
    return typed | st.dictionaries(KEYS, values, max_size=4)


VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | objects(inner), max_leaves=8)
ROWS = LEAVES | st.lists(objects(VALUES), max_size=6)
BODIES = st.builds(
    lambda rows, model, thinking: {
        "model": model,
        "thinking": thinking,
        "messages": rows,
        "input": rows,
        "contents": rows,
        "tools": rows,
        "system": rows,
    },
    ROWS,
    st.sampled_from(["claude-opus-5-5", "claude-sonnet-4-6", "gpt-5", "deepseek-reasoner", ""]),
    st.sampled_from([{"type": "enabled"}, {"type": "adaptive"}, {"type": 1}, None]),
)


@settings(max_examples=300)
@given(BODIES)
def test_any_body_is_judged(body: Body) -> None:
    """Every validator returns refusals for anything that JSON can say."""
    judged = (
        anthropic.check(body),
        anthropic.check(body, ledger=ThinkingLedger(strict=False), bound=True),
        openai_chat.check(body),
        openai_responses.check(body, held=[], ledger=ItemLedger()),
        google.check(body, model="gemini-3-pro-preview"),
        bedrock.check(body, model="us.amazon.nova-2-lite-v1:0"),
    )

    assert all(isinstance(refusals, tuple) for refusals in judged)


@settings(max_examples=300)
@given(BODIES, st.lists(objects(VALUES), max_size=4))
def test_any_answer_can_be_remembered(body: Body, content: list[Body]) -> None:
    """Recording an answer never raises either."""
    thinking, items = ThinkingLedger(), ItemLedger()

    thinking.record(body, content)
    items.record(content, stored=True)

    assert anthropic.check(body, ledger=thinking) is not None
    assert len(items.items) <= len(content)
