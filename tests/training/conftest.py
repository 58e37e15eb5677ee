from __future__ import annotations

from tests.training.records.runs import encode_run  # noqa: F401 - a fixture
