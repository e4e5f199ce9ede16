"""A processor that returns a mutated list and remembers exactly what it returned."""

import copy
from collections.abc import Sequence

from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from histories import Context, Plan, Scene, carried_out, permitted_plans, wild_plans
from mutations import CHANGES, Change, mutated
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


def mutating(scene: Scene, protection: str = "always") -> st.SearchStrategy[Mutating]:
    """Draw a permitted edit with one to three changes inside, or a wild one as it is."""
    permitted = st.builds(Mutating, permitted_plans(scene, protection), CHANGES)
    return permitted | st.builds(Mutating, wild_plans(scene), st.just([]))
