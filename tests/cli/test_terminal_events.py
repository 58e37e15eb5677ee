from __future__ import annotations

from nmt_prep.cli.terminal import describe


def test_a_run_that_waits_for_another_says_how_not_to() -> None:
    assert describe("waiting", {"holder": "process 7 on a", "directory": "runs/toy"}) == (
        "waiting for process 7 on a, which is using runs/toy "
        "(Ctrl-C stops this; with --no-wait, nmt-prep run ends with an error instead)"
    )
