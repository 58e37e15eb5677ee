from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.reporting import page
from nmt_prep.reporting.page import render_page
from nmt_prep.reporting.report_tables import render_text
from tests.conftest import REPOSITORY
from tests.reporting.runs import run_toy, summary_of
from tests.stages.runs import config_of

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eevil\u202c and \u2066more\u2069",
    "x" * 100_000,
    "-->]]></title></style><svg onload=alert(1)>",
    "&lt;b&gt; &amp;amp; \"quoted\" 'single'",
    "\x01\x7f\u200b\ufeff\U000e0041 hidden",
    "مرحبا بالعالم، كيف حالك؟ می\u200cخواهم",
    "{{constructor}} ${1+1} javascript:alert(1)",
]
VOID = {"br", "meta"}


class Parsed(HTMLParser):
    """The elements of a page; fails if they are not nested properly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes.extend((tag, name, value) for name, value in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes.extend((tag, name, value) for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def hostile_run(directory: Path) -> Path:
    pairs = [
        *zip(HOSTILE, reversed(HOSTILE), strict=True),
        *((f"word {n} " * (1 + n % 9), f"Wort {n}") for n in range(1)),
    ]
    (directory / "a.source").write_text("".join(f"{source}\n" for source, _ in pairs), "utf-8")
    (directory / "a.target").write_text("".join(f"{target}\n" for _, target in pairs), "utf-8")
    url = {"source": "a.source", "target": "a.target"}
    rules = {"length": {"unit": "char", "max": 60}, "regex/own": {"pattern": "</script>"}}
    config = config_of(
        *(directory, {"name": "a", "url": url, "licence": "<script>alert(2)</script>"}),
        name="hostile",
        languages={"source": "en", "target": "ar"},
        clean={"preset": "none", "rules": rules},
        vocab={"size": 300},
    )
    nmt_prep.run(config)
    return directory / "run"


@pytest.fixture(scope="module")
def text(toy: Path) -> str:
    return (toy / "report" / "index.html").read_text("utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return (hostile_run(tmp_path_factory.mktemp("hostile")) / "report" / "index.html").read_text("utf-8")


def test_hostile_text_stays_text(hostile: str) -> None:
    parsed = Parsed(hostile)
    assert (parsed.elements["script"], parsed.elements["style"], parsed.elements["img"]) == (1, 1, 0)
    assert hostile.count("</script>") == 1
    assert not [name for _, name, _ in parsed.attributes if name.startswith("on") or name == "src"]
    assert {value[0] for _, name, value in parsed.attributes if name == "href" and value} == {"#"}
    text = "".join(parsed.text)
    for expected in (
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "⟨U+202E⟩evil⟨U+202C⟩ and ⟨U+2066⟩more⟨U+2069⟩",
        "⟨U+0001⟩⟨U+007F⟩⟨U+200B⟩⟨U+FEFF⟩⟨U+E0041⟩ hidden",
        "&lt;b&gt; &amp;amp; \"quoted\" 'single'",
        "مرحبا بالعالم، كيف حالك؟ می\u200cخواهم",
    ):
        assert expected in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", hostile)
    assert "x" * 400 not in hostile


def test_text_of_a_corpus_has_its_language_and_direction(hostile: str) -> None:
    assert '<td lang="ar" dir="auto">' in hostile
    assert '<p lang="en" dir="auto">' in hostile


def test_the_page_is_complete_in_itself(text: str) -> None:
    parsed = Parsed(text)
    assert not [value for _, name, value in parsed.attributes if name in ("src", "srcset", "xlink:href", "action")]
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src &#x27;none&#x27;" in text
    script = page._resource("page.js")
    assert not re.search(r"innerHTML|document\.write|eval\(|fetch\(|XMLHttp|import\(", script)
    assert len(script.encode()) < 30_000
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value for _, name, value in parsed.attributes if name == "href"} <= {f"#{each}" for each in ids}
    assert [value for tag, name, value in parsed.attributes if (tag, name) == ("section", "id")] == [
        *("flow", "rules", "lengths", "vocabularies", "duplicates", "batches", "examples", "provenance")
    ]
    assert parsed.elements["figure"] > 30


def test_every_plot_has_a_name_a_sentence_and_a_table(text: str) -> None:
    figures = re.findall("<figure.*?</figure>", text, re.DOTALL)
    for figure in figures:
        assert re.search('<svg class="plot" role="img" aria-label="[^"]+"', figure)
        assert re.search('<p class="how">[^<]{20,}', figure)
        assert "<details><summary>Table</summary>" in figure


def test_every_step_of_all_pairs_has_a_label(text: str) -> None:
    [figure] = re.findall("<figcaption><h3>All pairs of train.*?</figure>", text, re.DOTALL)
    labels = re.findall('<text [^>]*class="tick" text-anchor="(?:middle|start)"[^>]*>([^<]*)', figure)
    assert sorted(labels) == ["IDs", "dedup", "read", "rules", "tests", "valid"]


def test_numbers_of_the_page_are_those_of_the_summary(toy: Path, text: str) -> None:
    text = "".join(Parsed(text).text)
    summary = summary_of(toy)
    for flow in (flow for corpora in summary["flow"].values() for flow in corpora.values()):
        assert f"{flow['read']['pairs']:,}" in text
        assert f"{flow['encoded']['source_tokens']:,}" in text
    for use in summary["pieces"].values():
        assert f"{use['unused']:,} (" in text
    assert summary["signature"] in text
    for estimate in summary["batches"]["train"]:
        assert f"{100 - 100 * estimate['tokens'] / estimate['cells']:.1f}%" in text


def test_figures_of_the_head_are_those_of_one_split(toy: Path, text: str) -> None:
    assert "Figures of train; also prepared: 200 pairs of dev<" in text
    tiles = re.findall("<dt>([^<]*)</dt><dd><strong>[^<]*</strong><span>([^<]*)</span>", text)
    summary = summary_of(toy)["splits"]["train"]
    assert tiles[:3] == [
        ("pairs read", "4,600"),
        ("pairs prepared", "3,879, 84.3%"),
        ("source IDs", f"{summary['source_tokens']:,}"),
    ]


def test_captions_count_the_lines_of_their_side(text: str) -> None:
    captions = dict(re.findall('<h3>([^<]*)</h3><p class="how">([^<]* fail it [^<]*)</p>', text))
    assert captions["url_only: source"] == "17 of 4,584 source lines fail it (0.4%)."
    assert captions["url_only: target"] == "28 of 4,584 target lines fail it (0.6%)."
    assert captions["length_ratio"] == "87 of 4,584 pairs fail it (1.9%)."


def test_rules_and_reasons_with_most_pairs_come_first(text: str) -> None:
    heads = [re.findall('<th scope="col"[^>]*>([^<]*)</th>', head) for head in re.findall("<thead>.*?</thead>", text)]
    [reasons] = [head for head in heads if head[:2] == ["corpus", "all"]]
    assert reasons[2:6] == ["in_test_set:dev", "duplicate_pair", "top", "html"]
    [rules] = [head for head in heads if head[:2] == ["rule", "pairs"]]
    assert rules[2:6] == ["length_ratio", "script", "language", "repetition"]


def test_rules_that_do_not_judge_the_same_pairs_have_empty_cells(text: str) -> None:
    assert "translation and top only pairs that the rules before keep" in text
    [row] = re.findall('<tr><th scope="row">translation</th>.*?</tr>', text)
    cells = re.findall("<td[^>]*>([^<]*)</td>", row)
    assert (cells[0], set(cells[1:])) == ("2", {"", "·"})


def test_the_text_and_the_page_have_the_same_pieces_per_word(toy: Path) -> None:
    summary = summary_of(toy)
    totals = [corpus["totals"]["source"] for corpus in summary["text"]["train"].values()]
    expected = f"{sum(total['piece'] for total in totals) / sum(total['word'] for total in totals):.3f}"
    assert f'<th scope="row">pieces per word</th><td class="n">{expected}</td>' in render_page(summary)
    [line] = [line for line in render_text(summary).splitlines() if line.startswith("pieces per word")]
    assert line.split()[3] == expected


def test_frequent_lines_that_cleaning_dropped_are_on_the_page(toy: Path) -> None:
    line = "134,384 of 200,000 target lines (67.2%) are “NO TRANSLATION AVAILABLE”"
    mended = {"split": "train", "corpus": "dirty", "side": "target", "code": "frequent_line", "text": line}
    page = render_page({**summary_of(toy), "mended": [mended]})
    assert f"<summary>Fixed by cleaning</summary><ul><li><b>train/dirty</b> {line}</li></ul>" in page


def test_the_same_data_give_the_same_page(toy: Path, text: str, tmp_path: Path) -> None:
    other = run_toy(tmp_path / "other directory")
    for name in ("index.html", "summary.json", "summary.txt"):
        assert (toy / "report" / name).read_bytes() == (other / "report" / name).read_bytes()
    assert render_page(summary_of(toy)) == text
    assert str(tmp_path) not in text


def test_thirty_corpora_fit_into_a_megabyte(toy: Path) -> None:
    summary = summary_of(toy)
    for section in ("flow", "corpora", "text", "clean", "rules", "rejects"):
        own = summary[section]["train"]
        summary[section]["train"] = {
            **own,
            **{f"corpus{number}": json.loads(json.dumps(own["dirty"])) for number in range(28)},
        }
    for corpus in summary["text"]["train"].values():
        for pair in [*corpus["examples"], *corpus["longest"]]:
            pair["text"] = dict.fromkeys(pair["text"], "长" * 200)
            pair["pieces"] = {side: ["长长"] * 100 for side in pair["pieces"]}
    text = render_page(summary)
    assert len(text.encode()) <= 1_000_000
    Parsed(text)
    assert "train/corpus27" in text


def test_the_documentation_names_every_key_of_the_summary(toy: Path) -> None:
    text = (REPOSITORY / "docs" / "report.md").read_text("utf-8")
    schema = text[text.index("## summary.json") :]
    summary = summary_of(toy)
    assert [key for key in summary if f"`{key}`" not in schema] == []
    for section in (summary["provenance"], summary["pieces"]["source"], summary["batches"]["train"][0]):
        assert [key for key in section if f"`{key}`" not in schema and key != "split"] == []
