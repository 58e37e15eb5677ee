"""Entry point of ``python -m nmt_prep`` and of ``nmt-prep``."""

import sys

from nmt_prep.cli.delayed import delay_heavy_libraries
from nmt_prep.cli.streams import prepare_process


def main() -> None:
    """Runs the command line; user errors give a message and exit status 1 or 2, never a traceback."""
    prepare_process()
    delay_heavy_libraries()
    from nmt_prep.cli.app import run_app  # noqa: PLC0415  (loads typer)

    sys.exit(run_app())


if __name__ == "__main__":
    main()
