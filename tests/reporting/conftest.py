from __future__ import annotations

from pathlib import Path

import pytest

from tests.reporting.runs import run_toy


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of a finished run of configs/toy-clean.yaml, which tests leave as it is."""
    return run_toy(tmp_path_factory.mktemp("toy") / "run")
