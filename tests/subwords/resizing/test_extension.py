"""Extended vocabularies keep all old IDs, and load in the libraries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import bpe_last_merges, bpe_learn_merges

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import VocabularyError
from nmt_prep.config.vocab import ExtendSettings
from nmt_prep.subwords import ByteBPETokenizer, Tokenizer, load_tokenizer
from nmt_prep.subwords.dialect import CountColumns
from nmt_prep.subwords.resizing import Learning, NewPiece, editable, piece_rate, word_counts
from tests.subwords.resizing.test_pruning import check_library, pruned
from tests.subwords.resizing.texts import LANGUAGES
from tests.subwords.sentencepiece.json_models import SPECIAL, added, bpe, content, data, metaspace, unigram
from tests.subwords.sentencepiece.models import trained

OLD = ["the lower lowest newer widest slow wood", "we slow the newest low wire down, 12 times"]
NEW = ["ẹ kú ọjọ́ lówó ṣe", "owó ọjà ni ọjọ́ kẹta ṣe pàtàkì", "ọjọ́ náà ni a ṣe owó lówó"]


def columns(tokenizer: Tokenizer, lines: Sequence[str]) -> CountColumns:
    counts = word_counts(tokenizer)
    counts.add(lines, 1)
    return counts.columns()


def extended(
    path: Path, lines: Sequence[str], size: int, *, tokens: Sequence[str] = (), others: Sequence[str] = OLD
) -> tuple[Tokenizer, Tokenizer, list[NewPiece]]:
    """Extends a file in place; returns the old and the new tokenizer, and the new pieces."""
    old = load_tokenizer(path)
    vocabulary = editable(old, path, "the file")
    assert vocabulary.fixed_ids_reason is None

    def loaded(new: Sequence[NewPiece]) -> Tokenizer:
        path.write_bytes(vocabulary.edited(np.arange(len(old)), new))
        return load_tokenizer(path)

    learning = Learning(vocabulary, old, columns(old, lines), columns(old, others))
    new = learning.pieces(ExtendSettings(size=size, tokens=tuple(tokens)), loaded)
    tokenizer = loaded(new)
    assert [*tokenizer.pieces] == [*old.pieces, *(piece.text for piece in new)]
    check_library(path, tokenizer)
    return old, tokenizer, new


def byte_file(path: Path) -> Path:
    ByteBPETokenizer.train([*OLD, *LANGUAGES[:1]] * 3, 330).save(path / "tokenizer.json")
    return path / "tokenizer.json"


def ends_with_added_tokens(path: Path) -> Path:
    """Writes a file whose added tokens have IDs behind the model's, which libraries would number anew."""
    file = json.loads(byte_file(path).read_bytes())
    vocab = [piece for piece in file["model"]["vocab"] if piece not in ("<pad>", "<EOS>")]
    file["model"]["vocab"] = {piece: number for number, piece in enumerate(vocab)}
    file["model"]["merges"] = [merge.split(" ") for merge in file["model"]["merges"]]
    file["added_tokens"] = added([("<pad>", len(vocab)), ("<EOS>", len(vocab) + 1)])
    (path / "tokenizer.json").write_text(json.dumps(file))
    return path / "tokenizer.json"


def model(path: Path, **options: Any) -> Path:
    (path / "x.model").write_bytes(trained([*OLD, *LANGUAGES[:1]] * 3, **{"size": 80, **options}))
    return path / "x.model"


def unigram_json(path: Path) -> Path:
    pieces = {"▁": -2.0, **dict.fromkeys(sorted({*"".join(OLD)} - {" "}), -4.0), "▁the": -3.0, "lo": -5.0}
    parts = unigram(pieces)
    number = len(parts["vocab"])
    tokens = added([*((name, place) for place, name in enumerate(SPECIAL)), ("<2en>", number)])
    (path / "tokenizer.json").write_bytes(data(content(parts, None, metaspace(), tokens=tokens)))
    return path / "tokenizer.json"


def bpe_json(path: Path) -> Path:
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("l", "o")]
    parts = bpe(["▁", *sorted({*"".join(OLD)} - {" "})], merges, byte_fallback=True)
    tokens = added((name, place) for place, name in enumerate(SPECIAL))
    (path / "tokenizer.json").write_bytes(data(content(parts, None, metaspace(), tokens=tokens)))
    return path / "tokenizer.json"


