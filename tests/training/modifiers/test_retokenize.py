"""Retokenize: text of tokens, and links of words and of pieces, as the package opustrainer makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import ConfigError
from nmt_prep.subwords import SentencePieceTokenizer
from nmt_prep.training.modifiers import read_modifiers
from nmt_prep.training.modifiers.retokenize import _CutPairs
from tests.conftest import examples
from tests.training.modifiers.conftest import block_of, lines_of

WORDS = st.text("abcdeé", min_size=1, max_size=5)
SENTENCES = st.builds(
    lambda words, mark: f"{' '.join(words)} {mark}", st.lists(WORDS, min_size=1), st.sampled_from(".,!")
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spm") / "m.model"
    text = [f"{a}{b} {b}{c}é{a}, {c} {a}{a}." for a in "abcde" for b in "abcde" for c in "abcde"]
    SentencePieceTokenizer.train(iter(text), 40).save(path)
    return path


def retokenized(lines: list[Any], units: Any = "spaced", **options: Any) -> list[Any]:
    return lines_of(read_modifiers([{"Retokenize": 0, **options}], "m", Path())(block_of(lines, units)))


def test_moses_and_icu() -> None:
    moses, icu = {"detokenize": "moses:en"}, {"detokenize": "icu:zh"}
    pair = ("Hello , world !", "你好▁吗 ▁ 世界", "0-0 1-1 2-2 3-2")
    assert retokenized([pair], src=moses, trg=icu) == [("Hello, world!", "你好 吗 世界", "0-0 0-1 1-2")]
    assert retokenized([(*pair[:2], None)], src=moses, trg=icu) == [("Hello, world!", "你好 吗 世界", None)]
    assert retokenized([pair], "words", src=moses) == [pair]


def test_wrong_links_are_removed(model: Path) -> None:
    spm = {"tokenize": f"spm:{model}"}
    for wrong in ("0-9", "9-0", "a", "0-0 x", "-1-0", "0-99999999999"):
        lines = retokenized([("a b", "c d", wrong), ("ab", "cd", "0-0")], src=spm, trg=spm)
        assert lines[0].links == ""
        assert lines[1].links.startswith("0-0")


@pytest.mark.parametrize("name", ["Retokenize", "Tags"])
def test_long_words_have_no_links_of_pieces(
    model: Path, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nmt_prep.training.modifiers.retokenize._CUT", _CutPairs())
    spm = {"tokenize": f"spm:{model}"}
    options = {
        "Retokenize": {"src": spm, "trg": spm},
        "Tags": {"spm_vocab_src": str(model), "spm_vocab_trg": str(model)},
    }
    modifiers = read_modifiers([{name: 0, **options[name]}], "m", Path())
    long = ("adbec" * 2000, "bdaec" * 2000, "0-0")
    for _ in range(2):
        made = lines_of(modifiers(block_of([long, ("ab", "ab", "0-0"), *[long] * 5], "spaced")))
        assert [bool(line.links) for line in made] == [False, True, *[False] * 5]
    assert [record.getMessage() for record in caplog.records] == [
        "pairs so far with words with too many pieces, whose links are skipped: 6",
        "pairs so far with words with too many pieces, whose links are skipped: 12",
    ]


def test_nothing_follows_pieces(model: Path) -> None:
    entries = [{"Tags": 0.1, "spm_vocab_trg": str(model)}, {"UpperCase": 1}]
    with pytest.raises(ConfigError, match="Tags makes links of pieces; put it last"):
        read_modifiers(entries, "m", Path())


@settings(max_examples=examples(50))
@given(data=st.data())
def test_links_of_pieces_are_those_of_opustrainer(model: Path, data: st.DataObject) -> None:
    retokenize = pytest.importorskip("opustrainer.modifiers.retokenize")
    tokenizer = SentencePieceTokenizer.load(model)

    class Pieces:
        """The tokenizer of the package needs another release of sentencepiece."""

        def tokenize(self, text: str) -> tuple[list[str], list[slice]]:
            spans = tokenizer.piece_spans(TextColumn.from_strings([text]), tokenizer.encode_batch([text]))
            ends = np.cumsum([0, *(len(character.encode()) for character in text)]).tolist()
            places = [(ends.index(a), ends.index(b)) for a, b in zip(spans.begins, spans.ends, strict=True)]
            return [text[a:b] for a, b in places], [slice(a, b) for a, b in places]

    source, target = data.draw(SENTENCES), data.draw(SENTENCES)
    sizes = len(source.split()), len(target.split())
    pairs = data.draw(st.sets(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=1))
    links = " ".join(f"{s}-{t}" for s, t in sorted(pairs))
    spm = f"spm:{model}"
    sides = {"src": {"detokenize": "moses:en", "tokenize": spm}, "trg": {"tokenize": spm}}
    theirs = retokenize.RetokenizeModifier(0, {"detokenize": "moses:en"}, {})
    theirs.src, theirs.trg = theirs.src._replace(tokenizer=Pieces()), theirs.trg._replace(tokenizer=Pieces())
    assert retokenized([(source, target, links)], **sides) == [
        tuple(line.split("\t")) for line in theirs([f"{source}\t{target}\t{links}"])
    ]
