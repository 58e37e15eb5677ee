from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import TrainingError
from nmt_prep.config.vocab import ByteBPEVocab, SentencePieceVocab, T2TVocab
from nmt_prep.stages.vocab import vocab_training as training
from nmt_prep.stages.vocab.vocab_stage import VocabOutput, size_warnings, vocabulary_name
from nmt_prep.stages.vocab.vocab_training import SampleFile, count_slice, count_tasks
from nmt_prep.subwords.dialect import CountColumns, read_counts, write_counts
from nmt_prep.subwords.facts import VocabularyFacts
from tests.corpus import corpus_config, pair, run_corpus, tree, write_corpus


def build(place: Path, **changes: Any) -> dict[str, Any]:
    write_corpus(place)
    nmt_prep.run(corpus_config(place / "run", **changes), until="vocab", workers=1)
    return json.loads((place / "run" / "vocab" / "vocab.json").read_text("utf-8"))


def test_a_vocabulary_per_side_equals_training_on_its_sample(tmp_path: Path) -> None:
    details = build(tmp_path)
    assert sorted(path.name for path in (tmp_path / "run" / "vocab").iterdir()) == [
        "vocab.json",
        "vocab.small.200.subwords.en",
        "vocab.small.200.subwords.zh",
    ]
    sides = zip(*(pair(number) for number in range(300)), strict=True)
    for side, lines, extra in zip(("source", "target"), sides, (["nothing on the other side"], [""]), strict=True):
        expected = nmt_prep.T2TTokenizer.train([*lines, *extra], 200, max_subtoken_length=200)
        built = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / details[side]["file"])
        assert list(built.pieces) == list(expected.pieces)
        assert details[side]["fingerprint"] == built.fingerprint == expected.fingerprint
        assert details[side]["size"] == len(built)


def test_facts_recorded_with_a_vocabulary(tmp_path: Path) -> None:
    facts = build(tmp_path)["source"]
    assert {key: facts[key] for key in ("kind", "unicode_version", "pad_id", "eos_id", "bos_id", "unk_id")} == {
        "kind": "t2t",
        "unicode_version": "14.0.0",
        "pad_id": 0,
        "eos_id": 1,
        "bos_id": None,
        "unk_id": None,
    }


@pytest.mark.parametrize(
    ("layout", "file", "stored", "ids", "first", "has_special"),
    [
        ("fairseq", "vocab.small.120.en.model", "fairseq", (0, 1, 2, 3), ("<s>", "<pad>", "</s>", "<unk>"), True),
        ("marian", "vocab.small.120.en.spm", "sentencepiece", (None, None, 0, 1), ("</s>", "<unk>"), False),
    ],
)
def test_a_sentencepiece_model_is_trained_for_its_layout(
    tmp_path: Path, layout: str, file: str, stored: Any, ids: Any, first: tuple[str, ...], has_special: bool
) -> None:
    vocab = {"kind": "sentencepiece", "size": 120, "id_layout": layout, "options": {"hard_vocab_limit": False}}
    facts = build(tmp_path, vocab=vocab)["source"]
    assert (facts["file"], facts["id_layout"]) == (file, stored)
    assert tuple(facts[f"{piece}_id"] for piece in ("bos", "pad", "eos", "unk")) == ids
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / facts["file"], id_layout=stored)
    assert tokenizer.pieces[: len(first)] == first
    assert (tokenizer.pieces[-1] == "<mask>") == has_special
    assert bool({"<s>", "<pad>"} & set(tokenizer.pieces)) == has_special


def test_a_shared_vocabulary_serves_both_sides(tmp_path: Path) -> None:
    details = build(tmp_path, vocab={"size": 200, "shared": True, "reserved": ["<2zh>"]})
    assert details["source"] == details["target"]
    assert details["source"]["file"] == "vocab.small.200.subwords"
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / "vocab.small.200.subwords")
    assert list(tokenizer.pieces[:3]) == ["<pad>_", "<EOS>_", "<2zh>_"]
    assert tokenizer.decode(tokenizer.encode("Time, 时间。")) == "Time, 时间。"


