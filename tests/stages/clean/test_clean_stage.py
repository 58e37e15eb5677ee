from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.base import digests
from nmt_prep.base.errors import OutputError
from nmt_prep.corpora import parts, slices
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs import runner
from nmt_prep.runs.checks import load_config
from tests.corpus import corpus_config, lines_of, tree, write_corpus
from tests.stages.cleaning import COLUMNS, NONE, PAIRS, SHORT, cleaned, numbered, pairs_below, ran, rejected, write
from tests.stages.runs import config_of, manifest, run, run_of, steps

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from toy_corpus.defects import REPAIRED  # noqa: E402


def test_pairs_are_fixed_dropped_for_a_reason_and_keep_their_row(tmp_path: Path) -> None:
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), clean={**SHORT, "fix": ["control", "whitespace"]})
    assert ran(config) == ["download", "extract", "compile", "clean", "sample"]
    assert cleaned(config) == [("one two", "x"), ("k l", "m"), ("\u200bn", "o")]
    assert pairs_below(config, "cleaned", "train", "row") == [(0,), (4,), (5,)]
    assert rejected(config) == [("a b c d", "c", 2, "length", 4.0, 3.0), ("e", "c", 3, "length", 5.0, 3.0)]
    counts = manifest(config, "clean").counts
    assert (counts.pairs_in, counts.pairs_out) == (5, 3)
    assert counts.dropped == {"empty": 0, "length": 2}
    assert counts.other == {"control_fixed": 1, "whitespace_fixed": 1}
    assert ran(config) == []


def test_the_vocabularies_see_cleaned_lines_or_raw_ones(tmp_path: Path) -> None:
    corpus = write(tmp_path, "c", PAIRS)
    run_of(tmp_path, corpus, clean=SHORT)
    sample = tmp_path / "run" / "sample" / "source.txt"
    assert sample.read_text() == "one two\nk\u00a0 l\n\u200bn\x07\n"
    raw = config_of(tmp_path, corpus, clean=SHORT, sample={"from": "raw"})
    assert [(step.stage, step.reason.partition(";")[0]) for step in steps(raw) if not step.fresh] == [
        ("sample", 'config sample.from changed "cleaned" → unset')
    ]
    run(raw)
    assert sample.read_text() == "one two\n\na b c d\ne\nk\u00a0 l\n\u200bn\x07\n"


def test_every_nth_cleaned_line_is_sampled_for_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 100)
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    config = run_of(tmp_path, write(tmp_path, "c", numbered(200)), clean=SHORT, sample={"bytes_per_corpus": 100})
    lines = [source.strip() for source, _ in cleaned(config)]
    size = sum(len(source.encode()) + 1 for source, _ in cleaned(config))
    stride = int(size / 100 / 2) + 1
    assert stride > 3
    expected, left = [], 100
    for line in lines[stride - 1 :: stride]:
        if left <= 0:
            break
        expected.append(line)
        left -= len(line)
    assert (tmp_path / "run" / "sample" / "source.txt").read_text().splitlines() == expected


def test_only_the_splits_that_are_named_are_cleaned(tmp_path: Path) -> None:
    splits = {"dev": [write(tmp_path, "d", PAIRS)]}
    run_of(tmp_path, write(tmp_path, "c", PAIRS), splits=splits, clean=SHORT)
    assert [path.name for path in (tmp_path / "run" / "cleaned").iterdir()] == ["train"]
    both = config_of(tmp_path, write(tmp_path, "c", PAIRS), splits=splits, clean={**SHORT, "splits": ["dev", "train"]})
    assert ran(both) == ["clean", "sample"]
    assert cleaned(both, "dev") == cleaned(both) == [("one two", "x"), ("k\u00a0 l", "m"), ("\u200bn\x07", "o")]


