from __future__ import annotations

import collections
import gzip
import html
import itertools
import math
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import make_toy_corpus
import pytest
from toy_corpus.defects import DEFECTS
from toy_corpus.grammar import Grammar, Pair
from toy_corpus.phrases import NOUNS
from toy_corpus.writer import write_tgz

from tests.conftest import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"
SCRIPT = SCRIPTS / "make_toy_corpus.py"
BUNDLED = REPOSITORY / "data" / "toy"


@pytest.fixture(scope="module")
def sample() -> list[Pair]:
    return list(itertools.islice(Grammar(7).pairs(), 20_000))


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive, "r:gz") as tar:
        return {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]


def segments(sgm: bytes) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<seg id=\"\d+\">(.*)</seg>\n", sgm.decode())]


# Another zlib may compress the same text to other bytes, so the contents of the archives are compared.
def test_the_bundled_corpus_equals_the_output_of_the_script(tmp_path: Path) -> None:
    make_toy_corpus.main(["--output", str(tmp_path)])
    for archive in ("training-parallel-toy.tgz", "dev.tgz"):
        made, bundled = (gzip.decompress((folder / archive).read_bytes()) for folder in (tmp_path, BUNDLED))
        assert made == bundled, f"regenerate data/toy: {archive} differs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.tgz", "training-parallel-toy.tgz"]


def test_the_bundled_dirty_corpus_equals_the_output_of_the_script(tmp_path: Path) -> None:
    make_toy_corpus.main(["--output", str(tmp_path), "--packaging", "dirty", "--pairs", "600", "--seed", "2"])
    bundled = (BUNDLED / "dirty-toy.tsv").read_bytes()
    assert (tmp_path / "dirty-toy.tsv").read_bytes() == bundled
    kinds = collections.Counter(line.split("\t")[2] for line in bundled.decode().splitlines()[1:])
    assert kinds == {"clean": 400, **dict.fromkeys(DEFECTS, 17), **dict.fromkeys([*DEFECTS][-4:], 16)}


def test_bundled_sides_are_parallel_and_clean() -> None:
    train = members(BUNDLED / "training-parallel-toy.tgz")
    assert list(train) == ["training/toy.zh-en.en", "training/toy.zh-en.zh"]
    for text in train.values():
        assert text.count(b"\n") == 4000
        lines = text.decode().removesuffix("\n").split("\n")
        assert all(line and line == line.strip() and line.isprintable() for line in lines)


def test_bundled_dev_is_sgm_apart_from_training() -> None:
    dev, train = members(BUNDLED / "dev.tgz"), members(BUNDLED / "training-parallel-toy.tgz")
    assert list(dev) == ["dev/toydev-src.en.sgm", "dev/toydev-ref.zh.sgm"]
    source, reference = dev.values()
    assert source.startswith(b'<srcset setid="toydev" srclang="en">\n<doc docid="toy.0001"')
    assert reference.startswith(b'<refset setid="toydev" srclang="en" trglang="zh">\n<doc sysid="ref" docid="toy.0001"')
    for sgm in dev.values():
        assert sgm.count(b"<doc ") == sgm.count(b"<p>\n") == sgm.count(b'<seg id="1">') == 8
        assert len(segments(sgm)) == len(set(segments(sgm))) == 200
    for entity in (b"&amp;", b"&lt;", b"&gt;", b"&quot;"):
        assert entity in source
    trained = {line for text in train.values() for line in text.decode().split("\n")}
    assert trained.isdisjoint(segments(source))
    assert trained.isdisjoint(segments(reference))


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    other_seed = "4242" if os.environ.get("PYTHONHASHSEED") != "4242" else "0"
    arguments = ["--pairs", "3000", "--seed", "5", "--output"]
    environment = {**os.environ, "PYTHONHASHSEED": other_seed}
    command = [sys.executable, str(SCRIPT), *arguments, str(tmp_path / "other")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    make_toy_corpus.main([*arguments, str(tmp_path / "here")])
    for name in ("training-parallel-toy.tgz", "dev.tgz"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_another_seed_is_another_corpus() -> None:
    first, second = (list(itertools.islice(Grammar(seed).pairs(), 50)) for seed in (1, 2))
    assert first != second


@pytest.mark.parametrize("pairs", [1, 4096, 4097])
def test_plain_packaging_writes_the_requested_number_of_pairs(tmp_path: Path, pairs: int) -> None:
    arguments = ["--output", str(tmp_path), "--packaging", "plain", "--pairs", str(pairs), "--dev-pairs", "3"]
    make_toy_corpus.main(arguments)
    counts = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.iterdir()}
    assert counts == {"train.en": pairs, "train.zh": pairs, "dev.en": 3, "dev.zh": 3}


def test_megabytes_bound_the_training_text(tmp_path: Path) -> None:
    make_toy_corpus.main(["--output", str(tmp_path), "--packaging", "plain", "--megabytes", "1", "--dev-pairs", "1"])
    source, target = ((tmp_path / name).read_bytes() for name in ("train.en", "train.zh"))
    assert source.count(b"\n") == target.count(b"\n")
    assert 1_000_000 <= len(source) + len(target) < 1_002_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "0"], "argument --pairs: 0 is below the minimum, 1"),
        (["--pairs", "many"], "argument --pairs: 'many' is not an integer"),
        (["--seed", "-1"], "argument --seed: -1 is below the minimum, 0"),
        (["--pairs", "5", "--megabytes", "5"], "argument --megabytes: not allowed with argument --pairs"),
        (["--packaging", "zip"], "argument --packaging: invalid choice: 'zip'"),
    ],
)
def test_bad_arguments_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        make_toy_corpus.main(["--output", str(tmp_path), *arguments])
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_files_are_replaced_with_force_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    existing = tmp_path / "dev.zh"
    existing.write_text("mine\n")
    arguments = ["--output", str(tmp_path), "--packaging", "plain", "--pairs", "2", "--dev-pairs", "2"]
    with pytest.raises(SystemExit):
        make_toy_corpus.main(arguments)
    assert f"{existing} exists; choose another --output, or pass --force" in capsys.readouterr().err
    assert existing.read_text() == "mine\n"
    make_toy_corpus.main([*arguments, "--force"])
    assert existing.read_text() != "mine\n"


