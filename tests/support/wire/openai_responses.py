"""OpenAI Responses: what `/v1/responses` accepts.

Calls and outputs pair by `call_id` anywhere after the call, over the items the server holds and the input
together. A reasoning item is followed by the item it was made for, and that item comes with its reasoning.
`previous_response_id` and `conversation` exclude each other. What the server held or issued comes in as
`held` and `ledger`; where the body refers to server state and `held` is unknown, pairing is not judged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .issued_items import IssuedItem, ItemLedger
from .reading import Body, mappings_of, repeated, text_of, with_next, with_previous
from .refusal import Refusal
from .words import refuse

_ID_PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc"}
_CALL_KINDS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
}
_OUTPUT_KINDS = frozenset(_CALL_KINDS.values())


@dataclass(frozen=True, slots=True)
class Reading:
    """The items of a request, those the server holds, and what it remembers."""

    body: Body
    sent: tuple[Body, ...]
    held: tuple[Body, ...] | None
    ledger: ItemLedger | None
    is_deepseek: bool

    @property
    def items(self) -> tuple[Body, ...]:
        """Return all items the model would see, those the server holds first."""
        return (*(self.held or ()), *self.sent)

    @property
    def is_stored(self) -> bool:
        """Return whether the server keeps this response and looks items up by id."""
        return self.body.get("store") is not False

    def sees_everything(self) -> bool:
        """Return whether no item the model will see is hidden from this reading."""
        refers = self.body.get("previous_response_id") or self.body.get("conversation")
        return self.held is not None or not refers

    def issued(self, item: Body) -> IssuedItem | None:
        """Return what the server remembers of an item, if anything."""
        return self.ledger.items.get(text_of(item.get("id"))) if self.ledger else None


def one_kind_of_server_state(reading: Reading) -> Iterator[Refusal]:
    """A request continues a response or a conversation, not both."""
    if reading.body.get("previous_response_id") and reading.body.get("conversation"):
        yield _refuse("one_kind_of_server_state")


def item_ids_fit_their_type(reading: Reading) -> Iterator[Refusal]:
    """An item's id begins with the letters of its type."""
    for index, item in enumerate(reading.sent):
        prefix = _ID_PREFIXES.get(_kind(item), "")
        id_ = text_of(item.get("id"))
        if id_ and prefix and item.get("role") in (None, "assistant") and not id_.startswith(prefix):
            yield _refuse("item_ids_fit_their_type", index=index, id=id_, prefix=prefix)


def items_are_not_repeated(reading: Reading) -> Iterator[Refusal]:
    """No item comes twice, be it inline or from the server's state."""
    ids = (text_of(item.get("id")) for item in reading.items)
    for id_ in repeated(id_ for id_ in ids if id_):
        yield _refuse("items_are_not_repeated", id=id_)


def referred_items_are_stored(reading: Reading) -> Iterator[Refusal]:
    """Reasoning or a reference without its content must be stored on the server."""
    for item in reading.sent:
        needs_store = _kind(item) == "item_reference" or _is_bare_reasoning(item)
        if reading.ledger is not None and needs_store and not _is_stored(reading, item):
            yield _refuse("referred_items_are_stored", id=text_of(item.get("id")))


def encrypted_content_is_genuine(reading: Reading) -> Iterator[Refusal]:
    """Encrypted reasoning goes back exactly as it was issued."""
    for item in reading.sent:
        encrypted, issued = text_of(item.get("encrypted_content")), reading.issued(item)
        if reading.ledger is None or not encrypted or (issued is None and not reading.ledger.strict):
            continue
        if issued is None or issued.encrypted != encrypted:
            yield _refuse("encrypted_content_is_genuine", shown=f"{encrypted[:4]}...{encrypted[-4:]}")


def reasoning_is_followed_by_its_item(reading: Reading) -> Iterator[Refusal]:
    """The item after reasoning is the output item it was made for."""
    for item, following in with_next(reading.items):
        if _kind(item) == "reasoning" and not _follows(reading, item, following):
            yield _refuse("reasoning_is_followed_by_its_item", id=text_of(item.get("id")))


