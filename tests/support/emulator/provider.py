"""`ProviderEmulator`: three provider APIs on a loopback port, with a script for a model.

It answers what the real APIs answer to a well-formed request, refuses what they refuse with their words, and
remembers what it received. The rules are in `wire`, the dialects beside this file, HTTP in `server.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self

from wire.openai_chat import ReasoningContent
from wire.reading import Body
from wire.refusal import Refusal

from .chat import OpenAIChat
from .dialect import Dialect, Numbers, Rendered
from .faults import Failure, Faults, Gate
from .messages import AnthropicMessages
from .responses import OpenAIResponses
from .script import Answer, Step, resolve
from .server import LoopbackServer, Reply

_STREAM_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Received:
    """One request to a model: what came, what the model would see, and how it was answered."""

    path: str
    body: Body
    effective: Body
    betas: frozenset[str]
    status: int
    refusal: Refusal | None = None


class ProviderEmulator:
    """A context manager that serves the three dialects while it is open.

    Args:
        bound: whether thinking is bound to its prefix; None goes by the model's name.
        strict: whether signatures and items that this server never issued are refused.
        reasoning_content: how Chat treats that field; None goes by the model's name.
        default: the answer when the script is used up; without one the server answers 500.
        port: the port to listen on, 0 for a free one; a fixed one keeps recordings equal.
    """

    def __init__(
        self,
        *steps: Step,
        bound: bool | None = None,
        strict: bool = True,
        reasoning_content: ReasoningContent | None = None,
        default: Step | None = None,
        port: int = 0,
    ) -> None:
        numbers = Numbers()
        self.anthropic = AnthropicMessages(numbers, bound)
        self.chat = OpenAIChat(numbers, reasoning_content)
        self.responses = OpenAIResponses(numbers)
        self.anthropic.ledger.strict = self.responses.ledger.strict = strict
        self._dialects: Mapping[str, Dialect] = {
            "/v1/messages": self.anthropic,
            "/v1/chat/completions": self.chat,
            "/v1/responses": self.responses,
        }
        self._steps, self._default = list(steps), default
        self._received: list[Received] = []
        self._faults, self._lock, self._port = Faults(), Lock(), port
        self._server: LoopbackServer | None = None

    def __enter__(self) -> Self:
        self._server = LoopbackServer(self._answer, self._port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._faults.release()
        if self._server is not None:
            self._server.close()

    @property
    def url(self) -> str:
        """The base URL for an Anthropic client."""
        assert self._server is not None, "the emulator serves only inside its with block"
        return self._server.url

    @property
    def openai_url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[Body, ...]:
        """The bodies of the requests to a model, refused ones included, in order."""
        return tuple(received.body for received in self._received)

    @property
    def received(self) -> tuple[Received, ...]:
        """The requests to a model with their circumstances."""
        return tuple(self._received)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was refused, in order."""
        return tuple(received.refusal for received in self._received if received.refusal)

    def script(self, *steps: Step) -> None:
        """Append answers; one is used by each request that is accepted."""
        self._steps.extend(steps)

    def effective(self, body: Body) -> Body:
        """Return a body as the model would see it now; the dialect is told by its shape."""
        if "input" in body:
            return self.responses.effective(body)
        return self.anthropic.effective(body)

    def fail(self, request: int, status: int, message: str = "Injected", *, should_retry: bool = False) -> None:
        """Answer the n-th request, counted from 1, with a status; the script does not advance."""
        self._faults.failures[request] = Failure(status, message, should_retry)

    def cut(self, request: int, *, after: int) -> None:
        """Break the stream of the n-th request after some events."""
        self._faults.cuts[request] = after

    def hold(self, request: int, *, after: int = 0) -> Gate:
        """Let the answer to the n-th request wait after some events until the returned gate is opened."""
        self._faults.gates[request] = Gate(after)
        return self._faults.gates[request]

    def _answer(self, method: str, path: str, body: Body, betas: frozenset[str]) -> Reply:
        with self._lock:
            dialect = self._dialects.get(path) if method == "POST" else None
            if dialect is None:
                return self._administer(method, path, body, betas)
            number = len(self._received) + 1
            seen = dialect.effective(body)  # before the answer becomes part of what the server holds
            reply, refusal = self._model(number, dialect, body, betas)
            self._received.append(Received(path, body, seen, betas, reply.status, refusal))
            return reply

    def _model(self, number: int, dialect: Dialect, body: Body, betas: frozenset[str]) -> tuple[Reply, Refusal | None]:
        gate = self._faults.gates.get(number)
        if failure := self._faults.failures.get(number):
            return self._error(dialect, failure), None
        if refusal := dialect.judge(body, betas):
            error = dialect.error(refusal.status, refusal.message, refusal.code)
            return Reply(refusal.status, error, gate=gate), refusal
        try:
            answer = self._next(number, body)
        except Exception as error:  # noqa: BLE001 - a step is the test's own code; its error goes to the client
            return self._error(dialect, Failure(500, f"The script of the emulator failed: {error!r}")), None
        rendered = dialect.render(body, betas, answer)
        return self._spoken(number, rendered, streams=bool(body.get("stream"))), None

    def _spoken(self, number: int, rendered: Rendered, *, streams: bool) -> Reply:
        gate, cut = self._faults.gates.get(number), self._faults.cuts.get(number)
        if not streams:
            return Reply(200, rendered.body, gate=gate)
        return Reply(200, rendered.events, _STREAM_TYPE, gate=gate, cut=cut)

    def _next(self, number: int, body: Body) -> Answer:
        step = self._steps.pop(0) if self._steps else self._default
        if step is None:
            message = f"request {number} has no answer"
            raise LookupError(message)
        return resolve(step, body)

    def _error(self, dialect: Dialect, failure: Failure) -> Reply:
        body = dialect.error(failure.status, failure.message, None)
        return Reply(failure.status, body, should_retry=failure.should_retry)

    def _administer(self, method: str, path: str, body: Body, betas: frozenset[str]) -> Reply:
        """Answer what is no request to a model: token counts and conversations."""
        if (method, path) == ("POST", "/v1/messages/count_tokens"):
            return self._count(body, betas)
        if (method, path) == ("POST", "/v1/conversations"):
            return Reply(200, self.responses.open_conversation(body))
        parts = path.removeprefix("/v1/conversations/").split("/")
        found: Body | None = None
        if path.startswith("/v1/conversations/") and method == "GET" and parts[1:] == ["items"]:
            found = self.responses.list_items(parts[0])
        elif path.startswith("/v1/conversations/") and method == "DELETE" and len(parts) == 1:
            found = self.responses.delete_conversation(parts[0])
        missing = self.responses.error(404, f"Not found: {method} {path}", None)
        return Reply(200, found) if found is not None else Reply(404, missing)

    def _count(self, body: Body, betas: frozenset[str]) -> Reply:
        if refusal := self.anthropic.judge(body, betas):
            return Reply(refusal.status, self.anthropic.error(refusal.status, refusal.message, refusal.code))
        return Reply(200, self.anthropic.count(body))
