"""A web server of a test: answers as the test says, and notes what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What to send: ``length`` is what Content-Length claims, None for none."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = -1


@dataclass
class WebServer:
    """Answers by path, the last one again and again; ``asked`` lists the paths in order."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def give(self, path: str, *answers: Answer | bytes) -> str:
        self.answers[path] = [answer if isinstance(answer, Answer) else Answer(answer) for answer in answers]
        return self.url + path


@contextmanager
def web_server() -> Iterator[WebServer]:
    server: WebServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            server.headers.append(dict(self.headers))
            waiting = server.answers.get(self.path, [Answer(b"no such file", 404, {"Content-Type": "text/plain"})])
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.length is not None:
                self.send_header("Content-Length", str(len(answer.body) if answer.length < 0 else answer.length))
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = True

        log_message: Callable[..., None] = lambda *_: None  # noqa: E731

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = WebServer(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
