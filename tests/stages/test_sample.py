from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nmt_prep
from nmt_prep.base import digests
from nmt_prep.base.digests import StepRange
from nmt_prep.base.errors import CorpusError
from nmt_prep.config import Config
from nmt_prep.corpora.reader import every
from nmt_prep.stages import sample
from nmt_prep.stages.sample import affordable, sampled_lines, stride_of
from tests.conftest import examples
from tests.corpora.formats.builders import reader
from tests.corpus import corpus_config, write_corpus, write_tgz
from tests.reference.sampling import sample as reference
from tests.stages.runs import config_of, manifest, run

LINES = ["  one ", "", "three\r", "\u3000four", "五五五", "six\u2028six", "seven", "8"]


def vectorised(batches: list[list[str]], size: int, budget: int) -> list[str]:
    arrays = iter([pa.array(batch, pa.large_string()) for batch in batches])
    taken = affordable(every(arrays, stride_of(size, budget)), budget)
    return [line for text, _ in taken for line in bytes(text).decode().split("\n")[:-1]]


@pytest.mark.parametrize(
    ("size", "budget", "expected"),
    [
        (50, 1000, ["one", "", "three", "four", "五五五", "six\u2028six", "seven", "8"]),
        (50, 8, ["four", "8"]),  # skip int(50 / 8 / 2) = 3
        (2000, 1000, ["", "four", "six\u2028six", "8"]),  # skip exactly 1
        (1999, 1000, ["one", "", "three", "four", "五五五", "six\u2028six", "seven", "8"]),
        (0, 8, ["one", "", "three"]),  # three and five characters use up eight
        (0, 9, ["one", "", "three", "four"]),  # one character was left
        (0, 1, ["one"]),
        (10**6, 1, []),
    ],
)
def test_literal_samples(size: int, budget: int, expected: list[str]) -> None:
    assert vectorised([LINES], size, budget) == expected
    assert list(reference(LINES, size, budget)) == expected


@given(
    lines=st.lists(st.text("a中 \u2028\x1c", max_size=6), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    size=st.integers(0, 400),
    budget=st.integers(1, 60),
)
def test_samples_equal_those_of_the_twin(lines: list[str], cuts: list[int], size: int, budget: int) -> None:
    bounds = [0, *sorted(cuts), 40]
    batches = [lines[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]
    assert vectorised(batches, size, budget) == list(reference(lines, size, budget))


def test_no_more_is_read_than_needed() -> None:
    read = []

    def batches() -> Iterator[pa.Array]:
        for number in range(5):
            read.append(number)
            yield pa.array(["abc", "de"], pa.large_string())

    assert [bytes(text) for text, _ in affordable(every(batches(), 1), 10)] == [b"abc\nde\n", b"abc\nde\n"]
    assert read == [0, 1]


def corpus(directory: Path, name: str, source: bytes, target: bytes) -> dict[str, Any]:
    (directory / f"{name}.en").write_bytes(source)
    (directory / f"{name}.zh").write_bytes(target)
    return {"name": name, "url": {"source": f"{name}.en", "target": f"{name}.zh"}}


def sampled(config: Config) -> tuple[bytes, bytes]:
    run(config)
    directory = config.run_dir / "sample"
    return (directory / "source.txt").read_bytes(), (directory / "target.txt").read_bytes()


def test_sides_are_sampled_separately_before_drops(tmp_path: Path) -> None:
    first = corpus(tmp_path, "x", b"aaaa\n\n bb\xc2\x85\ncc\r\ndd", b"1\n2\n3\n4\n5\n")
    second = corpus(tmp_path, "y", b"z\x0bz\n", "中\n".encode())
    dev = corpus(tmp_path, "d", b"dev\n", b"dev\n")
    config = config_of(tmp_path, first, second, splits={"dev": [dev]}, sample={"bytes_per_corpus": 10})
    assert sampled(config) == (b"aaaa\n\nbb\ncc\ndd\nz\x0bz\n", "1\n2\n3\n4\n5\n中\n".encode())
    numbers = {"source_lines": 6, "source_bytes": 19, "target_lines": 6, "target_bytes": 14}
    assert manifest(config, "sample").counts.other == numbers
    assert manifest(config, "sample").details == {
        "source": {"lines": 6, "bytes": 19},
        "target": {"lines": 6, "bytes": 14},
    }


def test_the_budget_applies_to_each_side_of_each_corpus(tmp_path: Path) -> None:
    train = [corpus(tmp_path, name, b"abc\ndef\nghi\n", b"1\n2\n3\n") for name in ("x", "y")]
    config = config_of(tmp_path, *train, sample={"bytes_per_corpus": 6})
    # 12 bytes / 6 / 2 = 1: every second line; 6 bytes / 6 / 2 = 0: every line
    assert sampled(config) == (b"def\ndef\n", b"1\n2\n3\n1\n2\n3\n")


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ({"bytes_per_corpus": 2}, (b"d\n", b"4\n")),  # 12 / 2 / 2: every fourth line
        ({"bytes_per_corpus": "all"}, (b"a\nb\nc\nd\ne\nf\n", b"1\n2\n3\n4\n5\n6\n")),
        ({"bytes_per_file": 2}, (b"c\nf\n", b"3\n6\n")),  # every third line, and every second
    ],
)
def test_a_budget_per_file_and_no_budget(tmp_path: Path, sample: dict[str, Any], expected: tuple[bytes, bytes]) -> None:
    write_tgz(
        tmp_path / "x.tgz", {"a.en": b"a\nb\nc\nd\n", "b.en": b"e\nf\n", "a.zh": b"1\n2\n3\n4\n", "b.zh": b"5\n6\n"}
    )
    train = {"name": "x", "url": "x.tgz", "source": "*.en", "target": "*.zh"}
    assert sampled(config_of(tmp_path, train, sample=sample)) == expected


