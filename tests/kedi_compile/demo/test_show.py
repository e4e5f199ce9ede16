"""What the demo draws, and how it ends."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from rich.console import Console

from kedi_compile.demo.performance import perform
from kedi_compile.demo.replay import Exchange, Recording, load_recording
from kedi_compile.demo.show import run


def watch(recording: Recording | None = None, width: int = 80) -> tuple[int, list[str], str]:
    """Run the demo and return its exit status, its lines, and its words on the error stream."""
    out, err = StringIO(), StringIO()
    status = run(Console(file=out, width=width, highlight=False), Console(file=err, width=400), recording)
    return status, [line.rstrip() for line in out.getvalue().splitlines()], err.getvalue()


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The lines of one run in 80 columns."""
    status, lines, complaint = watch()
    assert (status, complaint) == (0, "")
    return lines


SCREEN = """\
A real agent edits its history before a request, and proves what was sent.

history_processor=lambda ctx: ctx.keep_recent_groups(2, over=4) ────────────────
 # id  holds   begins with       entries tokens state   protected by     edit
────────────────────────────────────────────────────────────────────────────────
 0 g1  system  Good morning! Wh…     0:2 {tokens[0]:6,} closed  system           kept
 1 g2  call    How many beds ar…     2:6 {tokens[1]:6,} closed                   dropped
 2 g3  text    A hiker left her…     6:8 {tokens[2]:6,} closed                   dropped
 3 g4  call    Can a school cla…    8:12 {tokens[3]:6,} closed  signed_reasoning kept
 4 g5  2 calls How is the weath…   12:16 {tokens[4]:6,} closed                   dropped
 5 g6  text    Then what do I t…   16:18 {tokens[5]:6,} closed                   dropped
 6 g7  call    She takes Sunday…   18:22 {tokens[6]:6,} closed                   dropped
 7 g8  text    How much soup is…   22:24 {tokens[7]:6,} closed                   dropped
 8 g9  text    Does the supply …   24:26 {tokens[8]:6,} closed                   kept
 9 g10 call    And tomorrow's w…   26:30 {tokens[9]:6,} closed                   kept
10 g11 text    Two more people …   30:31 {tokens[10]:6,} current current_request  kept

kept 5, dropped 6 of 11 groups; cache_epoch 0 → 1
estimated tokens of the history {before:,} → {after:,} ({saved:.0%} less)
measured tokens of request 2: {expected:,} expected, 777 reported by the provider

a careless slice instead: list(ctx.messages)[-4:] ──────────────────────────────
HistoryProcessingValidationError
The edited history breaks 4 rules; nothing was sent
  split_group: Group 9 (entries 26:30) came back without entry 26; keep or
  replace the whole group
  protected_removed: Group 3 (entries 8:12) is missing, but is protected by
  signed_reasoning; it must stay
  system_altered: Entry 0 holds system text and was left out; keep it as it is
  turn_order: The conversation would begin with returned message 0, of the
  assistant; a user's comes first

✓ the careless slice was refused
✓ nothing of the careless slice was sent

what was validated, and what the transport was given ───────────────────────────
id    pieces   validated      sent in request 1
───────────────────────────────────────────────────
g1         3   666dc5b97873   666dc5b97873        ✓
g4         5   b87e2fbef0fb   b87e2fbef0fb        ✓
g9         2   386baeb735ab   386baeb735ab        ✓
g10        4   c25a941e3902   c25a941e3902        ✓
g11        1   6fd6ff28dcbd   6fd6ff28dcbd        ✓

✓ request 1 is these groups in this order and nothing else
✓ request 2, after the tool call, is its validated history and nothing else
✓ request 2 begins with the same 2,083 bytes of messages: cached prefix kept
✓ both requests are the ones the recorded answers were given to

The agent: Yes. Four beds are free on Saturday, three in the bunk room and one
in the annex, so two more fit in.
Recorded from a provider emulator that enforces wire rules, not the provider.
"""


def test_the_screen_is_exactly_this(lines: list[str]) -> None:
    """The demo shows the groups, the figures, the refusal and the proof, in this order.

    The estimates are filled in: how tokens are estimated is no business of the screen.
    """
    first, second = perform(load_recording()).edits
    before, after = first.ctx.estimated_tokens, first.tokens_after
    expected = SCREEN.format(
        tokens=[one.tokens for one in first.groups],
        before=before,
        after=after,
        saved=1 - after / before,
        expected=second.measured_tokens,
    )

    assert "\n".join(lines) + "\n" == expected


def test_no_line_is_wider_than_80_columns(lines: list[str]) -> None:
    """The demo is readable in the narrowest usual terminal."""
    assert max(map(len, lines)) == 80


def test_a_wider_terminal_shows_more_words() -> None:
    """Wider columns go to the words that a group begins with."""
    _, lines, _ = watch(width=100)

    assert any("Can a school class of 16 stay" in line for line in lines)


def test_a_claim_that_does_not_hold_ends_in_failure() -> None:
    """A recorded answer to another request is shown as untrue and ends in exit status 1."""
    recording = load_recording()
    first, second = recording.exchanges
    other = Exchange({**first.request, "system": "Another."}, first.response)

    status, lines, complaint = watch(replace(recording, exchanges=[other, second]))

    assert status == 1
    assert "✗ both requests are the ones the recorded answers were given to" in lines
    assert complaint == (
        "The demo failed: it is not true that both requests are the ones the recorded answers were given to\n"
    )


def test_a_recording_that_is_too_short_ends_in_failure() -> None:
    """An answer that is missing is named, and nothing is drawn."""
    recording = load_recording()

    status, lines, complaint = watch(replace(recording, exchanges=recording.exchanges[:1]))

    assert (status, lines) == (1, [])
    assert "Request 2 is not in the recording, which holds 1" in complaint


def test_a_recording_that_is_too_long_ends_in_failure() -> None:
    """An answer nobody asked for is no recording of this conversation."""
    recording = load_recording()

    status, lines, complaint = watch(replace(recording, exchanges=[*recording.exchanges, recording.exchanges[1]]))

    assert (status, lines) == (1, [])
    assert complaint == "The demo failed: the agent made 2 edits and 2 requests for 3 recorded ones\n"


def test_a_history_without_anything_to_drop_ends_in_failure() -> None:
    """A short history is not sliced by a careless slice, so the demo has nothing to prove and says so."""
    short: list[ModelMessage] = [ModelRequest([UserPromptPart("Hello.")])]

    status, lines, complaint = watch(replace(load_recording(), history=short))

    assert status == 1
    assert "✗ the careless slice was refused" in lines
    assert "The demo failed: it is not true that the careless slice was refused\n" in complaint
