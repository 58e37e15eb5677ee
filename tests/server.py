"""A web server for tests: answers as told, including faults and false headers, and records the requests."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """The response to send.

    Attributes:
        length: value of Content-Length; -1 is the true length, None is no header.
        cut: bytes of the body that are sent before the connection closes; None is all.
        stall: seconds of silence before the connection closes.
        chunked: send the body in chunks; if it is cut, the last chunk is not sent.
        ranges: honour Range and If-Range, against the ETag or Last-Modified in the headers, and ranges with an end.
        claim: a false value for Content-Range; empty is no such header.
        slow: seconds between blocks of ``piece`` bytes.
        slow_head: seconds between the bytes of the head.
        waits_for: a function that returns once the answer may be sent.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = -1
    cut: int | None = None
    stall: float = 0.0
    chunked: bool = False
    ranges: bool = False
    claim: str | None = None
    slow: float = 0.0
    piece: int = 1
    slow_head: float = 0.0
    waits_for: Callable[[], object] | None = None

    def ranged(self, asked: dict[str, str]) -> Answer:
        """Returns the requested part if ranges are honoured."""
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.get("Range", ""))
        known = (self.headers.get("ETag"), self.headers.get("Last-Modified"))
        if not self.ranges or match is None or (not match[2] and asked.get("If-Range") not in known):
            return self
        start, total = int(match[1]), len(self.body)
        if start >= total:
            return replace(self, status=416, body=b"", headers={"Content-Range": f"bytes */{total}"})
        end = min(int(match[2]) + 1, total) if match[2] else total
        claim = f"bytes {start}-{end - 1}/{total}" if self.claim is None else self.claim
        headers = {**self.headers, "Content-Range": claim} if claim else self.headers
        return replace(self, status=206, body=self.body[start:end], headers=headers)


@dataclass
class WebServer:
    """Answers by path; the last answer of a path is repeated.

    Attributes:
        asked: the paths of the requests, in order.
        headers: the headers of each request.
        closing: set when the server is to end.
        stalls: number of answers that fell silent.
    """

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    stalls: int = 0

    def give(self, path: str, *answers: Answer | bytes) -> str:
        self.answers[path] = [answer if isinstance(answer, Answer) else Answer(answer) for answer in answers]
        return self.url + path


class _Handler(BaseHTTPRequestHandler):
    running: WebServer

    def do_GET(self) -> None:
        server = self.running
        server.asked.append(self.path)
        server.headers.append(dict(self.headers))
        waiting = server.answers.get(self.path, [Answer(b"no such file", 404, {"Content-Type": "text/plain"})])
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if answer.waits_for is not None:
            answer.waits_for()
        self.send(answer.ranged(dict(self.headers)))
        self.close_connection = True

    def send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in {"Date": "Sat, 31 Jan 2026 12:00:00 GMT", **answer.headers}.items():
            self.send_header(name, value)
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif answer.length is not None:
            self.send_header("Content-Length", str(len(answer.body) if answer.length < 0 else answer.length))
        self.send_head(answer.slow_head)
        body = answer.body if answer.cut is None else answer.body[: answer.cut]
        if answer.chunked:
            chunks = (body[start : start + 1000] for start in range(0, len(body), 1000))
            body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
            body += b"0\r\n\r\n" if answer.cut is None else b""
        try:
            piece = answer.piece if answer.slow else len(body) or 1
            for start in range(0, len(body), piece):
                self.wfile.write(body[start : start + piece])
                self.running.closing.wait(answer.slow)
        except OSError:
            return  # the client has disconnected
        if answer.stall:
            self.running.stalls += 1
            self.running.closing.wait(answer.stall)

    def send_head(self, slow: float) -> None:
        if not slow:
            return self.end_headers()
        head = b"".join([*self._headers_buffer, b"\r\n"])  # type: ignore[attr-defined]
        self._headers_buffer: list[bytes] = []
        with suppress(OSError):
            for byte in head:
                self.wfile.write(bytes([byte]))
                self.running.closing.wait(slow)
        return None

    log_message: Callable[..., None] = lambda *_: None


@contextmanager
def web_server(host: str = "127.0.0.1") -> Iterator[WebServer]:
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((host, 0), handler) as http:
        server = WebServer(f"http://{host}:{http.server_port}")
        handler.running = server
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            http.shutdown()
            thread.join()
