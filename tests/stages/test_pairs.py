"""A run with several pairs of languages."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.config import Config
from nmt_prep.runs.checks import check_config
from nmt_prep.runs.runner import run
from nmt_prep.runs.viewing import trace
from nmt_prep.stages.align import AlignOutput
from nmt_prep.training.batches import BatchSource, read_records
from nmt_prep.training.records.dataset_json import load_dataset_info
from tests.reference.mmap import read_fairseq
from tests.stages.runs import manifest

LANGUAGES = ("en", "de", "cs")
NEWS = {"name": "news", "url": "news.tsv", "format": "tsv", "texts": dict(zip(LANGUAGES, range(3), strict=True))}
BOOKS = {"name": "books", "url": "books.tsv", "languages": {"source": "de", "target": "en"}, "both_directions": True}


def sentences(first: int, count: int) -> list[list[str]]:
    return [[f"{tag} word {tag}{n % 7} and number {tag}{n}" for tag in LANGUAGES] for n in range(first, first + count)]


def write(path: Path, rows: list[list[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


def config_in(path: Path, **more: Any) -> Config:
    news = sentences(0, 60)
    write(path / "news.tsv", [*news, *news[:5]])
    leak = ["the quick brown fox jumps over", "der flinke Fuchs springt weit", "liška skáče přes plot"]
    books = [*news[:10], *sentences(100, 19), [leak[0], "ein anderer Satz steht hier", ""]]
    write(path / "books.tsv", [[row[1], row[0]] for row in books])
    write(path / "test.tsv", [leak, ["once upon a time there was", "es war einmal eine Zeit", "byl jednou jeden král"]])
    data: dict[str, Any] = {
        "name": "t",
        "seed": 1,
        "output_dir": str(path / "run"),
        "pairs": "all",
        "tag": {"source": "<2{target}>"},
        "splits": {"train": [NEWS, BOOKS], "test": [{**NEWS, "url": "test.tsv"}]},
        "vocab": {"kind": "byte_bpe", "size": 400, "shared": True},
        "records": {"shards": {"train": 2}},
    }
    return check_config({**data, **more}, "test config").within(path)


def test_each_direction_is_in_the_records_with_its_tag(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    run(config, until="encode")
    info = load_dataset_info(tmp_path / "run" / "records")
    assert info.splits["train"].language_pairs == {
        "en-de": 65 + 30,
        "de-en": 65 + 30,
        "en-cs": 65,
        "cs-en": 65,
        "de-cs": 65,
        "cs-de": 65,
    }
    assert (info.languages.source, info.languages.target) == ("mul", "mul")
    assert len(list((tmp_path / "run" / "compiled" / "train").iterdir())) == 4


def test_pairs_are_cleaned_by_their_languages(tmp_path: Path) -> None:
    clean = {
        "preset": "none",
        "dedup": {"pair": "exact"},
        "decontaminate": {"against": ["test"]},
        "overrides": {"en-cs": {"rules": {"length": {"unit": "char", "min": 1, "max": 26}}}},
    }
    config = config_in(tmp_path, clean=clean)
    run(config, until="clean")
    dropped = {
        name: dict(counts["dropped"]) for name, counts in manifest(config, "clean").details["corpora"]["train"].items()
    }
    # Equal sources and targets of other languages are no duplicates, but those of another corpus are.
    assert {name: counts["duplicate_pair"] for name, counts in dropped.items()} == {
        "news.en-de": 5,
        "news.en-cs": 5,
        "news.de-cs": 5,
        "books": 10,
    }
    assert dropped["books"]["in_test_set:test"] == 1  # its English side alone
    assert {name: counts["length"] for name, counts in dropped.items() if "length" in counts} == {"news.en-cs": 50}


@pytest.mark.parametrize("pair", ["exact", "near"])
def test_a_pair_of_a_corpus_in_both_directions_stays_if_it_is_in_one_of_one_direction(
    tmp_path: Path, pair: str
) -> None:
    text = [["a small red house", "ein kleines rotes Haus"], ["we sail tomorrow", "wir segeln morgen"], ["yes", "ja"]]
    single = {"name": "single", "url": "single.tsv", "languages": {"source": "de", "target": "en"}, "scores": {"q": 2}}
    both = {**single, "name": "both", "url": "both.tsv", "languages": {"source": "en", "target": "de"}}
    fix = [{"replace": {"pattern": "^we", "with": "We"}}]
    clean = {"preset": "none", "fix": fix, "dedup": {"pair": pair, "keep": ["q", "corpus"]}}
    corpora = [single, {**both, "both_directions": True}]
    config = config_in(tmp_path, pairs=["en-de", "de-en"], splits={"train": corpora}, clean=clean)
    write(tmp_path / "single.tsv", [[row[1], row[0], "0.9"] for row in text])
    write(tmp_path / "both.tsv", [[*row, "0.1"] for row in text[:2]])
    run(config, until="encode")
    assert load_dataset_info(tmp_path / "run" / "records").splits["train"].language_pairs == {"en-de": 2, "de-en": 3}
    fixed = {"fix": "replace", "side": "target", "before": "we sail tomorrow", "after": "We sail tomorrow"}
    assert trace(config, "train", "both.de-en:1", pieces=False)[0]["fixes"] == [fixed]


def test_a_test_pair_is_found_with_its_sides_exchanged(tmp_path: Path) -> None:
    write(tmp_path / "short.tsv", [["Ja", "yes"], ["Nein", "no"]])
    short = {"name": "short", "url": "short.tsv", "languages": {"source": "de", "target": "en"}}
    clean = {"preset": "none", "decontaminate": {"against": ["test"]}}
    config = config_in(tmp_path, pairs=["en-de", "de-en"], splits={"train": [NEWS], "test": [short]}, clean=clean)
    write(tmp_path / "news.tsv", [["Yes!", "ja", "ano"], ["no", "ja", "ne"]])
    run(config, until="clean")
    counts = manifest(config, "clean").details["corpora"]["train"]["news.en-de"]
    assert counts["dropped"]["in_test_set:test"] == 1


def test_words_are_linked_by_pair_and_the_other_direction_has_the_same_links(tmp_path: Path) -> None:
    config = config_in(tmp_path, align={"symmetrize": "intersection", "pairs": 1000}, outputs=[{"kind": "marian"}])
    run(config, until="outputs")
    parts = parse_json_as(AlignOutput, manifest(config, "align").details).parts["train"]
    assert [part.corpus for part in parts] == [
        *("news.en-de", "news.de-en", "news.en-cs", "news.cs-en", "news.de-cs", "news.cs-de", "books", "books.de-en")
    ]
    models = {path.name for path in (tmp_path / "run" / "aligned").iterdir() if path.is_file()}
    assert models == {"model.en-de", "model.en-cs", "model.de-cs"}
    forward, backward = (next(part.below(tmp_path / "run" / "aligned").linked()) for part in parts[:2])
    assert forward.links[:, ::-1].tolist() == backward.links.tolist()
    assert forward.links.size
    texts = [next(part.texts(tmp_path / "run")) for part in parts[:2]]
    assert texts[0].column("source").equals(texts[1].column("target"))


def test_stages_and_windows_know_the_pairs(tmp_path: Path) -> None:
    training = {"stages": [{"name": "s", "mix": {"books": 1}, "until": {"rows": 300}}]}
    config = config_in(tmp_path, training=training, records={"layout": "text"})
    run(config, until="encode")
    source = BatchSource(tmp_path / "run", "train")
    names: Counter[str] = Counter()
    for batch in chain(source, source):
        assert batch.language_pairs is not None
        names.update(source.language_pairs[number] for number in batch.language_pairs.tolist())
    assert names.keys() == {"de-en", "en-de"}
    assert names.total() == 300

    (tmp_path / "names").write_text("".join(f"{n // 10}\n" for n in range(65)))
    corpora = [{**NEWS, "document": {"url": "names"}}]
    documents = {"max_tokens": 256, "separator": "<sep>", "share": 0.5}
    vocab = {"kind": "byte_bpe", "size": 400, "shared": True, "reserved": ["<sep>"]}
    layout = {"layout": "chunk"}
    run(
        config_in(tmp_path, splits={"train": corpora}, documents=documents, vocab=vocab, records=layout), until="encode"
    )
    segments: Counter[int] = Counter()
    for batch in read_records(tmp_path / "run", "train", one_pair=True):
        assert batch.language_pairs is not None
        assert batch.segments is not None
        assert len(set(batch.language_pairs.tolist())) == 1
        segments[int(batch.language_pairs[0])] += int(batch.segments.sum())
    assert segments == dict.fromkeys(range(6), 65)


def test_the_report_has_the_pairs_and_the_languages(tmp_path: Path) -> None:
    clean = {"preset": "none", "dedup": {"pair": "exact"}}
    run(config_in(tmp_path, clean=clean))
    report = tmp_path / "run" / "report"
    summary = json.loads((report / "summary.json").read_text())
    assert summary["pairs"]["de-en"] == {
        "source": "de",
        "target": "en",
        "read": 95,
        "kept": 80,
        "dropped": {"duplicate_pair": 15},
        "drawn": {"1": 80, "2": 73, "5": 69},
    }
    use = summary["languages_of_sides"]["source"]["cs"]
    assert (use["words"], use["escaped"]) == (2 * 60 * 6, 0)
    assert use["bytes"] == use["characters"]
    text = (report / "summary.txt").read_text()
    assert "language pairs  read  kept  share  epoch at 1  epoch at 2  epoch at 5  dropped" in text
    assert "characters without a piece" in text
    title, read = (
        "t: en → de, de → en, en → cs, cs → en, de → cs, cs → de",
        sum(pair["read"] for pair in summary["pairs"].values()),
    )
    assert text.startswith(f"{title}\n")
    page = (report / "index.html").read_text()
    assert "Pairs in the records" in page
    assert f"<span>{read:,}, once per direction</span>" in page
    assert f"<title>{title}</title>" in page


def test_fairseq_gets_files_for_each_pair(tmp_path: Path) -> None:
    run(config_in(tmp_path, outputs=[{"kind": "fairseq"}, {"kind": "huggingface", "rows": "chat"}]), until="outputs")
    directory = tmp_path / "run" / "outputs" / "fairseq"
    sizes = {"en-de": 95, "de-en": 95, "en-cs": 65, "cs-en": 65, "de-cs": 65, "cs-de": 65}
    assert {path.name for path in directory.glob("dict.*")} == {"dict.en.txt", "dict.de.txt", "dict.cs.txt"}
    for pair, size in sizes.items():
        rows = [
            [len(row) for stem in ("train", "train1") for row in read_fairseq(directory / f"{stem}.{pair}.{code}")[0]]
            for code in pair.split("-")
        ]
        assert [*map(len, rows)] == [size, size]
    assert len(list(directory.glob("*.bin"))) == 6 * 2 * 3
    published = tmp_path / "run" / "outputs" / "huggingface"
    assert (
        "\nSentence pairs, en to de, de to en, en to cs, cs to en, de to cs, cs to de.\n"
        in (published / "README.md").read_text()
    )
    rows = pq.read_table(published / "train-00000-of-00002.parquet").to_pylist()
    names = {"en": "English", "de": "German", "cs": "Czech"}
    for row in rows:
        prompt, answer = (message["content"] for message in row["messages"])
        source, target = row["language_pair"].split("-")
        assert answer.startswith(target) or answer == "the quick brown fox jumps over"
        assert {target} <= {code for code, name in names.items() if name in prompt} <= {source, target}


def test_the_bytes_do_not_depend_on_workers_or_memory(tmp_path: Path) -> None:
    found = []
    for name, engine in (("one", {"workers": 1}), ("three", {"workers": 3, "memory": "512MB"})):
        (tmp_path / name).mkdir()
        run(
            config_in(
                tmp_path / name,
                clean={"preset": "none", "dedup": {"pair": "near"}, "decontaminate": {"against": ["test"]}},
                sample={"temperature": "equal"},
                align={"pairs": 1000},
                outputs=[{"kind": "fairseq"}, {"kind": "text", "alignments": True}],
                engine=engine,
            )
        )
        files = [
            path for path in (tmp_path / name / "run").rglob("*") if path.is_file() and ".nmt_prep" not in path.parts
        ]
        skipped = {"run.json", "index.html", "summary.json"}  # they have the settings of the engine
        found.append(
            {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files if path.name not in skipped}
        )
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []
