from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.runs.runner import plan
from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, Tokenizer, load_tokenizer
from nmt_prep.training.records.dataset_json import load_dataset_info
from tests.corpus import corpus_config, write_corpus


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    return tmp_path


def config(place: Path, vocab: dict[str, Any], **changes: Any) -> Config:
    return corpus_config(place / "run", vocab=vocab, **changes)


def observed(place: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Returns the counts and the warnings of the stage."""
    content = json.loads((place / "run" / ".nmt_prep" / "manifests" / "vocab.json").read_bytes())
    return content["counts"]["other"], content["observed"]["warnings"]


def text_of(place: Path, side: str) -> list[str]:
    parts = sorted((place / "run" / "compiled").rglob("part-*"))
    return [line for part in parts for batch in iter_pairs(part) for line in batch.column(side).to_pylist()]


def vocabularies(place: Path, *names: str) -> list[Tokenizer]:
    return [load_tokenizer(place / "run" / "vocab" / name) for name in names]


def renumbered(old: Tokenizer, rows: list[int | list[int]], text: list[str]) -> list[list[int]]:
    new_ids = {row: number for number, row in enumerate(rows) if isinstance(row, int)}
    return [[new_ids[number] for number in row] for row in old.encode_batch(text).to_lists()]


def test_a_shared_vocabulary_is_pruned_to_all_splits(place: Path) -> None:
    ByteBPETokenizer.train(["pair number 0123456789 of many more words", "这是第句话"] * 9, 330).save(place / "v.json")
    vocab = {"from": str(place / "v.json"), "prune": {"strict": True, "keep": ["Ġmore", 300]}}
    nmt_prep.run(config(place, vocab))
    old, (new,) = load_tokenizer(place / "v.json"), vocabularies(place, "v.json")
    rows = json.loads((place / "run" / "vocab" / "embeddings.json").read_bytes())
    assert (rows["vocabulary"], rows["old_size"], rows["size"]) == ("v.json", len(old), len(new))
    assert [old.pieces[row] for row in rows["rows"]] == [*new.pieces]
    assert {"Ġmore", old.pieces[300]} <= {*new.pieces}
    for side in ("source", "target"):
        text = text_of(place, side)
        assert new.encode_batch(text).to_lists() == renumbered(old, rows["rows"], text)
    counts, _ = observed(place)
    assert (counts["removed"], counts["changed_lines"]) == (len(old) - len(new), 0)
    assert counts["removed"] > 20
    assert load_dataset_info(place / "run" / "records").vocab.source.size == len(new)


def test_text_that_changes_is_counted_shown_and_refused(place: Path) -> None:
    lines = ["pair number 0 1 2 3 4 5 6 7 8 9", "这是第句话"] * 9
    SentencePieceTokenizer.train(lines, 60, model_type="bpe").save(place / "v.model")
    vocab = {"from": {side: str(place / "v.model") for side in ("source", "target")}, "prune": {"min_count": 40}}
    nmt_prep.run(config(place, vocab), until="vocab")
    _, [warning] = observed(place)
    assert warning["code"] == "changed_lines"
    assert warning["text"].startswith(f"{int(warning['value'])} of 640 lines have other pieces, since pieces that oc")
    assert " became " in warning["text"]
    with pytest.raises(VocabularyError, match=r"vocab\.prune: .* lower min_count, list pieces in keep, or set strict"):
        nmt_prep.run(config(place, {**vocab, "prune": {"min_count": 40, "strict": True}}), until="vocab")


def test_sides_with_a_vocabulary_each(place: Path) -> None:
    for side, text in (("source", "pair number 0123456789"), ("target", "这是第句话 0123456789")):
        SentencePieceTokenizer.train([text, "qq zz"] * 9, 60, hard_vocab_limit=False).save(place / f"{side}.model")
    vocab = {"from": {side: str(place / f"{side}.model") for side in ("source", "target")}, "prune": {}}
    nmt_prep.run(config(place, vocab), until="vocab")
    for side, new in zip(("source", "target"), vocabularies(place, "source.model", "target.model"), strict=True):
        old, text = load_tokenizer(place / f"{side}.model"), text_of(place, side)
        rows = json.loads((place / "run" / "vocab" / f"embeddings.{side}.json").read_bytes())["rows"]
        assert new.encode_batch(text).to_lists() == renumbered(old, rows, text)
        assert len(new) < len(old)


def test_an_extension_learns_from_the_least_known_language(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ByteBPETokenizer.train(["pair number 0123456789 of many more words"] * 9, 330).save(place / "v.json")
    vocab = {"from": str(place / "v.json"), "extend": {"size": 20, "tokens": ["<2zh>"]}}
    nmt_prep.run(config(place, vocab), until="vocab")
    old, (new,) = load_tokenizer(place / "v.json"), vocabularies(place, "v.json")
    assert new.pieces[: len(old)] == old.pieces
    assert new.pieces[len(old)] == "<2zh>"
    assert len(new) == len(old) + 21
    english, chinese = text_of(place, "source"), text_of(place, "target")
    assert new.encode_batch(english).to_lists() == old.encode_batch(english).to_lists()
    assert len(new.encode_batch(chinese).values) < 0.6 * len(old.encode_batch(chinese).values)
    rows = json.loads((place / "run" / "vocab" / "embeddings.json").read_bytes())["rows"]
    assert rows[: len(old)] == [*range(len(old))]
    assert all(isinstance(row, list) for row in rows[len(old) :])
    assert observed(place)[0]["added"] == 21
    monkeypatch.setattr("nmt_prep.stages.vocab.vocab_stage.RESIZING_VERSION", 3)
    [step] = [step for step in plan(config(place, vocab)) if step.stage == "vocab"]
    assert "resizing" in step.reason  # what an older release extended is made anew


def test_an_extension_that_changes_other_languages(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.subwords.resizing.extension._CHANGED", 1e9)
    ByteBPETokenizer.train(["zzz"], 259).save(place / "v.json")
    vocab = {"from": str(place / "v.json"), "extend": {"size": 9, "characters": False}}
    mixed = [{"name": "y", "url": {"source": "both", "target": "both"}}]
    (place / "both").write_text("".join(f"the number {number}\n" for number in range(200)))
    changes: dict[str, Any] = {"splits": {"train": mixed}}
    nmt_prep.run(config(place, vocab, **changes), until="vocab")
    _, [warning] = observed(place)
    assert warning["text"].startswith("the new pieces change 26 of 30 held-out words of the languages that nothing was")
    with pytest.raises(VocabularyError, match=r"vocab\.extend: .*; lower size, or set strict to false"):
        nmt_prep.run(config(place, {**vocab, "extend": {**vocab["extend"], "strict": True}}, **changes), until="vocab")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gpt2.tokenizer.json", "llama2.sentencepiece.model", "test_model.sentencepiece.model"]
)
def test_an_extension_changes_hardly_any_other_words(shared: Path, tmp_path: Path, name: str) -> None:
    corpora = shared / "corpora" / "multi30k-ende"
    splits = {
        split: [{"name": split, "url": {"source": f"{corpora}/{file}.en.gz", "target": f"{corpora}/{file}.de.gz"}}]
        for split, file in {"train": "train", "dev": "val", "test": "test_2016_flickr"}.items()
    }
    frame = dict.fromkeys(("source", "target"), "{ids}")
    vocab = {"from": str(shared / "golden" / "published" / name), "frame": frame, "extend": {"size": 4000}}
    nmt_prep.run(config(tmp_path, vocab, splits=splits, languages={"source": "en", "target": "de"}), until="vocab")
    counts, warnings = observed(tmp_path)
    assert counts["compared_words"] > 40_000
    assert counts["changed_words"] <= 0.001 * counts["compared_words"]
    assert (counts["added"], warnings) == (4000, [])
    old = load_tokenizer(shared / "golden" / "published" / name)
    (new,) = vocabularies(tmp_path, name)
    german = text_of(tmp_path, "target")
    assert len(new.encode_batch(german).values) < 0.75 * len(old.encode_batch(german).values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prune": {}, "extend": {"size": 9}}, "prune and extend cannot be combined; prune in one run, and"),
        ({"extend": {}}, "extend adds nothing; set size, tokens or both"),
        ({"extend": {"tokens": ["a", "a"]}}, "extend.tokens has repeated entries"),
        ({"prune": {"min_count": 0}}, "vocab.prune.min_count"),
        ({"prune": {}, "words": ["lowercase"]}, "words cannot be combined with prune and extend; resize the vocab"),
    ],
)
def test_wrong_settings(place: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(place, {"from": "v.json", **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prune": {"keep": [300]}}, r"vocab\.prune\.keep: the vocabulary has no ID 300; its IDs end at 258"),
        ({"prune": {"keep": ["Ġx"]}}, r"vocab\.prune\.keep: 'Ġx' is not a piece of the vocabulary"),
        ({"extend": {"tokens": ["<pad>"]}}, r"vocab\.extend\.tokens: '<pad>' is a piece of .*v\.json already; "),
        ({"extend": {"tokens": ["<a>", "x<a>"]}}, "the added token 'x<a>' contains the added token '<a>'; libraries"),
        (
            {"id_layout": "fairseq", "extend": {"size": 9}},
            "cannot be extended: its tokenizer numbers <mask>, and for NLLB and m",
        ),
    ],
)
def test_settings_that_do_not_fit_the_vocabulary(place: Path, changes: dict[str, Any], message: str) -> None:
    name, options = "v.json", {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": None, "hard_vocab_limit": False}
    if "id_layout" in changes:
        name = "v.model"
        SentencePieceTokenizer.train(["pair number"] * 9, 16, **options).save(place / name)  # type: ignore[arg-type]
    else:
        ByteBPETokenizer.train(["zzz"], 259).save(place / name)
    with pytest.raises(VocabularyError, match=message):
        nmt_prep.run(config(place, {"from": str(place / name), **changes}), until="vocab")
    assert not (place / "run" / "compiled").exists()  # the check comes before any work
