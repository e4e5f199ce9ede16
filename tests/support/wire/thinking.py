"""The memory of issued thinking, and the rules that need it.

A thinking block is genuine if this memory issued it with exactly this text. On models that bind thinking,
a block also remembers a digest of its prefix (system, tools, all earlier content without thinking and
without cache markers) and the thinking block before it: what is kept must be an unbroken run of the
original sequence. A request judged without a ledger skips all of this.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .anthropic_turns import Placed, Turn, content_blocks, open_loop, read_turns
from .reading import Body, mapping_of, mappings_of, text_of
from .refusal import Refusal
from .words import refuse

BINDING_BETA = "thinking-binding-controls-2026-08-01"
# D preserved-thinking, read 2026-11: models that check the prefix of a returned thinking block.
BINDING_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)


@dataclass(frozen=True, slots=True)
class IssuedThinking:
    """One thinking block as it left the server."""

    key: str
    text: str
    prefix: str
    previous: str | None


@dataclass(slots=True)
class ThinkingLedger:
    """What a server remembers of the thinking it issued.

    With `strict=False` a signature that was never issued here counts as genuine, so histories that
    another server began can be continued.
    """

    strict: bool = True
    blocks: dict[str, IssuedThinking] = field(default_factory=dict)
    companions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def record(self, body: Body, content: Iterable[Body]) -> None:
        """Remember the thinking of an answer to this request, and the calls it came with."""
        turns, said = read_turns(body), tuple(content)
        last = turns[-1] if turns and turns[-1].role == "assistant" else Turn("assistant", len(turns), ())
        before = turns[:-1] if turns and turns[-1].role == "assistant" else turns
        kept = [key_of(block.data) for turn in turns for block in turn.thinking()]
        for position, data in enumerate(said):
            if _is_thinking(data):
                mine = tuple(Placed(last.index, at, earlier) for at, earlier in enumerate(said[:position]))
                prefix = _digest(body, (*before, Turn("assistant", last.index, last.blocks + mine)))
                previous = kept[-1] if kept else None
                self.blocks[key_of(data)] = IssuedThinking(key_of(data), _said(data), prefix, previous)
                kept.append(key_of(data))
        keys = tuple(key_of(data) for data in said if _is_thinking(data))
        self.companions.update({text_of(data.get("id")): keys for data in said if data.get("type") == "tool_use"})

    def is_genuine(self, data: Body) -> bool:
        """Return whether the block is exactly as issued."""
        issued = self.blocks.get(key_of(data))
        return issued.text == _said(data) if issued else not self.strict


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as the rules see it: the body, its turns, and what the server knows."""

    body: Body
    turns: tuple[Turn, ...]
    ledger: ThinkingLedger | None
    betas: frozenset[str]
    bound: bool

    @property
    def model(self) -> str:
        """Return the model's name."""
        return text_of(self.body.get("model"))

    @property
    def thinking_mode(self) -> str:
        """Return the type of the thinking setting, empty without one."""
        return text_of(mapping_of(self.body.get("thinking")).get("type"))

    def thinking(self) -> tuple[Placed, ...]:
        """Return every thinking block of the request."""
        return tuple(block for turn in self.turns for block in turn.thinking())


def binds_thinking(model: str) -> bool:
    """Return whether a model checks the prefix of returned thinking."""
    return model.startswith(BINDING_MODELS)


def key_of(data: Body) -> str:
    """Return what identifies a thinking block: its signature, or the data of a redacted one."""
    return text_of(data.get("signature")) or text_of(data.get("data"))


def latest_thinking_is_unmodified(reading: Reading) -> Iterator[Refusal]:
    """Within an open loop, and in the latest assistant turn, thinking goes back as it came."""
    if reading.ledger is None or reading.bound:
        return
    loop = open_loop(reading.turns)
    latest = tuple(turn for turn in reading.turns if turn.role == "assistant")[-1:]
    for turn in loop or latest:
        issued, sent = _issued_with(reading.ledger, turn), turn.thinking()
        if issued and not sent and turn in loop and reading.thinking_mode in ("enabled", "adaptive"):
            yield refuse("anthropic", "open_loop_begins_with_thinking", index=turn.index, found=turn.first_kind())
        elif sent and not _as_issued(reading.ledger, issued, sent):
            yield refuse("anthropic", "latest_thinking_is_unmodified", path=sent[0].path)