@pytest.mark.parametrize(
    ("languages", "names"),
    [
        (("en", "zh"), ("vocab.small.200.subwords.en", "vocab.small.200.subwords.zh")),
        (("en", "en"), ("vocab.small.200.subwords.source", "vocab.small.200.subwords.target")),
    ],
)
def test_names(tmp_path: Path, languages: tuple[str, str], names: tuple[str, str]) -> None:
    config = corpus_config(tmp_path, languages=dict(zip(("source", "target"), languages, strict=True)))
    assert (vocabulary_name(config, config.vocab, "source"), vocabulary_name(config, config.vocab, "target")) == names


@pytest.mark.parametrize(
    ("shared", "sizes", "expected"),
    [
        (False, (180, 220), []),
        (False, (179, 221), ["the source vocabulary has 179 pieces, but 200", "the target vocabulary has 221 pie"]),
        (True, (1200, 1200), ["the shared vocabulary has 1,200 pieces, but 200 were requested (vocab.size): "]),
    ],
)
def test_a_size_far_from_the_requested_one_gives_a_warning(
    tmp_path: Path, shared: bool, sizes: tuple[int, int], expected: list[str]
) -> None:
    config = corpus_config(tmp_path, vocab={"size": 200, "shared": shared})
    source, target = (VocabularyFacts("v", "t2t", None, size, "0" * 64, None, 0, 1, None, None) for size in sizes)
    warnings = size_warnings(config, VocabOutput(source, target, {"source": {}, "target": {}}))
    assert [warning.text[: len(start)] for warning, start in zip(warnings, expected, strict=True)] == expected


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SLICE_BYTES", 700)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the corpus and a run up to its sample."""
    return run_corpus(tmp_path_factory.mktemp("sampled"), "sample")


def vocabularies(place: Path, name: str, workers: int = 2, **changes: Any) -> dict[str, str]:
    nmt_prep.run(corpus_config(place / name, **changes), until="vocab", workers=workers)
    return tree(place / name / "vocab")


@pytest.mark.parametrize(
    "options",
    [
        {"size": 200},
        {"size": 200, "shared": True, "reserved": ["<2zh>"]},
        {"kind": "byte_bpe", "size": 400},
        {"kind": "byte_bpe", "size": 300, "shared": True, "pattern": r"\w+|\W"},
    ],
)
def test_slices_change_no_byte(
    sampled: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sampled, tmp_path, dirs_exist_ok=True)
    for name in ("whole", "one", "three"):
        shutil.copytree(sampled / "run", tmp_path / name)
    expected = vocabularies(tmp_path, "whole", vocab=options)
    monkeypatch.setattr(training, "SLICE_BYTES", 700)
    counted: list[str] = []

    def noting(path: Path, columns: CountColumns) -> None:
        counted.append(path.name)
        write_counts(path, columns)

    monkeypatch.setattr(training, "write_counts", noting)
    assert vocabularies(tmp_path, "one", workers=1, vocab=options) == expected
    assert vocabularies(tmp_path, "three", workers=3, vocab=options) == expected
    tasks = [*(f"count-source-{n:05d}" for n in range(14)), *(f"count-target-{n:05d}" for n in range(12))]
    assert sorted(counted) == sorted(2 * tasks)


