from __future__ import annotations

from tests.reporting.conftest import toy

__all__ = ["toy"]
