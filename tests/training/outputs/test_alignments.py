"""Links of pieces in the outputs marian and text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep import load_tokenizer
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs.runner import run_share
from tests.corpus import corpus_config, lines_of, tree
from tests.stages.runs import manifest
from tests.training.outputs.runs import SENTENCEPIECE, output_config

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NAMES = ("nulla", "unus", "duo", "tria", "quattuor", "quinque", "sex", "septem", "octo", "novem")
MARIAN = {"kind": "marian", "alignments": True}
TEXT = {"kind": "text", "alignments": True}
VOCABULARIES: dict[str, dict[str, Any]] = {
    "t2t": {"size": 120},
    "byte_bpe": {"kind": "byte_bpe", "size": 290},
    "sentencepiece": {**SENTENCEPIECE, "size": 60, "shared": True},
}


def words(number: int) -> tuple[list[str], list[str]]:
    """Returns the words of a pair: the digits of a number by name, with a full-width mark that is normalized."""
    digits = [int(digit) for digit in f"{number * 7919 % 100_000:05d}"]
    return [*(NUMBERS[digit] for digit in digits), "！"], [*(NAMES[digit] for digit in digits), "!"]


def config_of(place: Path, *outputs: dict[str, Any], **changes: Any) -> Config:
    """Writes a corpus whose words are linked in order, and returns a config that aligns it."""
    for name, numbers in (("t", range(400)), ("d", range(400, 420))):
        lines = ["\t".join(map(" ".join, words(number))) for number in numbers]
        (place / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    splits = {"train": [{"name": "t", "url": "t.tsv"}], "dev": [{"name": "d", "url": "d.tsv"}]}
    data: dict[str, Any] = {"splits": splits, "align": {}, "vocab": VOCABULARIES["t2t"], **changes}
    return output_config(place, *outputs, **data)


ALL = (MARIAN, TEXT, {"kind": "text", "name": "plain"}, {**MARIAN, "name": "pieces", "pieces": True})


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The outputs of a run with SentencePiece models, in which dev has no links."""
    place = tmp_path_factory.mktemp("links")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NMT_PREP_CACHE", str(place / "cache"))
        nmt_prep.run(sentencepiece_config(place), workers=2, until="outputs")
        yield place / "run" / "outputs"


def sentencepiece_config(place: Path, **changes: Any) -> Config:
    return config_of(place, *ALL, vocab=VOCABULARIES["sentencepiece"], align={"splits": ["train"]}, **changes)


def word_of(pieces: list[str], first: int = 0) -> list[int | None]:
    """Returns the number of the word of each piece, if ``▁`` begins a word; None for a space alone."""
    number, found = first - 1, list[int | None]()
    for piece in pieces:
        number += piece.startswith("▁")
        found.append(None if piece == "▁" else number)
    return found


def expected(source: list[int | None], target: list[int | None], order: tuple[int, ...] | None = None) -> str:
    """Returns the links of pieces, given the word of each piece, and the target word of each source word."""
    places = source if order is None else [order[word] if word in range(len(order)) else None for word in source]
    links = ((i, j) for i, word in enumerate(places) for j, other in enumerate(target) if word == other is not None)
    return " ".join(f"{i}-{j}" for i, j in links)


def columns(directory: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for n in range(3) for line in lines_of(directory / f"train-{n:05d}-of-00003.tsv")]


def test_marian_links_the_pieces_of_its_own_encoding(outputs: Path) -> None:
    library = pytest.importorskip("sentencepiece").SentencePieceProcessor
    model = library(model_file=str(outputs / "marian" / "vocab.spm"))
    rows = columns(outputs / "marian")
    assert sorted(row[:2] for row in rows) == sorted(tuple(map(" ".join, words(number))) for number in range(400))
    for source, target, links in rows:
        assert links == expected(*(word_of(model.encode(text, out_type=str)) for text in (source, target)))


def test_links_of_long_words_are_left_out_and_counted(tmp_path: Path) -> None:
    config = config_of(tmp_path, *ALL)
    with (tmp_path / "t.tsv").open("a", encoding="utf-8") as file:
        long = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(40))
        file.write(f"one {long}\tunus {long}\n")
    nmt_prep.run(config, workers=2, until="outputs")
    counts = manifest(config, "outputs").counts.other
    assert {name: number for name, number in counts.items() if "cut" in name or "without" in name} == {
        "marian_links_cut": 1,
        "text_links_cut": 1,
        "pieces_links_cut": 1,
    }
    assert max(map(len, lines_of(tmp_path / "run" / "outputs" / "text" / "train-00000-of-00003.align"))) < 1000