@pytest.mark.usefixtures("small_slices")
def test_slices_are_cut_at_line_starts(tmp_path: Path) -> None:
    sample = tmp_path / "source.txt"
    sample.write_bytes(b"".join(b"w%d\n" % number for number in range(400)) + b"x" * 2000 + b"\nlast\n")
    tasks = list(count_tasks([SampleFile("source", sample, sample.stat().st_size)], T2TVocab(), tmp_path))
    assert [(task.start, task.end) for task in tasks] == [
        (0, 700), (700, 1400), (1400, 2100), (2100, 2800), (2800, 3500), (3500, 3896),
    ]  # fmt: skip
    counted: list[list[bytes]] = []
    for task in tasks:
        ticks: list[int] = []
        assert count_slice(task, ticks.append) >= 0
        counted.append(sorted(read_counts(task.output).texts.to_bytes()))
    words = [b"w%d" % number for number in range(400)]
    assert counted == [
        sorted(words[:162]), sorted(words[162:302]), [*sorted(words[302:]), b"x" * 2000], [], [], [b"last"],
    ]  # fmt: skip


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    ("options", "size", "count"),
    [
        (T2TVocab(), 700, 0),
        (T2TVocab(), 701, 2),
        (ByteBPEVocab(kind="byte_bpe"), 701, 2),
        (SentencePieceVocab(kind="sentencepiece"), 701, 0),
    ],
)
def test_only_large_samples_of_counting_dialects_are_sliced(
    tmp_path: Path, options: Any, size: int, count: int
) -> None:
    assert len(list(count_tasks([SampleFile("source", tmp_path / "s", size)], options, tmp_path))) == count


@pytest.mark.usefixtures("small_slices")
def test_counts_that_do_not_fit_in_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path)
    monkeypatch.setattr("nmt_prep.subwords.t2t.training._BYTES_PER_CHARACTER", 10**6)
    with pytest.raises(TrainingError, match=r"tokens of these lines needs [\d,]+ MB .*\(engine\.memory\)"):
        vocabularies(tmp_path, "run")


def test_steps_make_the_words_of_text_before_a_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prefixes").write_text("")
    words = {"source": [{"moses": {"prefixes": "../prefixes"}}, {"truecase": "train"}], "target": ["lowercase"]}
    vocab = {"kind": "subword_nmt", "merges": 30, "words": words}
    facts = build(tmp_path / "once", vocab=vocab)["source"]
    monkeypatch.setattr(training, "SLICE_BYTES", 2000)
    build(tmp_path / "sliced", vocab=vocab)
    folder = tmp_path / "once" / "run" / "vocab"
    assert tree(tmp_path / "sliced" / "run" / "vocab") == tree(folder)
    assert (facts["file"], facts["words"]) == ("vocab.small.30.en.subword_nmt.json", "vocab.small.en.words.json")
    tokenizer = nmt_prep.load_tokenizer(folder / facts["words"])
    assert tokenizer.fingerprint == facts["fingerprint"]
    inner = nmt_prep.load_tokenizer(folder / facts["file"])
    assert tokenizer.encode("Time, 5.") == inner.encode("time , 5 .")
    assert tokenizer.decode(inner.encode("time , 5 .")) == "Time, 5."
    assert (folder / "vocab.small.en.2.truecase.model").read_text("utf-8").startswith("child (")
    target = nmt_prep.load_tokenizer(folder / "vocab.small.zh.words.json")
    assert target.encode("A") == nmt_prep.load_tokenizer(folder / "vocab.small.30.zh.subword_nmt.json").encode("a")


def test_joint_codes_with_a_threshold_for_each_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = {"kind": "subword_nmt", "merges": 30, "joint": True, "threshold": 20}
    build(tmp_path / "once", vocab=vocab)
    monkeypatch.setattr(training, "SLICE_BYTES", 2000)
    build(tmp_path / "sliced", vocab=vocab)
    folder = tmp_path / "once" / "run" / "vocab"
    assert tree(tmp_path / "sliced" / "run" / "vocab") == tree(folder)
    made = [
        nmt_prep.SubwordNMTTokenizer.load(folder / f"vocab.small.30.{side}.subword_nmt.json") for side in ("en", "zh")
    ]
    assert made[0].codes == made[1].codes
    samples = [
        (tmp_path / "once" / "run" / "sample" / f"{side}.txt").read_text("utf-8") for side in ("source", "target")
    ]
    source, target = (sample.removesuffix("\n").split("\n") for sample in samples)
    own = nmt_prep.SubwordNMTTokenizer.train(source, other=target, merges=30, threshold=20, threads=1)
    assert (made[0].fingerprint, made[0].vocabulary()) == (own.fingerprint, own.vocabulary())
