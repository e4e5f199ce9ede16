"""The event stream of a Responses answer.

Each output item is added, filled piece by piece and done; the first events carry the response without its
output, the last one the whole. Events are numbered from 0.
"""

from collections.abc import Iterator

from wire.reading import Body, mappings_of, text_of

from .dialect import Event, compact, pieces


def stream_of(response: Body) -> tuple[Event, ...]:
    """Return the events of a finished response."""
    bodies = enumerate(_bodies(response))
    return tuple(Event(compact({**body, "sequence_number": at}), text_of(body["type"])) for at, body in bodies)


def _bodies(response: Body) -> Iterator[Body]:
    opening = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(mappings_of(response["output"])):
        started = _started(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        for body in _filling(item):
            yield {"item_id": item.get("id"), "output_index": index, **body}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _started(item: Body) -> Body:
    match item.get("type"):
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "reasoning":
            return {**item, "summary": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case _:
            return item


def _filling(item: Body) -> Iterator[Body]:
    match item.get("type"):
        case "message":
            yield from _content(mappings_of(item["content"]))
        case "reasoning":
            yield from _summary(mappings_of(item["summary"]))
        case "function_call":
            yield from _arguments(item)


def _content(parts: tuple[Body, ...]) -> Iterator[Body]:
    for index, part in enumerate(parts):
        place: Body = {"content_index": index}
        text = text_of(part["text"])
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        for piece in pieces(text):
            yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}


def _summary(parts: tuple[Body, ...]) -> Iterator[Body]:
    name = "response.reasoning_summary"
    for index, part in enumerate(parts):
        place: Body = {"summary_index": index}
        text = text_of(part["text"])
        yield {"type": f"{name}_part.added", **place, "part": {**part, "text": ""}}
        for piece in pieces(text):
            yield {"type": f"{name}_text.delta", **place, "delta": piece}
        yield {"type": f"{name}_text.done", **place, "text": text}
        yield {"type": f"{name}_part.done", **place, "part": part}


def _arguments(item: Body) -> Iterator[Body]:
    arguments = text_of(item["arguments"])
    for piece in pieces(arguments):
        yield {"type": "response.function_call_arguments.delta", "delta": piece}
    yield {
        "type": "response.function_call_arguments.done",
        "arguments": arguments,
        "name": item.get("name"),
    }