def test_archives_contain_no_time_owner_or_user_name(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"line\n")
    write_tgz(tmp_path / "a.tgz", [("folder/text", tmp_path / "text")])
    assert (tmp_path / "a.tgz").read_bytes()[3:8] == bytes(5)
    with tarfile.open(tmp_path / "a.tgz") as tar:
        (info,) = tar.getmembers()
    assert (info.name, info.size, info.mtime, info.mode, info.uid, info.gid) == ("folder/text", 5, 0, 0o644, 0, 0)
    assert (info.uname, info.gname) == ("", "")


def test_nouns_follow_zipf_roughly(sample: list[Pair]) -> None:
    names = {form: noun.one for kind in NOUNS.values() for noun in kind for form in (noun.one, noun.many)}
    words = (word for english, _ in sample for word in re.findall(r"[A-Za-z-]+", english))
    counts = collections.Counter(names[word] for word in words if word in names)
    frequencies = sorted(counts.values(), reverse=True)[:100]
    assert len(frequencies) == 100
    points = [(math.log(rank), math.log(frequency)) for rank, frequency in enumerate(frequencies, 1)]
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in points)
    spread_x, spread_y = (sum((p[i] - (mean_x, mean_y)[i]) ** 2 for p in points) for i in (0, 1))
    assert -1.4 < covariance / spread_x < -0.7
    assert covariance**2 / (spread_x * spread_y) > 0.9


def test_variety(sample: list[Pair]) -> None:
    lengths = [len(english.split()) for english, _ in sample]
    assert min(lengths) == 1
    assert max(lengths) >= 40
    assert 0.8 < len(set(sample)) / len(sample) < 0.99
    chinese = "".join(zh for _, zh in sample)
    assert {"𠮷", "𤋮", "𬬻", "🎉", "，", "。", "？", "！", "、", "；", "：", "“", "”"} <= set(chinese)
    english = "".join(en for en, _ in sample)
    assert {"é", "ø", "Ł", '"', "“", "&", "<", ">", "@", "-", "–", ";", "$"} <= set(english)


def test_sentences_agree_in_surface_form(sample: list[Pair]) -> None:
    for english, chinese in sample:
        assert not re.search(
            r"(?<![\'’])\b[Aa] [aeio]|(?<![\'’])\b[Aa]n [^aehiou]|  |\{|\b(I is|he are|she are|they was|we was)\b",
            english,
        ), english
        assert not re.search(r"[,.;?!]|正在在|的的|了了|\{", re.sub(r"[\x00-\x7f]*[.@][\x00-\x7f]+", "", chinese)), (
            chinese
        )
        assert english[0] == english[0].upper()
        assert english.endswith("?") == chinese.endswith("？"), english
        assert sorted(re.findall("[\U0001f300-\U0001faff]", english)) == re.findall("[\U0001f300-\U0001faff]", chinese)


def test_the_bundled_corpus_of_four_languages_equals_the_output_of_the_script(tmp_path: Path) -> None:
    make_toy_corpus.main(["--output", str(tmp_path), "--packaging", "multiway", "--pairs", "1000"])
    rows = {}
    for name, count in (("train.tsv", 1000), ("dev.tsv", 200)):
        assert (tmp_path / name).read_bytes() == (BUNDLED.with_name("toy-multiway") / name).read_bytes()
        rows[name] = [tuple(line.split("\t")) for line in (tmp_path / name).read_text().splitlines()]
        assert rows[name].pop(0) == ("en", "de", "cs", "fr")
        assert {len(row) for row in rows[name]} == {4}
        assert len(rows[name]) == count
    for language in range(4):
        assert {row[language] for row in rows["train.tsv"]}.isdisjoint(row[language] for row in rows["dev.tsv"])
