"""A processor that returns a mutated list and remembers exactly what it returned."""

import copy
from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from histories import Context, Plan, carried_out
from mutations import Change, mutated
from permitted import Returned


class Mutating:
    """Carries a plan out and changes the list; `shown` is what it was given, `returned` tells that from others."""

    def __init__(self, plan: Plan, changes: list[Change]) -> None:
        self.plan = plan
        self.changes = changes
        self.shown: list[ModelMessage] = []
        self.returned: list[Returned] = []

    def __call__(self, ctx: Context) -> Sequence[ModelMessage]:
        self.shown = copy.deepcopy(list(ctx.messages))
        out = mutated(carried_out(self.plan, ctx), self.changes)
        handed_out = {id(message): index for index, message in enumerate(ctx.messages)}
        self.returned = [Returned(handed_out.get(id(message)), message) for message in out]
        return out
