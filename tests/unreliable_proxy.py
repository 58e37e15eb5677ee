"""A proxy that sometimes answers in the server's place, or breaks connections."""

from __future__ import annotations

import random
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class UnreliableProxy:
    """Forwards connections to a server on this machine; chance decides which of them fail, and how.

    Args:
        port: port of the server.
        trouble: share of the connections that fail at once, from 0 to 1.
        most: upper bound of the bytes after which the others are broken off; None is never.
    """

    def __init__(self, port: int, trouble: float, most: int | None = None) -> None:
        self.trouble = trouble
        self._most = most
        self.troubles = 0
        self._server_port = port
        self._chance = random.Random(1)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        fate = self._chance.random()
        with client, suppress(OSError):
            if fate >= self.trouble:
                self._forward(client, self._most)
                return
            self.troubles += 1
            status = {0: "500 Internal Server Error", 1: "503 Slow Down"}.get(int(fate / self.trouble * 4))
            if status is not None:
                client.recv(1 << 16)
                client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            else:
                self._forward(client, self._chance.choice([100, 2000, 20_000, 200_000]))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset

    def _forward(self, client: socket.socket, most: int | None) -> None:
        """Passes bytes in both directions, up to a limit, until either side ends the connection."""
        with socket.create_connection(("127.0.0.1", self._server_port)) as server:
            passed = [0]

            def copy(source: socket.socket, sink: socket.socket) -> None:
                with suppress(OSError):
                    while data := source.recv(1 << 16):
                        passed[0] += len(data)
                        if most is not None and passed[0] > most:
                            break
                        sink.sendall(data)
                for end in (source, sink):
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()
