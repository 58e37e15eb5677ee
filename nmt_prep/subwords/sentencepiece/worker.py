"""Program of the child process that trains one SentencePiece model; ``process.py`` starts it.

The process gets a request and lines on standard input, and writes a reply to standard output; the library's log goes to
standard error. It imports nothing of nmt_prep, so that it starts quickly.

Requests, lines and replies are pickled:

- The request is a dictionary: ``path`` (``sys.path`` of the parent), ``parent`` (its process ID), and ``settings``
  (arguments of the library).
- Lists of lines, as bytes, follow. An empty list ends the input.
- The reply is a pair: an error, or None, and the model's bytes.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Trains the model that standard input requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets Ctrl-C too, and ends this process
    source = sys.stdin.buffer
    request = pickle.load(source)  # noqa: S301  (of the parent)
    _end_with(request["parent"])
    reply = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # prints of the library must not reach the reply
    sys.path[:] = request["path"]
    with reply:
        pickle.dump(_trained(_lines(source), request["settings"]), reply)


def _end_with(parent: int) -> None:
    """Makes the system end this process when the parent ends for any reason."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for any system: the next line of the log ends the process
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already ended
        sys.exit(1)


def _trained(lines: Iterator[bytes], settings: dict[str, Any]) -> tuple[str | None, bytes]:
    """Returns the error, if any, and the model's bytes."""
    import sentencepiece  # noqa: PLC0415  (sentencepiece is found by the parent's sys.path)

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=lines, model_writer=model, **settings)
    except MemoryError:
        return "out of memory", b""
    except Exception as error:  # noqa: BLE001  (the parent explains any error)
        return str(error) or type(error).__name__, b""
    return None, model.getvalue()


def _lines(source: BinaryIO) -> Iterator[bytes]:
    while block := pickle.load(source):  # noqa: S301  (of the parent)
        yield from block


if __name__ == "__main__":
    main()
