"""Gemini `generateContent`: what the API and Vertex accept.

A content is from the user or the model. A content with function calls follows a user content or function
responses, and the next content holds exactly as many responses. On Gemini 3 the first call of every step
of the current turn carries its thought signature. Names are read in both spellings of the JSON mapping.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .reading import Body, mappings_of, text_of, with_next, with_previous
from .refusal import Refusal
from .words import refuse


@dataclass(frozen=True, slots=True)
class Content:
    """One content of a request."""

    role: str
    parts: tuple[Body, ...]

    def calls(self) -> tuple[Body, ...]:
        """Return the parts that call a function."""
        return tuple(part for part in self.parts if _either(part, "functionCall", "function_call"))

    def responses(self) -> tuple[Body, ...]:
        """Return the parts that answer a call."""
        return tuple(part for part in self.parts if _either(part, "functionResponse", "function_response"))

    def is_user_turn(self) -> bool:
        """Return whether the user speaks here, and does not only answer calls."""
        return self.role == "user" and not self.responses()


@dataclass(frozen=True, slots=True)
class Reading:
    """The contents of a request and the major version of the model, 0 if its name tells none."""

    contents: tuple[Content, ...]
    generation: int


def contents_present(reading: Reading) -> Iterator[Refusal]:
    """A request has at least one content."""
    if not reading.contents:
        yield _refuse("contents_present")


def parts_present(reading: Reading) -> Iterator[Refusal]:
    """Every content has at least one part."""
    for index, content in enumerate(reading.contents):
        if not content.parts:
            yield _refuse("parts_present", index=index)


def roles_are_known(reading: Reading) -> Iterator[Refusal]:
    """A content is from the user or the model."""
    if any(content.role not in ("user", "model") for content in reading.contents):
        yield _refuse("roles_are_known")


def contents_do_not_begin_with_a_model_turn(reading: Reading) -> Iterator[Refusal]:
    """A conversation begins with the user; a call there has words of its own."""
    if reading.contents and reading.contents[0].role == "model" and not reading.contents[0].calls():
        yield _refuse("contents_do_not_begin_with_a_model_turn")


def contents_do_not_end_with_a_model_turn(reading: Reading) -> Iterator[Refusal]:
    """From Gemini 3 on a request ends with the user."""
    if reading.generation >= 3 and reading.contents and reading.contents[-1].role == "model":
        yield _refuse("contents_do_not_end_with_a_model_turn")


def call_turns_follow_user_turns(reading: Reading) -> Iterator[Refusal]:
    """A content with calls stands directly after a user content, function responses included."""
    for before, content in with_previous(reading.contents):
        if content.calls() and (before is None or before.role != "user"):
            yield _refuse("call_turns_follow_user_turns")


def response_turns_follow_call_turns(reading: Reading) -> Iterator[Refusal]:
    """A content with responses stands directly after a content with calls."""
    for before, content in with_previous(reading.contents):
        if content.responses() and (before is None or not before.calls()):
            yield _refuse("response_turns_follow_call_turns")


def responses_match_calls_in_number(reading: Reading) -> Iterator[Refusal]:
    """The content after calls holds as many responses as there were calls."""
    for content, following in with_next(reading.contents):
        answered = len(following.responses()) if following else 0
        if content.calls() and answered != len(content.calls()):
            yield _refuse("responses_match_calls_in_number")


def first_call_of_a_step_is_signed(reading: Reading) -> Iterator[Refusal]:
    """On Gemini 3 the first call of each step since the last user turn carries its signature."""
    if reading.generation < 3:
        return
    for content in _current_turn(reading.contents):
        calls = content.calls()
        if calls and not _either(calls[0], "thoughtSignature", "thought_signature"):
            yield _refuse("first_call_of_a_step_is_signed")


Rule = Callable[[Reading], Iterator[Refusal]]

RULES: tuple[Rule, ...] = (
    contents_present,
    roles_are_known,
    parts_present,
    contents_do_not_begin_with_a_model_turn,
    call_turns_follow_user_turns,
    response_turns_follow_call_turns,
    responses_match_calls_in_number,
    contents_do_not_end_with_a_model_turn,
    first_call_of_a_step_is_signed,
)


def check(body: Body, *, model: str = "") -> tuple[Refusal, ...]:
    """Return every refusal of a request body; the model stands in the URL, so it is a parameter."""
    contents = tuple(
        Content(text_of(content.get("role")) or "user", mappings_of(content.get("parts")))
        for content in mappings_of(body.get("contents"))
    )
    reading = Reading(contents, _generation(model))
    return tuple(refusal for rule in RULES for refusal in rule(reading))


def _generation(model: str) -> int:
    found = re.search(r"gemini-(\d+)", model)
    return int(found[1]) if found else 0


def _current_turn(contents: tuple[Content, ...]) -> tuple[Content, ...]:
    starts = [index for index, content in enumerate(contents) if content.is_user_turn()]
    return contents[starts[-1] :] if starts else contents


def _either(part: Body, camel: str, snake: str) -> object:
    return part.get(camel) or part.get(snake)


def _refuse(rule: str, **values: object) -> Refusal:
    return refuse("google", rule, **values)
