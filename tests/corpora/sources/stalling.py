"""A server that goes silent at a chosen point of a download, until the test ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

SAID = {
    "handshake": b"",
    "head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "page": b"HTTP/1.1 404 Gone\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\n",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nabc",
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5",
    "retry": b"HTTP/1.1 503 Busy\r\nRetry-After: 300\r\nContent-Length: 0\r\n\r\n",
}
"""The bytes sent before the server falls silent, for each point."""


@dataclass(frozen=True)
class Stalling:
    """``reached`` is released once for each connection that has come to the point."""

    port: int
    reached: threading.Semaphore


@contextmanager
def stalling(point: str) -> Iterator[Stalling]:
    """Serves until the end of the ``with`` statement. ``connect`` takes no connection: the queue of them is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0 if point == "connect" else None) as listener:
        port = listener.getsockname()[1]
        reached = threading.Semaphore(0)
        open_sockets = [socket.create_connection(("127.0.0.1", port))] if point == "connect" else []
        thread = threading.Thread(target=_serve, args=(listener, point, reached, open_sockets))
        if point != "connect":
            thread.start()
        try:
            yield Stalling(port, reached)
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            if thread.ident is not None:
                thread.join()
            for connection in open_sockets:
                connection.close()


def _serve(
    listener: socket.socket, point: str, reached: threading.Semaphore, open_sockets: list[socket.socket]
) -> None:
    with suppress(OSError):
        while True:
            connection = listener.accept()[0]
            open_sockets.append(connection)
            connection.recv(1 << 16)
            connection.sendall(SAID[point])
            reached.release()
