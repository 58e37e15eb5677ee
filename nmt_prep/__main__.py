"""Entry point of ``python -m nmt_prep`` and of ``nmt-prep``."""

import gc
import sys

from nmt_prep.cli import delay_libraries
from nmt_prep.cli.streams import prepare_process

_COLLECTED_AFTER = 300_000
"""Number of new objects that starts a garbage collection. The default starts over a hundred while libraries load."""


def main() -> None:
    """Runs the command line; user errors give a message and exit status 1 or 2, never a traceback."""
    gc.set_threshold(_COLLECTED_AFTER)
    prepare_process()
    delay_libraries()
    from nmt_prep.cli.app import run_app  # noqa: PLC0415  (loads typer)

    status = run_app()
    gc.freeze()  # else the garbage collection at exit visits all objects of the libraries
    sys.exit(status)


if __name__ == "__main__":
    main()