def test_corpora_of_one_side_get_the_rules_of_one_side(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb c d e f\n\ng\n")
    other = {"name": "w", "url": {"target": "lines"}, "role": "vocab"}
    vocab = {"name": "v", "url": {"source": "lines"}, "role": "vocab"}
    config = run_of(tmp_path, write(tmp_path, "c", [("h", "i")]), other, vocab, clean=SHORT)
    assert cleaned(config) == [("h", "i"), ("", "a"), ("", "g"), ("a", ""), ("g", "")]
    assert [(row[1], row[2]) for row in rejected(config)] == [("w", 1), ("v", 1)]
    assert (tmp_path / "run" / "sample" / "source.txt").read_text() == "h\na\ng\n"
    assert (tmp_path / "run" / "sample" / "target.txt").read_text() == "i\na\ng\n"


def test_records_and_report_are_made_of_cleaned_pairs(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "lines").write_text("only for the vocabulary\n")
    splits = dict(corpus_config(tmp_path / "plain").model_dump(exclude_unset=True)["splits"])
    splits["train"] = (*splits["train"], {"name": "v", "url": {"source": "lines"}, "role": "vocab"})
    config = corpus_config(
        tmp_path / "run",
        splits=splits,
        clean={**NONE, "fix": [{"replace": {"pattern": "absent"}}], "rules": {"length": {"max": 6}}},
        records={},
        outputs=[{"kind": "text"}],
    )
    nmt_prep.run(config)
    kept = [pair for pair in cleaned(config) if pair[1]]
    info = json.loads((tmp_path / "run" / "records" / "dataset.json").read_text())
    assert 50 < info["splits"]["train"]["pairs"] == len(kept) < 250
    assert info["corpora"]["train"] == [{"name": "x", "pairs": len(kept)}]
    assert info["splits"]["dev"]["pairs"] == 20
    assert len(lines_of(tmp_path / "run/outputs/text/train-00000-of-00001.en")) == len(kept)
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_text())
    assert summary["clean"]["train"]["x"]["pairs_out"] == len(kept)
    assert summary["clean"]["train"]["x"]["dropped"] == {"empty": 0, "length": 300 - len(kept)}
    lines = (tmp_path / "run" / "report" / "summary.txt").read_text().splitlines()
    assert ["train/x", "replace", "0"] in [line.split() for line in lines]  # a pattern that finds nothing
    kept_share = f"{len(kept) / 301:.1%}"
    assert ["train/x", "301", str(len(kept)), kept_share] in [line.split()[:4] for line in lines]
    dropped = ["rules", "length", str(300 - len(kept)), f"{(300 - len(kept)) / 301:.1%}"]
    assert dropped in [line.split() for line in lines]


def test_a_changed_rule_reruns_cleaning_and_what_follows(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run", clean={**NONE, "rules": {"length": {"max": 6}}})
    nmt_prep.run(config)
    changed = corpus_config(tmp_path / "run", clean={**NONE, "rules": {"length": {"max": 5}}})
    plan = nmt_prep.plan(changed)
    assert [step.stage for step in plan if not step.fresh] == ["clean", "sample", "vocab", "encode", "report"]
    assert plan[3].reason == "config splits.train.x.rules.length.max changed 6 → 5"


def test_overrides_apply_to_their_corpora(tmp_path: Path) -> None:
    long = {"rules": {"length": {"unit": "token", "max": 4}}}
    clean = {**SHORT, "overrides": {"b": long, "en-zh": {"fix": ["whitespace"]}}}
    pairs = [("a b c  d", "x"), ("e  f", "y")]
    config = run_of(tmp_path, write(tmp_path, "a", pairs), write(tmp_path, "b", pairs), clean=clean)
    assert cleaned(config) == [("e f", "y"), ("a b c d", "x"), ("e f", "y")]


def test_a_sample_of_the_rejected_pairs_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.cleaning.rejects.SAMPLE", 5)
    monkeypatch.setattr("nmt_prep.cleaning.rejects._FULL", 8)
    clean = {**NONE, "rules": SHORT["rules"]}
    corpora = [write(tmp_path, name, numbered(100)) for name in ("a", "b")]
    for corpus in corpora:
        corpus["url"] = {side: str(tmp_path / path) for side, path in corpus["url"].items()}
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 100)
    found = []
    for part_bytes in (10**6, 200):
        monkeypatch.setattr(parts, "PART_BYTES", part_bytes)
        config = config_of(tmp_path / str(part_bytes), *corpora, clean=clean)
        run(config)
        found.append(rejected(config))
        names = [path.name for path in sorted((config.run_dir / "rejected" / "train").iterdir())]
        assert names == ["part-000.parquet", "part-001.parquet"]
    assert found[0] == found[1]
    assert [row[1] for row in found[0]] == ["a"] * 5 + ["b"] * 5
    assert [row[2] for row in found[0][:5]] != [row[2] for row in found[0][5:]]
    none = config_of(tmp_path / "200", *corpora, clean={**clean, "rejects": "none"})
    assert ran(none) == ["clean"]
    assert list((none.run_dir / "rejected").iterdir()) == []


def small_parts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "ROW_GROUP_BYTES", 600)
    patch.setattr(parts, "PART_BYTES", 2000)
    patch.setattr(slices, "SLICE_BYTES", 4096)
    patch.setattr(slices, "COUNT_BYTES", 6144)
    patch.setattr(digests, "STEP_BYTES", 1024)