FILES = {
    "bytes": byte_file,
    "bytes with added tokens": ends_with_added_tokens,
    "unigram": model,
    "bpe": lambda path: model(path, model_type="bpe"),
    "bpe with bytes": lambda path: model(path, model_type="bpe", byte_fallback=True, size=330),
    "unigram tokenizer.json": unigram_json,
    "bpe tokenizer.json": bpe_json,
}


@pytest.mark.parametrize("kind", FILES)
def test_new_pieces(tmp_path: Path, kind: str) -> None:
    old, tokenizer, new = extended(FILES[kind](tmp_path), NEW * 3, 24, tokens=["<2yo>"])
    assert (new[0].text, new[0].special) == ("<2yo>", True)
    assert 20 < len(new) <= 25
    assert tokenizer.encode_batch(OLD).to_lists() == old.encode_batch(OLD).to_lists()
    assert tokenizer.encode_batch(["<2yo>"]).to_lists() != [[len(old)]]  # text never becomes a special token
    lengths = [vocabulary.encode_batch(NEW).lengths.sum() for vocabulary in (old, tokenizer)]
    assert lengths[1] < 0.85 * lengths[0]
    assert not tokenizer.uncovered(["ẹ", "ọ", "ṣ"])
    assert all(0 <= start < len(old) for piece in new for start in piece.starts)
    assert all(piece.starts for piece in new)


def test_characters_come_first_and_merges_start_from_the_old_pieces(tmp_path: Path) -> None:
    old, tokenizer, new = extended(byte_file(tmp_path), ["ọwọ lowọ"] * 4, 4, others=[])
    # "ọ" has the bytes E1 BB 8D
    assert [(piece.text, piece.parts) for piece in new[:2]] == [("á»", ("á", "»")), ("á»į", ("á»", "į"))]
    assert new[1].starts == tuple(old.piece_id(byte) for byte in "á»į")
    assert [piece.text for piece in new[2:]] == ["wá»į", "Ġlowá»į"]
    assert tokenizer.encode(" lowọ") == [len(old) + 3]
    assert new[3].starts == tuple(old.encode(" lowọ"))


def test_neighbours_in_the_words_of_other_languages_are_not_merged(tmp_path: Path) -> None:
    path = model(tmp_path, model_type="bpe", size=40)
    (tmp_path / "copy.model").write_bytes(path.read_bytes())
    _, _, free = extended(path, ["wiwi toto"] * 9, 4, others=[])
    assert "wi" in "".join(piece.text for piece in free)
    old, tokenizer, new = extended(tmp_path / "copy.model", ["wiwi toto"] * 9, 4, others=["wiwi"])
    assert not [piece.text for piece in new if "wi" in piece.text]
    assert tokenizer.encode("wiwi") == old.encode("wiwi")
    path = model(tmp_path, model_type="bpe", size=40, treat_whitespace_as_suffix=True)
    old, tokenizer, new = extended(path, ["weka weto"] * 9, 4, others=["we, lo"])  # alone, "we" ends in "e▁"
    assert tokenizer.encode("we,") == old.encode("we,")


def test_a_unigram_piece_has_the_score_of_its_parts_and_a_margin(tmp_path: Path) -> None:
    path = unigram_json(tmp_path)
    _, tokenizer, new = extended(path, ["lowow"] * 3, 2, others=[])
    assert [(piece.text, round(piece.score, 2)) for piece in new] == [("ow", -7.99), ("wow", -11.98)]
    assert tokenizer.encode("ow") == [tokenizer.piece_id("▁"), tokenizer.piece_id("ow")]


def test_characters_that_normalization_changes_get_no_piece(tmp_path: Path) -> None:
    _, _, new = extended(model(tmp_path), ["①② ﬁx x"] * 3, 9)
    assert not {"①", "②", "ﬁ"} & {piece.text for piece in new}


