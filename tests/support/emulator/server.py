"""HTTP on the loopback interface: parses a request, asks for the reply, sends it.

One thread accepts, one thread serves each connection; all end with `close`. Replies carry no date and no
server name, so that recordings do not differ. A streamed reply is sent event by event in chunks; a cut one
closes the connection without the closing chunk.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Thread
from typing import TypeAlias
from urllib.parse import urlsplit

from wire.reading import Body, mapping_of

from .dialect import Event, compact
from .faults import Gate

_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: a JSON body or a row of events, and where it waits or breaks."""

    status: int
    content: Body | tuple[Event, ...]
    content_type: str = "application/json"
    should_retry: bool = False
    gate: Gate | None = None
    cut: int | None = None


Answering: TypeAlias = Callable[[str, str, Body, frozenset[str]], Reply]


class LoopbackServer:
    """A server that runs from its construction to `close`."""

    def __init__(self, answering: Answering, port: int = 0) -> None:
        self._http = _Server((_HOST, port), answering)
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://{_HOST}:{self._http.server_port}"

    def close(self) -> None:
        """Stop accepting, end the open connections, free the port."""
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close then waits for the threads
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], answering: Answering) -> None:
        super().__init__(address, _Handler)
        self.answering = answering
        self.connections: set[socket] = set()

    def process_request(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        # Noted in the accepting thread: after its end no connection is unknown.
        if isinstance(request, socket):
            self.connections.add(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        for connection in tuple(self.connections):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing: a test reads `received`."""

    def do_GET(self) -> None:
        self._serve({})

    def do_DELETE(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        self._serve(mapping_of(json.loads(sent or b"{}")))

    def _serve(self, body: Body) -> None:
        named = ",".join(self.headers.get_all("anthropic-beta") or ())
        betas = frozenset(beta.strip() for beta in named.split(",") if beta.strip())
        path = urlsplit(self.path).path
        reply = self.server.answering(self.command, path, body, betas)
        if isinstance(reply.content, tuple):
            self._stream(reply, reply.content)
        else:
            self._send(reply, reply.content)

    def _send(self, reply: Reply, body: Body) -> None:
        if reply.gate:
            reply.gate.wait()
        payload = compact(body).encode()
        self._head(reply, "content-length", str(len(payload)))
        self.wfile.write(payload)

    def _stream(self, reply: Reply, events: tuple[Event, ...]) -> None:
        self._head(reply, "transfer-encoding", "chunked")
        for sent, event in enumerate((*events, None)):
            if reply.gate and sent == min(reply.gate.after, len(events)):
                reply.gate.wait()
            if reply.cut is not None and sent == min(reply.cut, len(events)):
                return
            self._chunk(_encoded(event) if event else b"")

    def _head(self, reply: Reply, *header: str) -> None:
        self.send_response_only(reply.status)
        self.send_header("content-type", reply.content_type)
        if reply.status >= 400:
            self.send_header("x-should-retry", "true" if reply.should_retry else "false")
        self.send_header(*header)
        # A pooled connection would outlive the event loop of its test and warn when it is collected.
        self.send_header("connection", "close")
        self.end_headers()

    def _chunk(self, payload: bytes) -> None:
        self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
        self.wfile.flush()


def _encoded(event: Event) -> bytes:
    name = f"event: {event.name}\n" if event.name else ""
    return f"{name}data: {event.data}\n\n".encode()