def items_keep_their_reasoning(reading: Reading) -> Iterator[Refusal]:
    """An item that was made with reasoning comes directly after it."""
    for before, item in with_previous(reading.items):
        issued = reading.issued(item)
        if issued and issued.reasoning and text_of((before or {}).get("id")) != issued.reasoning:
            values = {"id": text_of(item.get("id")), "kind": _kind(item), "reasoning": issued.reasoning}
            yield _refuse("items_keep_their_reasoning", **values)


def calls_are_answered(reading: Reading) -> Iterator[Refusal]:
    """Every call has its output somewhere after it."""
    items = reading.items
    last_output = {_call_id(item): index for index, item in enumerate(items) if _kind(item) in _OUTPUT_KINDS}
    for index, item in enumerate(items):
        is_open = _kind(item) in _CALL_KINDS and last_output.get(_call_id(item), -1) < index
        if is_open and not reading.is_deepseek:
            yield _refuse("calls_are_answered", id=_call_id(item))


def outputs_answer_a_call(reading: Reading) -> Iterator[Refusal]:
    """Every output has its call somewhere before it."""
    seen: set[str] = set()
    for item in reading.items:
        if _kind(item) in _CALL_KINDS:
            seen.add(_call_id(item))
        elif _kind(item) in _OUTPUT_KINDS and _call_id(item) not in seen and reading.sees_everything():
            yield _refuse("outputs_answer_a_call", id=_call_id(item))


def deepseek_calls_are_followed_by_outputs(reading: Reading) -> Iterator[Refusal]:
    """On DeepSeek a run of calls is followed by the run of their outputs, with nothing between."""
    for index, item in enumerate(reading.items):
        if reading.is_deepseek and _kind(item) in _CALL_KINDS:
            outputs = _outputs_of_run(reading.items, index)
            if _call_id(item) not in {_call_id(output) for output in outputs}:
                yield _refuse("deepseek_calls_are_followed_by_outputs", id=_call_id(item))


Rule = Callable[[Reading], Iterator[Refusal]]

RULES: tuple[Rule, ...] = (
    one_kind_of_server_state,
    item_ids_fit_their_type,
    items_are_not_repeated,
    referred_items_are_stored,
    encrypted_content_is_genuine,
    reasoning_is_followed_by_its_item,
    items_keep_their_reasoning,
    outputs_answer_a_call,
    calls_are_answered,
    deepseek_calls_are_followed_by_outputs,
)


def check(
    body: Body,
    *,
    held: Sequence[Body] | None = None,
    ledger: ItemLedger | None = None,
    is_deepseek: bool | None = None,
) -> tuple[Refusal, ...]:
    """Return every refusal of a request body; `is_deepseek=None` goes by the model's name."""
    deepseek = text_of(body.get("model")).startswith("deepseek") if is_deepseek is None else is_deepseek
    reading = Reading(body, input_items(body), tuple(held) if held is not None else None, ledger, deepseek)
    return tuple(refusal for rule in RULES for refusal in rule(reading))


def input_items(body: Body) -> tuple[Body, ...]:
    """Return the input as items; a string is one user message."""
    sent = body.get("input")
    if isinstance(sent, str):
        return ({"type": "message", "role": "user", "content": sent},)
    return mappings_of(sent)


def _kind(item: Body) -> str:
    return text_of(item.get("type")) or ("message" if "role" in item else "")


def _call_id(item: Body) -> str:
    return text_of(item.get("call_id"))


def _is_bare_reasoning(item: Body) -> bool:
    return _kind(item) == "reasoning" and not item.get("encrypted_content")


def _is_stored(reading: Reading, item: Body) -> bool:
    issued = reading.issued(item)
    return issued.stored if issued else reading.ledger is not None and not reading.ledger.strict


def _follows(reading: Reading, reasoning: Body, following: Body | None) -> bool:
    if following is None or _kind(following) in _OUTPUT_KINDS or following.get("role") not in (None, "assistant"):
        return False
    issued, id_ = reading.issued(reasoning), following.get("id")
    if not id_:
        return not reading.is_stored
    return issued is None or issued.follower in (None, id_)


def _outputs_of_run(items: tuple[Body, ...], index: int) -> Iterator[Body]:
    while index < len(items) and _kind(items[index]) in _CALL_KINDS:
        index += 1
    while index < len(items) and _kind(items[index]) in _OUTPUT_KINDS:
        yield items[index]
        index += 1


def _refuse(rule: str, **values: object) -> Refusal:
    return refuse("openai_responses", rule, **values)
