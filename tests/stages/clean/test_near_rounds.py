from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_prep.cleaning.dedup import near, spill
from nmt_prep.config import Config
from nmt_prep.corpora import parts
from nmt_prep.reporting.sections import duplicates
from nmt_prep.stages.clean import comparing
from nmt_prep.stages.clean import near_rounds as rounds
from tests.conftest import examples
from tests.reference.dedup import Row, deduplicated
from tests.reference.near import near_duplicates
from tests.stages.clean.test_duplicates import NONE, rejected, rows_of, scored
from tests.stages.cleaning import cleaned, made_in_three_ways, write
from tests.stages.runs import config_of, manifest, run

CAPTION, BILD = (
    "A man in a blue shirt is standing on a ladder.",
    "Ein Mann in einem blauen Hemd steht auf einer Leiter.",
)
NEARLY, BEINAHE = (
    "A man in a blue shirt is standing on the ladder.",
    "Ein Mann in einem blauen Hemd steht auf der Leiter.",
)
OTHER, ANDERES = "A man in a green shirt is sitting on a bench.", "Ein Mann in einem grünen Hemd sitzt auf einer Bank."


def near_config(directory: Path, *corpora: dict[str, Any], **dedup: Any) -> Config:
    return config_of(directory, *corpora, clean={**NONE, "dedup": {"pair": "near", **dedup}})


