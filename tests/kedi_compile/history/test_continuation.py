"""Which server-side state a request may still name after a rewrite."""

from kedi_compile.history.continuation import Continuation


def test_a_run_may_name_old_state_until_its_first_rewrite() -> None:
    """Before any rewrite fixed response ids and conversations may be sent, afterwards never again."""
    untouched = Continuation()
    once = untouched.rewritten()

    assert untouched.may_name_old_state
    assert not once.may_name_old_state
    assert not once.rewritten().may_name_old_state


def test_each_rewrite_is_one_generation() -> None:
    """Two rewrites advance the generation twice, and leave the earlier value alone."""
    start = Continuation()
    twice = start.rewritten().rewritten()

    assert (start.generation, twice.generation) == (0, 2)
