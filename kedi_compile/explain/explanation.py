"""What is asked about a saved history, and the `Explanation` that answers it, as plain values.

How they are found out is in `facts.py`, how they are drawn in `show.py`. `Explanation.to_json` is the form of `--json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Final, Literal, cast, get_args

from kedi_compile import HistoryConfigurationError, Violation
from kedi_compile.history.reasoning import ReasoningProtection

VERSION: Final = 1
"""The version of the JSON form."""

Ending = Literal["request", "open_calls", "placeholder_added", "prompt_added", "prompt_added_over_open_calls"]
"""How the history that was looked at ends; the last three end in a message that is not in the file."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked about a history: the limits of `keep_recent_groups`, and the request that it is to be made for.

    `model` is `provider:name`. `prompt` is the next user message. `check` says whether the options can be meant.
    """

    keep: int = 10
    over: int | None = None
    model: str | None = None
    reasoning_protection: str = "always"
    prompt: str | None = None

    def check(self) -> None:
        """Refuse options that mean nothing.

        Raises:
            HistoryConfigurationError: one of them does.
        """
        if self.keep < 0:
            raise HistoryConfigurationError(f"`--keep` is {self.keep}; it must not be negative")
        if self.over is not None and self.over < self.keep:
            raise HistoryConfigurationError(f"`--over` is {self.over}; it must not be less than --keep {self.keep}")
        if self.reasoning_protection not in get_args(ReasoningProtection):
            choices = ", ".join(get_args(ReasoningProtection))
            raise HistoryConfigurationError(
                f"`--reasoning-protection` is {self.reasoning_protection!r}; it must be one of {choices}"
            )
        if self.model is not None and not self.model.strip():
            raise HistoryConfigurationError("`--model` is empty; it must be provider:name")
        if self.prompt is not None and not self.prompt.strip():
            raise HistoryConfigurationError("`--prompt` is empty; it must be the text of a user message")

    @property
    def protection(self) -> ReasoningProtection:
        """The reasoning protection, once `check` has seen that it is one."""
        return cast(ReasoningProtection, self.reasoning_protection)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The name of the model, without its provider."""
        return () if self.model is None else (self.model.partition(":")[2] or self.model,)


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a result."""

    call_id: str
    entry: int


@dataclass(frozen=True, slots=True)
class ExplainedEntry:
    """One message; `protected_reasons` are its own, its group may be protected for more."""

    index: int
    group: int
    kind: str
    role: str
    calls: tuple[str, ...]
    results: tuple[str, ...]
    protected_reasons: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class ExplainedGroup:
    """One group, `[start, end)` of the entries, and what `keep_recent_groups` decided; `words` begin its first one."""

    index: int
    id: str
    start: int
    end: int
    words: str
    closed: bool
    eligible: bool
    protected_reasons: tuple[str, ...]
    tokens: int
    kept: bool
    why: str


@dataclass(frozen=True, slots=True)
class ExplainedEdit:
    """What `keep_recent_groups(keep, over)` does, and whether the rules accept it.

    The numbers of a refused edit are those it would have had. `first_change` is 0-based, None where nothing changes.
    `is_stuck` says that groups would go, were not all of them protected. `bound_entries` hold reasoning behind the
    change that a provider may have bound to what stood before it; `model_binds` is None without a model.
    """

    keep: int
    over: int | None
    reasoning_protection: str
    outcome: Literal["unchanged", "edited", "refused"]
    is_stuck: bool
    entries_before: int
    entries_after: int
    tokens_before: int
    tokens_after: int
    first_change: int | None
    model: str | None
    model_binds: bool | None
    bound_entries: tuple[int, ...]
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that is said about a history; `prompt` is the message that was added to what the file holds."""

    version: int = VERSION
    stack: str
    entries_read: int
    tokens: int
    ending: Ending
    prompt: str | None
    open_calls: tuple[OpenCall, ...]
    orphan_results: tuple[OpenCall, ...]
    groups: tuple[ExplainedGroup, ...]
    entries: tuple[ExplainedEntry, ...]
    edit: ExplainedEdit

    def to_json(self) -> str:
        """Return it as one JSON object in ASCII, which no terminal takes for anything else."""
        return json.dumps(asdict(self), indent=2)


def alike(groups: Sequence[ExplainedGroup]) -> list[tuple[bool, str, list[ExplainedGroup]]]:
    """Put together the groups that share a fate for the same reason, in the order of the first of each."""
    order = {fate: place for place, fate in reversed(list(enumerate((one.kept, one.why) for one in groups)))}
    ordered = sorted(groups, key=lambda one: order[one.kept, one.why])
    return [(*fate, list(same)) for fate, same in groupby(ordered, key=lambda one: (one.kept, one.why))]
