from __future__ import annotations

from tests.stages.clean.test_leaks import server  # noqa: F401 - a fixture
