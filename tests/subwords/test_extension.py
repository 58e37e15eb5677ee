"""A small dialect of characters, which shows all that a new dialect needs, used for a whole run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
import pytest

import nmt_prep
from nmt_prep import subwords
from nmt_prep.base.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.base.errors import VocabularyError
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.stages.vocab import vocab_training as training
from nmt_prep.subwords.dialect import Dialect, TextCounts, Training, TrainingText
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.subwords.tokenizer import IdLayout, PieceSpans, Tokenizer
from tests.corpus import corpus_config, pair, write_corpus

PAD, EOS, UNK = "<pad>", "<eos>", "<unk>"


class CharacterTokenizer(Tokenizer):
    dialect = "characters"
    _special_ids = MappingProxyType({"pad": 0, "eos": 1, "unk": 2})

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = tuple(pieces)
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}

    @classmethod
    def load(cls, path: str | Path) -> CharacterTokenizer:
        return cls(json.loads(Path(path).read_text("utf-8"))["characters"])

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps({"characters": self._pieces}), "utf-8")

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(character, 2) for character in text]

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self._pieces[number] for number in ids if number > 2)

    def encode_batch(self, lines: Lines, threads: int | None = None) -> Ragged:
        texts = [text.decode() for column in text_columns(lines) for text in column.to_bytes()]
        return Ragged.from_lists([self.encode(text) for text in texts])

    def decode_batch(self, rows: Ragged) -> list[str]:
        return [self.decode(row) for row in rows.to_lists()]

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        sizes = [len(character.encode()) for text in lines.to_bytes() for character in text.decode()]
        ends = np.cumsum(sizes, dtype=np.int32) - np.repeat(lines.offsets[:-1], np.diff(rows.offsets)).astype(np.int32)
        return PieceSpans(ends - np.array(sizes, np.int32), ends, np.ones(len(lines), np.bool_))

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        return [character for character in characters if character not in self._ids]

    def words(self) -> list[str]:
        return [piece.replace(" ", "␠") for piece in self._pieces]

    @property
    def pieces(self) -> Sequence[str]:
        return self._pieces

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256("\n".join(self._pieces).encode()).hexdigest()


class CharacterVocab(VocabOptions):
    kind: Literal["characters"] = "characters"

    @property
    def special_pieces(self) -> tuple[str, ...]:
        return (PAD, EOS, UNK)


class CharacterDialect(Dialect[CharacterVocab]):
    kind: ClassVar[str] = "characters"

    def train(self, text: TrainingText, options: CharacterVocab, run: Training) -> CharacterTokenizer:
        assert not isinstance(text, TextCounts)
        found = Counter(
            character for column in text_columns(text) for line in column.to_bytes() for character in line.decode()
        )
        if run.progress is not None:
            run.progress("merges", {"size": len(found), "target": options.size})
        specials = [PAD, EOS, UNK, *options.reserved]
        return CharacterTokenizer([*specials, *sorted(found, key=lambda one: (-found[one], one))][: options.size])

    def file_name(self, options: CharacterVocab, stem: str, side: str) -> str:
        return f"{stem}{side}.characters"

    def recognises(self, path: Path, head: bytes) -> bool:
        return head.startswith(b'{"characters"')

    def load(self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None) -> CharacterTokenizer:
        return CharacterTokenizer.load(path)


@pytest.fixture(autouse=True)
def one_more_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "DIALECTS", (CharacterDialect(), *subwords.DIALECTS))


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the config lists no such options
def test_a_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SLICE_BYTES", 100)  # the sample is large, but this dialect does not count
    write_corpus(tmp_path)
    options = CharacterVocab(size=90, reserved=("<2zh>",))
    config = corpus_config(tmp_path / "run").model_copy(update={"vocab": options})
    nmt_prep.run(config, workers=2)
    names = sorted(path.name for path in (tmp_path / "run/vocab").iterdir())
    assert names == ["vocab.json", "vocab.small.90.en.characters", "vocab.small.90.zh.characters"]

    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run/vocab" / names[1])
    assert isinstance(tokenizer, CharacterTokenizer)
    assert tokenizer.pieces[:4] == (PAD, EOS, UNK, "<2zh>")
    facts = json.loads((tmp_path / "run/vocab/vocab.json").read_text())["source"]
    assert (facts["kind"], facts["pad_id"], facts["unk_id"], facts["id_layout"]) == ("characters", 0, 2, None)

    batch = next(nmt_prep.read_records(tmp_path / "run", "dev", batch_size=1))
    row = batch.source[0].tolist()
    assert row[-1] == 1
    assert tokenizer.decode(row) in {pair(1_000_000 + number)[0] for number in range(20)}


def test_methods_that_commands_use(tmp_path: Path) -> None:
    tokenizer = CharacterTokenizer([PAD, EOS, UNK, " ", "a"])
    assert PieceText(tokenizer).lines(Ragged.from_lists([[4, 3, 4]])).to_pylist() == ["a ␠ a"]
    tokenizer.save(tmp_path / "x")
    assert nmt_prep.load_tokenizer(tmp_path / "x").encode("a b") == [4, 3, 2]
    assert np.array_equal(tokenizer.encode_batch(["a", ""]).offsets, [0, 1, 1])
    (lines,) = text_columns(["a", "é a"])
    spans = tokenizer.piece_spans(lines, tokenizer.encode_batch(["a", "é a"]))
    assert (spans.begins.tolist(), spans.ends.tolist()) == ([0, 0, 2, 3], [1, 2, 3, 4])
    with pytest.raises(
        VocabularyError, match="there is no tokenizer type 'words'; the types are characters, subword_nmt"
    ):
        subwords.dialect_named("words")