@pytest.mark.parametrize("rejects", ["sample", pytest.param("all", marks=pytest.mark.slow)])
def test_numbers_of_workers_and_shares_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rejects: str
) -> None:
    small_parts(monkeypatch)
    monkeypatch.setattr("nmt_prep.stages.clean.cleaned_corpora.FIRST_PAIRS", 40)
    write_corpus(tmp_path)
    until = "report" if rejects == "all" else "encode"
    clean = {**NONE, "rules": {"length": {"max": 6}}, "fix": ["whitespace"], "rejects": rejects}
    trees = []
    for workers in (1, 3):
        config = corpus_config(tmp_path / str(workers), clean=clean)
        nmt_prep.run(config, workers=workers, until=until)
        trees.append(tree(config.run_dir))
    shared = corpus_config(tmp_path / "shared", clean=clean)
    nmt_prep.run(shared, until="compile")
    for name in ("clean-first", "clean", "clean-threshold", "clean-top", "clean-rejects"):
        for number in (1, 0):
            runner.run_share(shared, Share(name, number, 2), workers=1)
    nmt_prep.run(shared, until=until)
    trees.append(tree(shared.run_dir))
    assert len(list((tmp_path / "1" / "cleaned" / "train").iterdir())) > 3
    assert trees[0] == trees[1] == trees[2]


def test_files_of_custom_rules_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    module, program = tmp_path / "own.py", tmp_path / "judge.py"
    module.write_text("def short(source, target):\n    return [len(str(line)) < 5 for line in source]\n")
    program.write_text("import sys\nfor line in sys.stdin:\n    print(len(line.rstrip('\\n').split('\\t')[1]))\n")
    rules = {"python": "own:short", "program": {"command": ["python3", "judge.py"], "max": 2}}
    pairs = [("a", "b"), ("abcde", "b"), ("a", "bcd")]
    config = run_of(tmp_path, write(tmp_path, "c", pairs), clean={**NONE, "rules": rules, "rejects": "all"})
    assert cleaned(config) == [("a", "b")]
    assert sorted(rejected(config)) == [("a", "c", 2, "program", 3.0, 2.0), ("abcde", "c", 1, "python", 0.0, 1.0)]
    program.write_text(program.read_text() + "# changed\n")
    assert [(step.stage, step.reason) for step in steps(config) if not step.fresh] == [
        ("clean", "file program judge.py changed"),
        ("sample", "follows clean"),
    ]
    module.write_text("def short(source, target):\n    return [True] * len(source)\n")
    assert ran(config) == ["clean", "sample"]
    assert cleaned(config) == [("a", "b"), ("abcde", "b")]


def test_without_the_section_nothing_is_cleaned(tmp_path: Path) -> None:
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS))
    assert ran(config) == ["download", "extract", "compile", "sample"]
    assert not (tmp_path / "run" / "cleaned").exists()


def test_a_directory_rejected_of_the_user_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "run" / "rejected" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    run(config_of(tmp_path, write(tmp_path, "c", PAIRS)))
    with pytest.raises(OutputError, match="/run/rejected\n"):
        steps(config_of(tmp_path, write(tmp_path, "c", PAIRS), clean=SHORT))


def test_the_toy_corpus_loses_what_is_damaged_and_keeps_what_is_repaired(tmp_path: Path) -> None:
    path = REPOSITORY / "configs" / "toy-clean.yaml"
    config = load_config(path, [f"output_dir={tmp_path / 'run'}"])
    nmt_prep.run(config, until="clean")
    lines = (REPOSITORY / "data" / "toy" / "dirty-toy.tsv").read_text().split("\n")[1:-1]
    rows = [line.split("\t") for line in lines]
    kept = {row: pair for *pair, corpus, row in pairs_below(config, "cleaned", "train", *COLUMNS) if corpus == "dirty"}
    reasons = {row: rule for _, corpus, row, rule, *_ in rejected(config) if corpus == "dirty"}
    empty = {number for number, row in enumerate(rows) if row[2] == "empty_side"}
    assert kept.keys() | reasons.keys() | empty == {*range(600)}
    assert not kept.keys() & reasons.keys()
    left = Counter(rows[number][2] for number in kept)
    assert {kind for kind in left if kind not in REPAIRED} == {"clean"}
    assert left["clean"] >= 0.8 * 400
    for number, (source, target) in kept.items():
        assert source == " ".join(source.split())
        assert not any(character < " " for character in source + target)
        assert (rows[number][0] == source) == (rows[number][2] not in REPAIRED)
    scores = [float(rows[number][3]) for number, rule in reasons.items() if rule == "top"]
    assert max(scores) < min(float(rows[number][3]) for number in kept)
    duplicates = [number for number, rule in reasons.items() if rule == "duplicate_pair"]
    assert len(duplicates) > 10
    assert len(scores) == (len(kept) + len(duplicates) + len(scores)) // 10
    summary = manifest(config, "clean").details["corpora"]["train"]["dirty"]
    assert summary["dropped"]["top"] == len(scores)
    assert summary["altered"] == {"control": 32, "nfc": 0, "whitespace": 32}