def test_ranks_and_published_models(shared: Path, tmp_path: Path) -> None:
    for name in ("llama2.sentencepiece.model", "cl100k_base.tiktoken"):
        path = tmp_path / name
        path.write_bytes((shared / "golden" / "published" / name).read_bytes())
        old, tokenizer, new = extended(path, LANGUAGES[12:] * 3, 30, others=LANGUAGES[:12])
        assert len(new) == 30
        assert tokenizer.encode_batch(LANGUAGES[:12]).to_lists() == old.encode_batch(LANGUAGES[:12]).to_lists()
    with pytest.raises(VocabularyError, match="x: the ranks were extended, so their special tokens' IDs would move"):
        editable(tokenizer, path, "x")
    path.write_bytes((shared / "golden" / "published" / name).read_bytes())
    with pytest.raises(VocabularyError, match=r"tiktoken's ranks contain no special tokens; use a tokenizer\.json"):
        extended(path, [], 0, tokens=["<2am>"])
    _, few = pruned(path, LANGUAGES)
    assert "it was pruned, so" in str(editable(few, path, "x").fixed_ids_reason)
    assert pruned(path, LANGUAGES[:6])[1].pieces[-1] == "<|endofprompt|>"


def test_merges_are_those_of_training_if_symbols_are_bytes() -> None:
    vocabulary = ByteBPETokenizer.train(LANGUAGES, 340).vocabulary
    texts = [*vocabulary.tokens[:258]]
    ids = {text: number for number, text in enumerate(texts) if text}
    words = columns(ByteBPETokenizer(vocabulary), LANGUAGES)
    rows = Ragged.from_lists([[ids[bytes([byte])] for byte in word.encode()] for word in words.texts.strings()])
    learned = bpe_learn_merges(texts, *rows.contiguous(), words.counts, [], 82, 0, 1)
    assert learned.reshape(-1, 3).tolist() == vocabulary.merges.tolist()
    never = [vocabulary.tokens[258]]
    assert bpe_learn_merges(texts, *rows.contiguous(), words.counts, never, 1, 0, 1).tolist() != learned[:3].tolist()
    for wrong in ((texts[:9], *rows.contiguous(), words.counts), (texts, *rows.contiguous(), -words.counts)):
        with pytest.raises(ValueError, match=r"a word has an unknown symbol|counts must be 1 or more"):
            bpe_learn_merges(*wrong, [], 1, 0, 1)
    with pytest.raises(ValueError, match="a symbol is too large"):
        bpe_last_merges(np.array([1 << 21], np.int32), np.array([0, 1]), np.zeros(1, np.int64), np.zeros(0, np.int32))


def test_unknown_characters_make_a_language_less_known(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(model(tmp_path))
    rates = [piece_rate(tokenizer, columns(tokenizer, lines), 1) for lines in (["the slow"], ["今天天气 很好"])]
    assert rates[0] < 1
    assert rates[1] == 4  # four pieces, and six unknown characters, of seven characters


def test_ids_with_gaps_are_refused(tmp_path: Path) -> None:
    path = byte_file(tmp_path)
    file = json.loads(path.read_bytes())
    file["model"]["ignore_merges"] = True
    file["added_tokens"] += added([("<x>", len(file["model"]["vocab"]))], special=False)
    path.write_text(json.dumps(file))
    with pytest.raises(VocabularyError, match=r"the added token '<x>' is not in model\.vocab, and with ignore_me"):
        extended(path, NEW, 5)


def test_characters_of_the_other_languages_keep_their_pieces(tmp_path: Path) -> None:
    old, new, pieces = extended(byte_file(tmp_path), ["ọ’ọ … ọjọ́"] * 9, 9, others=[*OLD, "it’s slow"])
    text = [*OLD, "it’s the wood’s"]
    assert new.encode_batch(text).to_lists() == old.encode_batch(text).to_lists()
    assert "â̦" not in {piece.text for piece in pieces}
    old, new, pieces = extended(model(tmp_path, byte_fallback=True, size=340), ["ọ’ọ"] * 9, 9, others=["it’s slow"])
    assert [piece.text for piece in pieces][:1] == ["ọ"]
    assert new.encode("it’s") == old.encode("it’s")
    _, _, pieces = extended(model(tmp_path), ["ọ’ọ"] * 9, 9, others=["it’s slow"])
    assert {piece.text for piece in pieces} >= {"ọ", "’"}  # an unknown character is known afterwards