def signatures_are_genuine(reading: Reading) -> Iterator[Refusal]:
    """A thinking block with a foreign or altered signature, or an altered text, is always refused."""
    for block in reading.thinking():
        if reading.ledger is not None and not reading.ledger.is_genuine(block.data):
            yield refuse("anthropic", "signatures_are_genuine", path=block.path, kind=block.kind)


def thinking_fits_its_prefix(reading: Reading) -> Iterator[Refusal]:
    """On a binding model nothing before a kept block may have changed."""
    if prefix_behaviour(reading.body) == "drop_block":
        return
    for block in misfits(reading)[:1]:
        beta = "" if BINDING_BETA in reading.betas else _MISSING_BETA
        yield refuse("anthropic", "thinking_fits_its_prefix", path=block.path, kind=block.kind, beta=beta)


def prefix_behaviour(body: Body) -> str:
    """Return what the request asks for when a block does not fit its prefix."""
    binding = mapping_of(mapping_of(body.get("thinking")).get("block_binding"))
    return text_of(binding.get("prefix_mismatch_behavior")) or "error"


def misfits(reading: Reading) -> tuple[Placed, ...]:
    """Return the first block that does not fit its prefix and every thinking block after it."""
    blocks = reading.thinking()
    if not reading.bound or reading.ledger is None:
        return ()
    for position, block in enumerate(blocks):
        issued = reading.ledger.blocks.get(key_of(block.data))
        before = key_of(blocks[position - 1].data) if position else None
        if issued and not _fits(reading, block, issued, before):
            return blocks[position:]
    return ()


_MISSING_BETA = f" That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."


def _fits(reading: Reading, block: Placed, issued: IssuedThinking, before: str | None) -> bool:
    if before is not None and before != issued.previous:
        return False
    return _digest(reading.body, tuple(_up_to(reading.turns, block))) == issued.prefix


def _up_to(turns: tuple[Turn, ...], block: Placed) -> Iterator[Turn]:
    for turn in turns:
        if block not in turn.blocks:
            yield turn
            continue
        yield Turn(turn.role, turn.index, turn.blocks[: turn.blocks.index(block)])
        return


def _digest(body: Body, turns: tuple[Turn, ...]) -> str:
    tools = [tool for tool in mappings_of(body.get("tools")) if not tool.get("defer_loading")]
    system = [_canonical(block) for block in content_blocks(body.get("system"))]
    prefix = [system, sorted(json.dumps(_canonical(tool), sort_keys=True) for tool in tools), _spoken(turns)]
    return hashlib.sha256(json.dumps(prefix, sort_keys=True).encode()).hexdigest()


def _spoken(turns: tuple[Turn, ...]) -> list[object]:
    """Return roles and content since the latest compaction, without thinking and turns that only thought."""
    spoken: list[object] = []
    for turn in turns:
        blocks = [block for block in turn.blocks if not block.is_thinking()]
        starts = [at for at, block in enumerate(blocks) if block.kind == "compaction"]
        if starts:
            spoken.clear()
        if kept := [_canonical(block.data) for block in blocks[starts[-1] if starts else 0 :]]:
            spoken.append([turn.role, kept])
    return spoken


def _canonical(value: object) -> object:
    """Return JSON without what the prefix check ignores: cache markers, nulls, defaults written out."""
    if isinstance(value, Mapping):
        kept = {key: _canonical(member) for key, member in value.items() if member is not None}
        kept.pop("cache_control", None)
        if kept.get("type") == "tool_result":
            kept["content"] = [_canonical(block) for block in content_blocks(value.get("content"))]
            kept = {key: member for key, member in kept.items() if (key, member) != ("is_error", False)}
        return kept
    return [_canonical(member) for member in value] if isinstance(value, list | tuple) else value


def _is_thinking(data: Body) -> bool:
    return data.get("type") in ("thinking", "redacted_thinking")


def _said(data: Body) -> str:
    return text_of(data.get("thinking"))


def _issued_with(ledger: ThinkingLedger, turn: Turn) -> tuple[str, ...]:
    """Return the keys of the thinking that came with the calls of a turn, in order."""
    calls = turn.of_kind("tool_use")
    return tuple(dict.fromkeys(key for call in calls for key in ledger.companions.get(call.text("id"), ())))


def _as_issued(ledger: ThinkingLedger, issued: tuple[str, ...], sent: tuple[Placed, ...]) -> bool:
    known = tuple(block for block in sent if key_of(block.data) in ledger.blocks)
    unaltered = all(ledger.is_genuine(block.data) for block in known)
    return unaltered and (not issued or tuple(key_of(block.data) for block in sent) == issued)