def test_size_of_a_table_side_is_that_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"a\tlong text that is the other side\nb\tx\nc\ty\nd\tz\n")
    config = config_of(tmp_path, {"name": "t", "url": "t.tsv"}, sample={"bytes_per_corpus": 4})
    # source: 8 bytes / 4 / 2 = 1; target: 39 bytes / 4 / 2 = 4
    assert sampled(config) == (b"b\nd\n", b"")


@pytest.mark.tensorflow
@pytest.mark.parametrize("budget", [1, 7, 20, 60, 1000])
def test_samples_equal_those_of_tensor2tensor(tmp_path: Path, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensor2tensor", reason="tensor2tensor is not installed")
    upstream = _generator_utils(monkeypatch)
    text = "".join(f"  line {number} \u3000\x1c\n" * (number % 3) + f"{number}中\r\n\n" for number in range(40))
    config = config_of(
        tmp_path,
        corpus(tmp_path, "x", text.encode(), text.encode()),
        corpus(tmp_path, "y", "é\x85\n\u2028a\u2028b\n".encode(), b"1\n2\n"),
        sample={"bytes_per_corpus": budget},
    )
    source, target = sampled(config)
    for side, found in (("en", source), ("zh", target)):
        sources = [["http://host/x.tgz", [f"{name}.{side}"]] for name in ("x", "y")]
        monkeypatch.setattr(upstream, "maybe_download", lambda *_: "")
        expected = upstream.generate_lines_for_vocab(str(tmp_path), sources, budget)
        assert found.decode() == "".join(f"{line}\n" for line in expected)


def _generator_utils(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns Tensor2Tensor's module, with a stand-in for a name that its import needs and TensorFlow no longer has."""
    import tensorflow.compat.v1 as tf

    estimator = SimpleNamespace(ModeKeys=SimpleNamespace(TRAIN="train"))
    monkeypatch.setattr(tf, "estimator", estimator, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("tensor2tensor.data_generators.generator_utils")


@pytest.mark.parametrize("faulty", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_lines_that_are_not_decoded(tmp_path: Path, faulty: bool, swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"\u3000line {number} 中\r\n" for number in range(4000)]
    source, target = b"\xef\xbb\xbf" + "".join(lines).encode(), "".join(reversed(lines)).encode()
    if faulty:
        source = source.replace(b"line 100 ", b"line \xff ")
    entry = {**corpus(tmp_path, "x", source, target), "invalid": "drop", "swap": swap}
    entry["url"] = {side: str(tmp_path / name) for side, name in entry["url"].items()}
    sampled_in: list[int] = []

    def noting(files: Sequence[Path], stride: int, budget: int, steps: Mapping[Path, StepRange]) -> Any:
        sampled_in.append(stride)
        assert len(steps) == 2
        return sampled_lines(files, stride, budget, steps)

    monkeypatch.setattr(sample, "sampled_lines", noting)
    found = sampled(config_of(tmp_path / "a", entry, sample={"bytes_per_corpus": 2000}))
    assert len(sampled_in) == (0 if faulty else 2)
    sides = [[*lines], [*reversed(lines)]]
    if faulty:
        del sides[0][100]
    expected = [
        "".join(f"{line}\n" for line in reference(each, len(text), 2000))
        for each, text in zip(sides, (source, target), strict=True)
    ]
    assert [text.decode() for text in found] == (expected[::-1] if swap else expected)
    assert min(map(len, found)) > 2000


def test_the_next_run_does_not_read_the_sample_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its times are not changed after its digest was noted."""
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run")
    nmt_prep.run(config, until="sample")
    monkeypatch.setattr(digests, "sha256_of", None)
    [step] = [step for step in nmt_prep.plan(config) if step.stage == "sample"]
    assert step.fresh


AMPLE = 1 << 40


def taken(paths: list[Path], stride: int, budget: int = AMPLE) -> list[str]:
    found = []
    for text, count in sampled_lines(paths, stride, budget):
        lines = bytes(text).decode().split("\n")
        assert lines.pop() == ""
        assert len(lines) == count
        found += lines
    return found


@pytest.mark.parametrize(
    ("content", "stride", "budget", "expected"),
    [
        (b"1\n2\n3\n4\n5\n6\n7\n", 3, AMPLE, ["3", "6"]),
        (b"1\n2\n3\n4\n5\n6", 3, AMPLE, ["3", "6"]),
        (b"1\n2\n\n4\n5\n", 3, AMPLE, [""]),
        (b"1\n2\n3", 1, AMPLE, ["1", "2", "3"]),
        (b"1\n2\n", 3, AMPLE, []),
        (b"\xef\xbb\xbf1\n2\n", 1, AMPLE, ["1", "2"]),
        (b"\xef\xbb\xbf", 1, AMPLE, []),
        (b"\xff\n \t2 2\x1f\r\n", 2, AMPLE, ["2 2"]),
        ("\u3000中\u2028中\u0085\u00a0\n\u1680é\u205f".encode(), 1, AMPLE, ["中\u2028中", "é"]),
        (b"", 1, AMPLE, []),
        (b"abc\ndef\nghi\n", 1, 3, ["abc"]),
        (b"abc\ndef\nghi\n", 1, 4, ["abc", "def"]),
        ("中中\n中\nx".encode(), 1, 3, ["中中", "中"]),
        (b"\n\na\nb\n", 1, 1, ["", "", "a"]),
    ],
)
def test_literal_lines(tmp_path: Path, content: bytes, stride: int, budget: int, expected: list[str]) -> None:
    (tmp_path / "a").write_bytes(content)
    assert taken([tmp_path / "a"], stride, budget) == expected


@settings(max_examples=examples(200))
@given(
    texts=st.lists(
        st.text(st.sampled_from("ab \n\n\n\r中é\ufeff\u2028\u3000\x1f"), max_size=80), min_size=1, max_size=2
    ),
    stride=st.integers(1, 30),
    budget=st.integers(1, 60) | st.just(AMPLE),
    read=st.integers(1, 40),
)
def test_lines_equal_those_of_the_twin(
    new_directory: Callable[[], Path], texts: list[str], stride: int, budget: int, read: int
) -> None:
    directory = new_directory()
    lines = []
    for number, text in enumerate(texts):
        (directory / f"{number}").write_text(text, encoding="utf-8", newline="")
        parts = text.removeprefix("\ufeff").split("\n")
        lines += parts if parts[-1] else parts[:-1]
    expected = list(reference(lines, 2 * budget * (stride - 1), budget))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt_prep.text.chunks.BLOCK_BYTES", read)
        assert taken([directory / f"{number}" for number in range(len(texts))], stride, budget) == expected


@pytest.mark.parametrize("stride", [1, 3, 17, 100, 5000])
def test_lines_of_a_large_file(tmp_path: Path, stride: int) -> None:
    lines = [f"{number} " + "é" * (number % 50) for number in range(60_000)]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    assert taken([tmp_path / "a"], stride) == [line.strip() for line in lines[stride - 1 :: stride]]
    budget = sum(map(len, map(str.strip, lines))) // (2 * stride)
    assert taken([tmp_path / "a"], stride, budget) == list(reference(lines, 2 * budget * (stride - 1), budget))


def test_no_more_is_read_than_the_budget_asks_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc\n")
    assert taken([tmp_path / "a", tmp_path / "missing"], 1, 3) == ["abc"]
    with pytest.raises(CorpusError, match=r"cannot read .*missing"):
        taken([tmp_path / "a", tmp_path / "missing"], 1, 4)


def test_files_that_hold_one_side(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"1\n", b"2\n")
    assert [opened.text_files(side) for side in ("source", "target")] == [[tmp_path / "a.en"], [tmp_path / "a.zh"]]


def test_text_that_is_not_utf8_any_more(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n\xff\n3\n")
    with pytest.raises(CorpusError, match="a changed while it was in use; run again with --force extract"):
        taken([tmp_path / "a"], 2)
