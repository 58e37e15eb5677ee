"""The page in a real browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reporting import browser
from tests.reporting.test_page import hostile_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian: apt-get install chromium)"),
]

AXE = os.environ.get("AXE_CORE")
"""Path of ``axe.min.js`` from the npm package axe-core."""


@pytest.fixture(scope="module", params=["toy-clean", "hostile"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, toy: Path) -> str:
    run = hostile_run(tmp_path_factory.mktemp("hostile")) if request.param == "hostile" else toy
    return (run / "report" / "index.html").read_text("utf-8")


def test_no_errors_and_nothing_sticks_out(page: str, tmp_path: Path) -> None:
    sizes = [375, 768, 1440]
    for size, found in zip(sizes, browser.widths(page, sizes, tmp_path), strict=True):
        assert found == {"errors": [], "scroll": size, "client": size, "wide": []}


def test_without_script(page: str, tmp_path: Path) -> None:
    bare, full = (browser.content(page, tmp_path, script=script) for script in (False, True))
    assert bare["plots"] == full["plots"]
    assert min(bare["plots"]) > 30
    assert bare["buttons"] == 0 < full["buttons"]
    for heading in ("From input to training", "Lengths", "Vocabularies", "Batches", "Examples", "Provenance"):
        assert heading in bare["text"]


@pytest.mark.skipif(AXE is None, reason="AXE_CORE does not name axe.min.js (npm pack axe-core)")
def test_axe_finds_nothing_serious(page: str, tmp_path: Path) -> None:
    assert AXE is not None
    for shown in (page, browser.dark(page)):
        found = browser.axe(shown, Path(AXE), tmp_path)
        assert [each for each in found if each["impact"] in ("serious", "critical")] == []
