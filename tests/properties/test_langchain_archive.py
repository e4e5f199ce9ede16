"""Laws of archives on LangChain histories: nothing is lost, nothing else moves, and every provider takes the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives import check_nothing_is_lost
from edits import INFO, SURROUNDINGS, share
from histories_langchain import FORMS, WIRED, Form, LangChainScene, langchain_scenes, refusals
from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.flow import Outcome, Staged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain import LangChainDialect

pytestmark = pytest.mark.filterwarnings("ignore:A non-leading `SystemMessage`:UserWarning")  # the host moves it
DIALECT = LangChainDialect()
PROTECTIONS = st.sampled_from(["always", "open_cycle"])


def archived(scene: LangChainScene, settings: HistoryArchiveSettings, protection: Any) -> Outcome[Any]:
    """Archive all that may be archived of a scene."""
    policy: HistoryPolicy[Any] = HistoryPolicy(archive=settings, reasoning_protection=protection)
    return RunSession(policy, DIALECT, owner=policy, surroundings=SURROUNDINGS).edit_sync(scene.messages, INFO)


@pytest.mark.parametrize("form", WIRED)
@share(6)
@given(data=st.data())
def test_an_archived_history_is_accepted_by_the_provider(form: Form, data: st.DataObject) -> None:
    """Where the whole one was: no result without its call, no call without its result, no role out of turn."""
    scene = data.draw(langchain_scenes(form))

    outcome = archived(scene, HistoryArchiveSettings(0, 0, 0), data.draw(PROTECTIONS))

    assert refusals(form, scene, outcome.messages if isinstance(outcome, Staged) else scene.messages) == []


@share(2)
@given(scene=st.sampled_from(FORMS).flatmap(langchain_scenes), protection=PROTECTIONS)
def test_nothing_is_lost_and_nothing_else_moves(scene: LangChainScene, protection: Any) -> None:
    """What is not in the record is there, the same objects in the same order, with one checkpoint between them."""
    settings = HistoryArchiveSettings(0, 0, 0)
    outcome = archived(scene, settings, protection)
    if isinstance(outcome, Staged):
        check_nothing_is_lost(DIALECT, scene.messages, scene.blocks[-1].entries, settings, outcome)


@share(4)
@given(scene=st.sampled_from(FORMS).flatmap(langchain_scenes))
def test_every_drawn_message_comes_back_from_its_record(scene: LangChainScene) -> None:
    """The same in every field, and the same bytes when it is written again."""
    for message in scene.messages:
        data = DIALECT.dump(message)
        back = DIALECT.load(data)

        assert DIALECT.same(back, message)
        assert DIALECT.dump(back) == data
