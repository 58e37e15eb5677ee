"""The page in a real browser: it decides about each pair as a run does."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import Languages
from nmt_prep.config.file import parse_yaml
from nmt_prep.runs.checks.load import check_config, load_config
from nmt_prep.runs.finished_run import open_run
from nmt_prep.runs.runner import run
from nmt_prep.runs.trial.data import text_key, trial_data
from nmt_prep.runs.trial.trial_page import render
from tests.conftest import SHARED
from tests.reporting import browser
from tests.reporting.test_browser import AXE
from tests.reporting.test_page import HOSTILE
from tests.runs.trial.test_trial_sample import config_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian: apt-get install chromium)"),
]

DIRTY = SHARED / "corpora" / "dirty-ende" / "train.tsv.gz"

MOVES = """(() => {
  const found = [];
  for (const range of view.document.querySelectorAll("#cards .rule:not(.off) input[type=range]")) {
    const before = range.value, exact = range.nextSibling;
    if (range.getAttribute("aria-label").includes("translation")) continue;
    for (const place of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      range.value = Math.round(range.max * place);
      range.dispatchEvent(new view.Event("input"));
      found.push([range.getAttribute("aria-label"), view.trial.differences(), view.trial.reasons()]);
    }
    exact.value = "1.23456";
    exact.dispatchEvent(new view.Event("change"));
    found.push([range.getAttribute("aria-label"), view.trial.differences(), view.trial.reasons()]);
    [...view.document.querySelectorAll("button")].find((each) => each.textContent === "Back to the config").click();
  }
  return found;
})()"""


@pytest.mark.slow
@pytest.mark.skipif(not DIRTY.exists(), reason="the noisy corpus is not there")
def test_sliders_decide_as_a_run_does(tmp_path: Path) -> None:
    data = trial_data(dirty(tmp_path), 3000)
    rows, texts = data["pairs"]["row"], gzip.decompress(DIRTY.read_bytes()).decode().split("\n")
    sides = zip(*(texts[row].split("\t")[:2] for row in rows), strict=True)
    text = dict(zip(("source", "target"), (pa.array(lines, pa.large_string()) for lines in sides), strict=True))
    context = Context(Languages(source="en", target="de"), ("source", "target"), tmp_path)
    moves = browser.values(render(data), MOVES, 1200, tmp_path)
    rules = {key: data["controls"][control]["spec"] for key, control in data["presets"]["standard"]}
    rules.pop("translation")
    fix = ("mojibake", "control", "nfc", "whitespace")
    decided = set()
    for label, yaml, reasons in moves:
        changed = parse_yaml(yaml, "changes")[0]["clean"]["rules"] if yaml else {}
        judged = Cleaner(Cleaning(fix, {**rules, **changed}), context, "x").clean(text)
        expected = [judged.names[reason] if reason >= 0 else "kept" for reason in judged.reasons.tolist()]
        shown = ["kept" if reason == "translation" else reason for reason in reasons]
        assert shown == expected, (label, yaml)
        decided.add((label, shown.count("kept")))
    assert len({label for label, _ in decided}) == 11
    assert len(decided) > 40


def dirty(directory: Path) -> Any:
    corpus = {"name": "dirty", "url": str(DIRTY), "columns": {"source": 0, "target": 1}}
    return config_of(directory, [corpus], preset="standard")


RUN_MOVES = """(() => {
  const found = [], page = view.document;
  const named = (card) => card.querySelector(".name").textContent;
  const count = (card) => parseInt(card.querySelector(".count").textContent.replaceAll(",", ""));
  const cards = () => [...page.querySelectorAll("#cards .rule:not(.off)")];
  const note = (what, id) => found.push(
    [what, id, view.trial.differences(), view.trial.reasons(), cards().map((card) => [named(card), count(card)])]);
  const buttons = () => [...page.querySelectorAll("button")];
  const back = () => buttons().find((each) => each.textContent === "Back to the config").click();
  note("config", "");
  for (const name of cards().map(named)) {
    const card = () => cards().find((each) => named(each) === name);
    const ranges = card().querySelectorAll("input[type=range]").length;
    for (let number = 0; number < ranges; number++) {
      for (const share of [0.25, 0.75]) {
        const range = card().querySelectorAll("input[type=range]")[number];
        range.value = Number(range.value) + (share < 0.5 ? -1 : 1) * Math.ceil(0.15 * range.max);
        range.dispatchEvent(new view.Event("input"));
        if (view.trial.differences()) note(share < 0.5 ? "lower" : "higher", name);
        back();
      }
    }
    card().querySelector("input[type=checkbox]").click();
    note("off", name);
    back();
  }
  return found;
})()"""

OF_OTHERS = {"kept", "duplicate_pair", "translation", "adequacy"}
"""Decisions that depend on other pairs: a changed rule changes what a pair is compared with, and what is learned."""


@pytest.mark.slow
@pytest.mark.skipif(not DIRTY.exists(), reason="the noisy corpus is not there")
@pytest.mark.parametrize(("preset", "rules"), [("standard", 14), ("strict", 20)])
def test_sliders_after_a_run_decide_as_the_next_run_does(tmp_path: Path, preset: str, rules: int) -> None:
    def config(clean: Mapping[str, Any]) -> Any:
        return check_config({**settings, "clean": {"preset": preset, "rejects": "all", **clean}}, "x").within(tmp_path)

    lines = gzip.decompress(DIRTY.read_bytes()).decode().split("\n")[:4000]
    (tmp_path / "a.tsv").write_text("\n".join([*lines, *lines[:50]]) + "\n", "utf-8")
    settings = config_of(tmp_path, [{"name": "a", "url": "a.tsv", "columns": {"source": 0, "target": 1}}])
    settings = settings.model_dump(mode="json", exclude_unset=True)
    run(config({}), until="clean")
    data = trial_data(config({}), 20_000)
    moves = browser.values(render(data), RUN_MOVES, 1200, tmp_path)
    changed, back = set(), 0
    kept = [reason == "kept" for reason in moves[0][3]]
    for what, rule, yaml, shown, cards in moves:
        exact = rule in ("", "translation", "adequacy") and what != "off"
        clean = parse_yaml(yaml, "changes")[0]["clean"] if yaml else {}
        learned = {} if exact else {"translation": "off", "adequacy": "off"}  # their decisions are not compared then
        run(config({"rules": {**clean.get("rules", {}), **learned}}), until="clean")
        rejected = open_run(tmp_path / "run").pairs("rejected").to_pylist()
        told = {pair["row"]: pair["rule"] for pair in rejected}
        real = [told.get(row, "kept") for row in data["pairs"]["row"]]
        scored = rule != "translation"  # no pair that one of the two drops has a score of the other
        either = [
            "passes the rules"
            if {ours, theirs} <= OF_OTHERS and (not exact or (not scored and "adequacy" in (ours, theirs)))
            else (ours, theirs)
            for ours, theirs in zip(shown, real, strict=True)
        ]
        assert [each for each in either if each[0] != each[1] and each != "passes the rules"] == [], (what, rule)
        assert {name: count for name, count in cards if count} == {
            name: count for name, count in Counter(shown).items() if name not in ("kept", "empty", "duplicate_pair")
        }
        back += sum(reason == "kept" and not before for reason, before in zip(shown, kept, strict=True))
        changed.add(rule)
    assert len(changed) == rules + 1
    assert back > 500


KEYS = """(() => {
  const page = view.document, press = (key) => page.activeElement.dispatchEvent(
    new view.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  press("j");
  const rows = () => page.activeElement.dataset.pair;
  const found = [rows()];
  for (const key of ["j", "ArrowDown", "k", "r"]) { press(key); found.push(rows()); }
  found.push(page.activeElement.querySelector('[aria-pressed="true"]').textContent, view.trial.exported());
  press("w");
  found.push(view.trial.exported());
  press("u");
  found.push(view.trial.exported());
  press("/");
  found.push(page.activeElement.type);
  return found;
})()"""


def test_keys_and_judgements(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"a word {n}\tein Wort {n}\n" for n in range(5)), "utf-8")
    page = render(trial_data(config_of(tmp_path, [{"name": "a", "url": "a.tsv"}]), 500))
    first, down, further, up, here, pressed, good, bad, none, search = browser.values(page, KEYS, 1200, tmp_path)
    assert [first, down, further, up, here] == ["0", "1", "2", "1", "1"]
    assert pressed == "rightly kept"
    header = "corpus\trow\tkey\tjudgement\n"
    key = text_key("a word 1", "ein Wort 1")
    assert good == f"{header}train/a\t1\t{key}\tgood\n"
    assert bad == f"{header}train/a\t1\t{key}\tbad\n"
    assert none.strip() == header.strip()
    assert search == "search"


def test_the_page_of_a_run_decides_as_the_run_did(tmp_path: Path, toy: Path) -> None:
    config = load_config("configs/toy-clean.yaml", [f"output_dir={toy}"])
    data = trial_data(config, 20_000)
    assert len(data["notes"]) == 1
    reasons = browser.values(render(data), "view.trial.reasons()", 1200, tmp_path)
    told = {(pair["corpus"], pair["row"]): pair["rule"] for pair in open_run(toy).pairs("rejected").to_pylist()}
    pairs, names = data["pairs"], [corpus["name"].removeprefix("train/") for corpus in data["corpora"]]
    places = [(names[corpus], row) for corpus, row in zip(pairs["corpus"], pairs["row"], strict=True)]
    assert len(places) == 4584
    assert [reason.partition(" (")[0] for reason in reasons] == [told.get(place, "kept") for place in places]


SUGGESTED = """(() => {
  const found = [...view.document.querySelectorAll(".rule")].flatMap((rule) =>
    [...rule.querySelectorAll("p.note button")].map((use) => [use.parentNode.textContent.trim(), use]));
  const before = found.map(([text]) => text);
  found[0][1].click();
  return [before, view.trial.differences()];
})()"""


def test_suggested_limits(tmp_path: Path) -> None:
    lines = [f"{'word ' * (n + 1)}\t{'Wort ' * (n + 1)}\n" for n in range(20)]
    (tmp_path / "a.tsv").write_text("".join(lines), "utf-8")
    config = config_of(tmp_path, [{"name": "a", "url": "a.tsv"}], rules={"length": {"unit": "word", "max": 15}})
    data = trial_data(config, 500)
    data["judged"] = [(row, "good" if row < 8 else "bad") for row in range(20)]
    before, yaml = browser.values(render(data), SUGGESTED, 1200, tmp_path)
    assert before == ["max 8 is wrong about 0 of 20 judged pairs instead of 7."]
    assert yaml == "clean:\n  rules:\n    length: {unit: word, max: 8}\n"


LINKS = """(() => {
  const page = view.document, item = page.querySelector("#list .item");
  item.dispatchEvent(new view.Event("pointerover", { bubbles: true }));
  const words = [...item.querySelectorAll('.w[data-side="0"]')];
  return words.map((word) => {
    word.dispatchEvent(new view.MouseEvent("mouseover", { bubbles: true }));
    const linked = [...item.querySelectorAll(".linked")].map((other) => other.textContent);
    word.dispatchEvent(new view.MouseEvent("mouseout", { bubbles: true }));
    return [word.textContent, ...linked];
  });
})()"""


def test_links_of_words(tmp_path: Path) -> None:
    words = {"red": "rot", "green": "grün", "house": "Haus", "tree": "Baum", "𝄞": "♪"}
    pairs = [" ".join(chosen) for chosen in permutations(words, 3)]
    lines = [f"{source}\t{' '.join(words[word] for word in source.split())}\n" for source in pairs]
    (tmp_path / "a.tsv").write_text("".join(lines), "utf-8")
    page = render(trial_data(config_of(tmp_path, [{"name": "a", "url": "a.tsv"}]), 500))
    assert browser.values(page, LINKS, 1200, tmp_path) == [["red", "rot"], ["green", "grün"], ["house", "Haus"]]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("hostile")
    texts = [text.replace("\t", " ") for text in HOSTILE]
    pairs = [*zip(texts, reversed(texts), strict=True), *((f"word {n}", f"</script>&lt;b {n}") for n in range(70))]
    (directory / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    corpora = [{"name": "a", "url": "a.tsv"}]
    return render(trial_data(config_of(directory, corpora, rules={"html": {}, "regex": {"x": "<b"}}), 500))


def test_text_never_becomes_markup(hostile: str, tmp_path: Path) -> None:
    probe = """({
      script: view.document.querySelectorAll("script").length,
      other: view.document.querySelectorAll("img, iframe, b, object, embed, link, base, form").length,
      text: view.document.querySelector("#list").textContent,
    })"""
    found = browser.values(hostile, probe, 1200, tmp_path)
    assert (found["script"], found["other"]) == (2, 0)
    assert "</script>&lt;b 3" in found["text"]
    assert hostile.count("</script>") == 2


def test_no_errors_and_nothing_sticks_out(hostile: str, tmp_path: Path) -> None:
    sizes = [375, 768, 1440]
    for size, found in zip(sizes, browser.widths(hostile, sizes, tmp_path), strict=True):
        assert found == {"errors": [], "scroll": size, "client": size, "wide": []}


@pytest.mark.skipif(AXE is None, reason="set AXE_CORE to the path of axe.min.js (npm: axe-core)")
def test_axe(hostile: str, tmp_path: Path) -> None:
    assert AXE is not None
    for page in (hostile, browser.dark(hostile)):
        assert browser.axe(page, Path(AXE), tmp_path) == []