def test_lines_of_pieces_and_their_links_but_no_column_in_splits_without_links(outputs: Path) -> None:
    check_pieces(outputs)
    assert {line.count("\t") for line in lines_of(outputs / "marian" / "dev-00000-of-00001.tsv")} == {1}
    assert not (outputs / "text" / "dev-00000-of-00001.align").exists()
    assert (outputs / "text" / "train-00002-of-00003.align").exists()


@pytest.mark.parametrize("kind", ["t2t", pytest.param("byte_bpe", marks=pytest.mark.slow)])
def test_pieces_of_other_dialects_and_their_links(tmp_path: Path, kind: str) -> None:
    nmt_prep.run(config_of(tmp_path, *ALL, vocab=VOCABULARIES[kind]), workers=2, until="outputs")
    check_pieces(tmp_path / "run" / "outputs")
    assert len(lines_of(tmp_path / "run" / "outputs" / "text" / "dev-00000-of-00001.align")) == 20


def check_pieces(outputs: Path) -> None:
    """Checks that the pieces are those of the records, and that links join pieces of words with the same place."""
    names = [f"train-{n:05d}-of-00003" for n in range(3)]
    lines = {
        end: [line for name in names for line in lines_of(outputs / "text" / f"{name}.{end}")]
        for end in ("en", "zh", "align")
    }
    for side in ("en", "zh"):
        assert lines[side] == [line for name in names for line in lines_of(outputs / "plain" / f"{name}.{side}")]
    assert columns(outputs / "pieces") == list(zip(lines["en"], lines["zh"], lines["align"], strict=True))
    vocabulary = json.loads((outputs / "text" / "output.json").read_text())["vocab"]
    sides = []
    for side, language in (("source", "en"), ("target", "zh")):
        tokenizer = load_tokenizer(outputs / "text" / vocabulary[side]["file"])
        listed = {piece: number for number, piece in enumerate(tokenizer.words())}
        rows = [[listed[piece] for piece in line.split(" ")] for line in lines[language]]
        sides.append([[tokenizer.decode(row[: n + 1]).split() for n in range(len(row))] for row in rows])
    linked = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines["align"]]
    for source, target, links in zip(*sides, linked, strict=True):
        assert links == sorted(links)
        assert {len(source[i]) - len(target[j]) for i, j in links} == {0}
        assert {len(source[i]) for i, _ in links} == {1, 2, 3, 4, 5, 6}


def test_links_of_known_pieces(tmp_path: Path) -> None:
    """The tag is a piece of the line, and the first of two words of a pair is linked to the second one."""
    named = dict(zip(NUMBERS, NAMES, strict=True))
    pairs = [f"{a} {b}\t{named[b]} {named[a]}" for a in NUMBERS for b in NUMBERS if a != b]
    (tmp_path / "t.tsv").write_text("".join(f"{pair}\n" for pair in pairs * 5))
    splits = {"train": [{"name": "t", "url": "t.tsv", "tag": {"source": "<2la>"}}]}
    vocab = {**SENTENCEPIECE, "size": 60, "reserved": ["<2la>"], "shared": True}
    config = corpus_config(
        tmp_path / "run",
        splits=splits,
        vocab=vocab,
        outputs=[{"kind": "marian", "alignments": True}, {**TEXT}],
        align={"symmetrize": "intersection"},
        records={},
    )
    nmt_prep.run(config, until="outputs")
    outputs = tmp_path / "run" / "outputs"
    library = pytest.importorskip("sentencepiece").SentencePieceProcessor
    model = library(model_file=str(outputs / "marian" / "vocab.spm"))
    for line in lines_of(outputs / "marian" / "train-00000-of-00001.tsv"):
        source, target, links = line.split("\t")
        assert source.startswith("<2la> ")
        sides = [model.encode(text, out_type=str) for text in (source, target)]
        assert links == expected(word_of(sides[0], -1), word_of(sides[1]), (1, 0))
    lines = [lines_of(outputs / "text" / f"train-00000-of-00001.{end}") for end in ("en", "zh", "align")]
    for source, target, links in zip(*lines, strict=True):
        first, *pieces = source.split(" ")
        assert first == "<2la>"
        assert links == expected([None, *word_of(pieces)], word_of(target.split(" ")), (1, 0))


def test_workers_memory_and_job_arrays_do_not_change_the_links(outputs: Path, tmp_path: Path) -> None:
    config = sentencepiece_config(tmp_path, run="array", engine={"memory": "256MB"})
    nmt_prep.run(config, until="encode", workers=1)
    for name in ("spill-text", "outputs"):
        for number in (1, 0):
            run_share(config, Share(name, number, 2))
    nmt_prep.run(config, until="outputs")
    assert tree(tmp_path / "array" / "outputs") == tree(outputs)
