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


_COLLISIONS = """[...view.document.querySelectorAll("svg.plot")].flatMap((plot) => {
  const boxes = [...plot.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
    .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
    .map(([other]) => [plot.getAttribute("aria-label"), one, other]));
})"""


@pytest.mark.parametrize("width", [420, 1400])
def test_labels_do_not_collide(page: str, width: int, tmp_path: Path) -> None:
    assert browser.values(page, _COLLISIONS, width, tmp_path) == []


def test_the_menu_shows_all_sections_on_a_phone(page: str, tmp_path: Path) -> None:
    probe = (
        """[...view.document.querySelectorAll("nav li")].map((entry) => entry.getBoundingClientRect().right <= 420)"""
    )
    assert set(browser.values(page, probe, 420, tmp_path)) == {True}


def test_wide_tables_have_shadows_at_their_edges(toy: Path, tmp_path: Path) -> None:
    probe = """(() => {
      const boxes = [...view.document.querySelectorAll(".scroll")];
      return boxes.filter((box) => box.scrollWidth > box.clientWidth + 1)
        .map((box) => view.getComputedStyle(box).backgroundAttachment);
    })()"""
    page = (toy / "report" / "index.html").read_text("utf-8")
    assert set(browser.values(page, probe, 420, tmp_path)) == {"local, local, scroll, scroll"}


def _chosen(probe: str, corpus: str) -> str:
    """Returns an expression whose value is that of another one after a corpus is chosen."""
    return f"""(() => {{
      const select = view.document.getElementById("corpus");
      select.value = "{corpus}";
      select.dispatchEvent(new view.Event("change"));
      return {probe};
    }})()"""


_NUMBERS = """(() => {
  const shown = {};
  for (const box of view.document.querySelectorAll(".rule")) {
    const texts = [box.querySelector(".how"), ...box.querySelectorAll("td")].map((element) => element.textContent);
    if (!box.hidden) shown[box.querySelector("h3").textContent] = texts;
  }
  const row = (name) => [...view.document.querySelectorAll(".agreement tr")]
    .find((row) => row.cells[0].textContent === name);
  const names = [...row("rule").cells].map((cell) => cell.textContent);
  const agreement = (name) => Object.fromEntries([...row(name).cells].map((cell, n) => [names[n], cell.textContent]));
  return [shown, agreement("language"), agreement("translation")];
})()"""


def test_numbers_of_the_chosen_corpus(toy: Path, tmp_path: Path) -> None:
    page = (toy / "report" / "index.html").read_text("utf-8")
    rules, language, _ = browser.values(page, _chosen(_NUMBERS, "train/toy"), 900, tmp_path)
    assert rules["html: source"] == [
        "17 of 4,000 source lines fail it (0.4%).",
        "3,974",
        "9",
        "99.6%",
        "0",
        "17",
        "100.0%",
    ]
    assert "score: quality" not in rules
    assert (language["pairs"], language["copy"]) == ("0", "-")
    rules, language, translation = browser.values(page, _chosen(_NUMBERS, "train/dirty"), 900, tmp_path)
    assert rules["language: target"][0] == "49 of 584 target lines fail it (8.4%)."
    assert rules["language: source"][0] == "17 of 584 source lines fail it (2.9%)."
    assert rules["score: quality"][0] == "15 of 584 pairs fail it (2.6%)."
    assert (language["pairs"], language["copy"], language["language"], language["score"]) == ("50", "66%", "·", "10%")
    assert {text for rule, text in translation.items() if rule not in ("rule", "pairs", "translation")} == {""}


def test_translation_has_a_threshold_to_move(toy: Path, tmp_path: Path) -> None:
    probe = """(() => {
      const range = view.document.querySelector("[aria-label='Another lower threshold for translation, pair']");
      range.value = 0;
      range.dispatchEvent(new view.Event("input"));
      const box = range.closest(".threshold");
      return [box.querySelector("output").textContent, box.querySelector("button").hidden];
    })()"""
    page = (toy / "report" / "index.html").read_text("utf-8")
    assert browser.values(page, probe, 900, tmp_path) == ["From -8: 100.0% of the pairs (3,881)", False]


@pytest.mark.skipif(AXE is None, reason="AXE_CORE does not name axe.min.js (npm pack axe-core)")
def test_axe_finds_nothing_serious(page: str, tmp_path: Path) -> None:
    assert AXE is not None
    for shown in (page, browser.dark(page)):
        found = browser.axe(shown, Path(AXE), tmp_path)
        assert [each for each in found if each["impact"] in ("serious", "critical")] == []


FOLLOWING = """(() => {
  const page = view.document, ranges = [...page.querySelectorAll(".threshold input")];
  const label = (range) => range.getAttribute("aria-label").match(/(upper|lower) threshold for (.*), (.*)/);
  const boxOf = (range) => page.querySelector(`[data-reason="${label(range)[2]}"]`);
  const rows = (range) => [...boxOf(range).querySelectorAll("tr[data-value]")].slice(0, 5);
  const range = ranges.find((each) => label(each)[1] === "upper" && boxOf(each)
    && rows(each).some((row) => JSON.parse(row.dataset.value)[2] === label(each)[3]));
  const box = boxOf(range);
  const shown = () => [...box.querySelectorAll("tr[data-value]")].filter((row) => !row.hidden);
  const passing = () => shown().map((row) => row.classList.contains("passing"));
  const found = [];
  for (const value of [range.min, range.max]) {
    range.value = value;
    range.dispatchEvent(new view.Event("input"));
    found.push(passing(), box.querySelector("summary").dataset.passing);
  }
  const select = page.querySelector("#corpus");
  select.value = "train/dirty";
  select.dispatchEvent(new view.Event("change"));
  found.push(new Set(shown().map((row) => row.dataset.corpus)).size, shown().length);
  return found;
})()"""


def test_examples_follow_the_slider_and_the_corpus(toy: Path, tmp_path: Path) -> None:
    text = (toy / "report" / "index.html").read_text("utf-8")
    strict, _, loose, told, corpora, shown = browser.values(text, FOLLOWING, 1200, tmp_path)
    assert not any(strict)
    assert any(loose)
    assert told.endswith("shown here would pass")
    assert corpora == 1
    assert shown
