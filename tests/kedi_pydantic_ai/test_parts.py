"""The tables of part kinds: every kind the host has is named, and an unknown one protects its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pytest
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelRequest, ModelRequestPart, ModelResponse, ModelResponsePart

from kedi_compile import ProtectedReason
from kedi_pydantic_ai.facts import request_facts, response_facts
from kedi_pydantic_ai.parts import REQUEST_PARTS, RESPONSE_PARTS, details_reasons, thinking_reasons


def _kinds(union: Any) -> set[type]:
    """The classes of the host's union of parts, through its nested annotations."""
    if isinstance(union, type):
        return {union}
    return set().union(*(_kinds(one) for one in get_args(union) if isinstance(one, type) or get_args(one)))


def _name(kind: type) -> str:
    return kind.__name__


def _is_listed(kind: type, table: Any) -> bool:
    return any(issubclass(kind, known) for known in table)


@pytest.mark.parametrize("kind", sorted(_kinds(ModelRequestPart), key=str), ids=_name)
def test_every_request_part_of_the_host_is_known(kind: type) -> None:
    """A part either answers a call or stands in the table."""
    answers = issubclass(kind, (m.BaseToolReturnPart, m.RetryPromptPart))

    assert answers or kind in REQUEST_PARTS


@pytest.mark.parametrize("kind", sorted(_kinds(ModelResponsePart), key=str), ids=_name)
def test_every_response_part_of_the_host_is_known(kind: type) -> None:
    """A part stands in the table itself or as its base kind."""
    assert _is_listed(kind, RESPONSE_PARTS)


@dataclass
class Novelty:
    """A part of a kind that a later host may have."""

    content: str = "new"
    part_kind: Literal["novelty"] = "novelty"


def test_an_unknown_part_protects_its_group() -> None:
    """It may be a record that a provider wants back."""
    novelty: Any = Novelty()

    assert request_facts(ModelRequest(parts=[novelty])).reasons == {ProtectedReason.PROVIDER_RECORD}
    assert response_facts(ModelResponse(parts=[novelty])).reasons == {ProtectedReason.PROVIDER_RECORD}


def test_an_empty_detail_is_no_record() -> None:
    """Only a value protects, not the key."""
    assert details_reasons({"thought_signature": "", "citations": []}) == frozenset()
    assert details_reasons({"thought_signature": "s", "citations": [1]}) == {
        ProtectedReason.SIGNED_REASONING,
        ProtectedReason.PROVIDER_RECORD,
    }
    assert details_reasons(None) == frozenset()


def test_a_thought_with_an_id_is_wanted_back() -> None:
    """Signature or id: either names it to the provider."""
    assert thinking_reasons(m.ThinkingPart("hm", id="rs_1")) == {ProtectedReason.SIGNED_REASONING}
    assert thinking_reasons(m.ThinkingPart("hm")) == frozenset()