def in_small_pieces(patch: pytest.MonkeyPatch, size: int) -> None:
    """Divides the work as if memory had room for few bytes."""
    patch.setattr(spill, "SMALLEST_SHARE", size)
    patch.setattr(spill, "LARGEST_SHARE", size)
    patch.setattr(comparing, "LARGEST_BUFFER", size // 2)
    patch.setattr(rounds, "REQUESTS_AT_ONCE", 5)
    patch.setattr(near, "EDGES_AT_ONCE", size // 50)
    patch.setattr(rounds, "CLUSTERS_AT_ONCE", size // 500)


def test_similar_pairs_are_dropped_and_name_the_best_similar_pair(tmp_path: Path) -> None:
    first = [(CAPTION, BILD), (OTHER, ANDERES), (CAPTION, ANDERES), (CAPTION.upper(), BILD)]
    second = [
        (NEARLY, BEINAHE),
        ("一二三四五六七八九", "世界冠军是谁呢我不知道"),
        ("一二三四五六七八九", "世界冠军是谁我不知道"),
    ]
    config = near_config(tmp_path, write(tmp_path, "a", first), write(tmp_path, "b", second), near={"similarity": 0.6})
    run(config)
    assert cleaned(config) == [*first[:3], second[1]]
    assert rejected(config) == [
        ("a", 3, "duplicate_pair", "a", 0),
        ("b", 0, "near_duplicate", "a", 0),
        ("b", 2, "near_duplicate", "b", 1),
    ]
    assert manifest(config, "clean").counts.dropped == {"empty": 0, "duplicate_pair": 1, "near_duplicate": 2}


def test_the_report_says_where_similar_pairs_are_and_that_not_all_were_compared() -> None:
    found = {"matches": {"a": {"a": 1, "b": 0}, "b": {"a": 1234, "b": 0}}, "candidates": 9, "full_buckets": 1001}
    summary = {"duplicates": {"train": {"clusters": {"near": []}, "near": found}}}
    page = "".join(map(str, duplicates.section(summary)))
    assert "1,234" in page
    assert "1,001 groups of candidates" in page
    assert "groups of candidates" not in "".join(map(str, duplicates.section(with_all_compared(summary))))


def with_all_compared(summary: Any) -> Any:
    near_found = {**summary["duplicates"]["train"]["near"], "full_buckets": 0}
    return {"duplicates": {"train": {"clusters": {}, "near": near_found}}}


def test_shares_workers_ranges_and_pieces_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 1000)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 250)
    pairs = variants(80)
    corpora = [write(tmp_path, "a", pairs[:50]), write(tmp_path, "b", pairs[50:])]
    dedup = {"pair": "near", "max_targets_per_source": 8, "near": {"similarity": 0.6}}
    clean = {**NONE, "dedup": dedup}
    made_in_three_ways(tmp_path, *corpora, divided=lambda: in_small_pieces(monkeypatch, 5000), clean=clean)


WORDS = [
    "a",
    "man",
    "woman",
    "in",
    "blue",
    "shirt",
    "green",
    "dress",
    "stands",
    "sits",
    "on",
    "ladder",
    "bench",
    "looks",
]


def variants(size: int) -> list[tuple[str, str]]:
    """Returns pairs of which many are similar to others."""
    draw = random.Random(3)
    pairs: list[tuple[str, str]] = []
    for _ in range(size):
        if pairs and draw.random() < 0.6:
            source, target = ([*side.split()] for side in draw.choice(pairs))
            source[draw.randrange(len(source))] = draw.choice(WORDS)
            target[draw.randrange(len(target))] = draw.choice(WORDS)
        else:
            source, target = ([draw.choice(WORDS) for _ in range(draw.randint(1, 12))] for _ in "st")
        pairs.append((" ".join(source), " ".join(target)))
    return pairs


def test_near_duplicates_of_noisy_text(tmp_path: Path, shared: Path) -> None:
    dirty = shared / "corpora" / "dirty-ende"
    labels = gzip.decompress((dirty / "train.labels.gz").read_bytes()).decode().split()
    corpus = {"name": "d", "url": str(dirty / "train.tsv.gz"), "format": "tsv", "columns": {"source": 0, "target": 1}}
    config = near_config(tmp_path, corpus)
    run(config, until="clean")
    lost = Counter(labels[row] for _, row, *_ in rejected(config))
    known = Counter(labels)
    assert lost["duplicate"] == known["duplicate"]
    assert lost["duplicate_normalised"] == known["duplicate_normalised"]
    assert lost["duplicate_near"] >= 0.95 * known["duplicate_near"]
    assert lost["clean"] <= 0.003 * known["clean"]


TEXTS = st.sampled_from(
    [
        "aaaab",
        "aaaabb",
        "abcdefgh",
        "abcdefg",
        "abcdefghi",
        "bcdefgh",
        "A bcdefgh",
        "一二三四",
        "一二三",
        "x",
        "...",
        "12",
    ]
)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["", "0", "0.5", "2"])), max_size=25).map(
    lambda rows: [("abcdefgh", "abcdefgh", "1"), *rows]  # a corpus has a score
)


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(ROWS, min_size=1, max_size=3),
    st.sampled_from([0.5, 0.6, 0.75, 1.0]),
    st.booleans(),
    st.sampled_from([1, 3, 128]),
    st.sampled_from([2000, 10000, 4 << 20]),
)
def test_it_is_the_same_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    corpora: list[list[tuple[str, str, str]]],
    similarity: float,
    by_score: bool,
    cap: int,
    size: int,
) -> None:
    directory = tmp_path_factory.mktemp("run")
    keep = ["bicleaner", "corpus"] if by_score else ["corpus"]
    entries = [scored(directory, f"c{number}", rows) for number, rows in enumerate(corpora)]
    config = near_config(directory, *entries, keep=keep, near={"similarity": similarity})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", 60)
        patch.setattr(parts, "ROW_GROUP_BYTES", 30)
        in_small_pieces(patch, size)
        patch.setattr(near, "BUCKET_CAP", cap)
        run(config, until="clean", workers=1)
    rows = rows_of(corpora)
    kept, dropped = deduplicated(rows, "normalized", None, None, by_score=by_score)
    similar, full = near_duplicates(kept, similarity, cap, by_score=by_score)
    expected = [
        *((row.corpus, row.row, reason, best.corpus, best.row) for row, reason, best in dropped),
        *((row.corpus, row.row, "near_duplicate", best.corpus, best.row) for row, best in similar.items()),
    ]
    assert sorted(rejected(config)) == sorted(expected)
    observed = manifest(config, "clean").observed["duplicates"]["train"]
    assert observed["near"]["full_buckets"] == full
    assert observed["clusters"] == {
        "normalized": sizes_of([best for *_, best in dropped]),
        "near": sizes_of(list(similar.values())),
    }
    matches = Counter((row.corpus, best.corpus) for row, best in similar.items())
    names = [f"c{number}" for number in range(len(corpora))]
    assert observed["near"]["matches"] == {a: {b: matches[a, b] for b in names} for a in names}


def sizes_of(survivors: Sequence[Row]) -> list[list[int]]:
    sizes = Counter(1 + number for number in Counter(survivors).values())
    bins: Counter[int] = Counter()
    for size, number in sizes.items():
        bins[size if size <= 8 else 9 if size <= 16 else 17] += number
    return [[size, number] for size, number in sorted(bins.items())]
