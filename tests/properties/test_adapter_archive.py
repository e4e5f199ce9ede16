"""Laws of archives on Pydantic AI histories: nothing is lost, nothing else moves, and every provider takes the rest."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import untouched
from archives import check_nothing_is_lost
from bodies import APIS, Api
from edits import INFO, refusals, session, share
from histories import Scene, scenes
from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.flow import Outcome, Staged
from kedi_pydantic_ai import PydanticDialect

DIALECT = PydanticDialect()
EVERY_API = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
PROTECTIONS = st.sampled_from(["always", "open_cycle"])


def archived(scene: Scene, settings: HistoryArchiveSettings, **policy: Any) -> Outcome[Any]:
    """Archive all that may be archived of a scene."""
    return session(archive=settings, **policy).edit_sync(scene.messages, INFO)


@EVERY_API
@share(6)
@given(data=st.data())
def test_an_archived_history_is_accepted_by_the_provider(api: Api, data: st.DataObject) -> None:
    """Where the whole one was: no result without its call, no call without its result, no role out of turn."""
    scene = data.draw(scenes(api.provider_name))

    outcome = archived(scene, HistoryArchiveSettings(0, 0, 0), reasoning_protection=data.draw(PROTECTIONS))

    assert refusals(api, scene, outcome.messages if isinstance(outcome, Staged) else scene.messages) == []


@share(2)
@given(scene=scenes("anthropic"), protection=PROTECTIONS)
def test_nothing_is_lost_and_nothing_else_moves(scene: Scene, protection: Any) -> None:
    """What is not in the record is there, the same objects in the same order, with one checkpoint between them."""
    settings = HistoryArchiveSettings(0, 0, 0)
    outcome = archived(scene, settings, reasoning_protection=protection)
    if isinstance(outcome, Staged):
        check_nothing_is_lost(DIALECT, scene.messages, scene.blocks[-1].entries, settings, outcome)


@share(2)
@given(scene=scenes("openai"))
def test_groups_keep_their_bounds_and_their_protection(scene: Scene) -> None:
    """Group for group the archived history is the old one; the running cycle is shorter, and protected for more."""
    run = session(archive=HistoryArchiveSettings(0, 0, 0))
    outcome = run.edit_sync(scene.messages, INFO)
    if not isinstance(outcome, Staged):
        return

    old, new = run.revision(scene.messages).spans, run.revision(outcome.messages).spans

    assert [*new[:-1]] == [*old[:-1]]
    assert new[-1].start == old[-1].start
    assert new[-1].reasons == old[-1].reasons | {"checkpoint"}


@share(4)
@given(scene=scenes("google"))
def test_archiving_twice_archives_nothing_more(scene: Scene) -> None:
    """What is left of a history has nothing left to archive."""
    run = session(untouched, archive=HistoryArchiveSettings(0, 0, 0))
    outcome = run.edit_sync(scene.messages, INFO)
    if not isinstance(outcome, Staged):
        return
    again = run.edit_sync(outcome.messages, INFO)

    assert not isinstance(again, Staged)
    assert Counter(map(id, outcome.messages)).most_common(1)[0][1] == 1


@EVERY_API
@share(10)
@given(data=st.data())
def test_every_drawn_message_comes_back_from_its_record(api: Api, data: st.DataObject) -> None:
    """The same bytes when it is written again, and the same content but for a file, which the host completes."""
    for message in data.draw(scenes(api.provider_name)).messages:
        written = DIALECT.dump(message)
        back = DIALECT.load(written)

        assert DIALECT.dump(back) == written
        assert DIALECT.digest(back) == DIALECT.digest(message) or b'"kind":"binary"' in written
