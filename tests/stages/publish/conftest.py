from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 0)
