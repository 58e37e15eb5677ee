"""Learns new pieces of a vocabulary from text as the old pieces segment it.

Characters without a piece come first. Further pieces are merges behind those of the vocabulary: pairs of neighboring
pieces, the most frequent first, as BPE training would go on (Sennrich et al. 2016). In a unigram model, a merge becomes
a piece whose score is the sum of the two scores and a margin, so that the best segmentation (Kudo 2018) takes it just
where it had the two pieces. In either kind, a word changes only where two such pieces were neighbors. Pairs that are
neighbors in words of the other languages are not merged.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from _nmt_prep_core import bpe_learn_merges

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.pretokenization import spelled
from nmt_prep.subwords.byte_bpe.training import PretokenCounts
from nmt_prep.subwords.dialect import CountColumns
from nmt_prep.subwords.resizing.editing import EditableVocabulary, NewPiece
from nmt_prep.subwords.tokenizer import Tokenizer
from nmt_prep.subwords.tokenizer_json import SPACE

_WORDS = r" ?[^\s]+|\s+"  # With punctuation, beside which a word may have other pieces than alone

_MARGIN = 0.01  # of a new unigram piece's score; larger than the rounding of score sums in long lines
_MOST_BYTES = 4  # of a character
_LEAST = 2  # occurrences of a pair to merge
# Share of the words of other languages that all merges together may change: less than the 0.1 % that is promised, since
# more changes are expected in words that were not seen.
_CHANGED = 0.0001


def word_counts(tokenizer: Tokenizer) -> PretokenCounts:
    """Returns empty counts of words, to learn from."""
    if isinstance(tokenizer, ByteBPETokenizer):
        return PretokenCounts(tokenizer.vocabulary.pretokenization, tokenizer.vocabulary.added)
    return PretokenCounts(_WORDS)


def learned_pieces(
    vocabulary: EditableVocabulary,
    tokenizer: Tokenizer,
    words: CountColumns,
    known: CountColumns,
    size: int,
    tokens: Sequence[str],
    loaded: Callable[[Sequence[NewPiece]], Tokenizer],
    *,
    characters: bool = True,
    threads: int = 1,
) -> list[NewPiece]:
    """Returns special tokens to add, and up to ``size`` further pieces.

    Args:
        words: the words to learn from.
        known: the words of other languages, whose pieces stay.
        loaded: returns the vocabulary's tokenizer with new pieces.
    """
    new = [NewPiece(token, _starts(tokenizer, token), special=True) for token in tokens]
    if characters and size:
        new += _character_pieces(vocabulary, tokenizer, words, known, size)
    current = loaded(new) if new else tokenizer
    # A character that normalization changes would never be found.
    lacking = {*current.uncovered([piece.text for piece in new[len(tokens) :]])}
    if lacking:
        new = [piece for piece in new if piece.special or piece.text not in lacking]
        current = loaded(new)
    wanted = size - (len(new) - len(tokens))
    if wanted > 0 and len(words.counts):
        new += _merged_pieces(vocabulary, tokenizer, current, new, words, known, wanted, threads)
    return new


def piece_rate(tokenizer: Tokenizer, words: CountColumns, threads: int) -> float:
    """Returns the piece count per character of words; an unknown character counts as four."""
    rows, counts = _ids(tokenizer, words.texts, threads), _character_counts(words)
    lacking = sum(counts[character] for character in tokenizer.uncovered([*counts]))
    return (int((rows.lengths * words.counts).sum()) + _MOST_BYTES * lacking) / max(sum(counts.values()), 1)


def _ids(tokenizer: Tokenizer, words: TextColumn, threads: int) -> Ragged:
    if isinstance(tokenizer, ByteBPETokenizer):
        return tokenizer.encode_pretokens(words, threads)
    return tokenizer.encode_batch(words.to_arrow(), threads)


def _character_counts(words: CountColumns) -> dict[str, int]:
    """Returns how often each character occurs, the most frequent first."""
    texts = words.texts.to_arrow()
    points = np.frombuffer("".join(texts.to_pylist()).encode("utf-32-le"), np.int32)
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False)
    counts = np.bincount(points, np.repeat(words.counts, lengths))
    listed = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    return {chr(point): int(counts[point]) for point in listed}


def _starts(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    [row] = tokenizer.encode_batch([text], 1).to_lists()
    return tuple(number for number in row if tokenizer.pieces[number] != SPACE)


def _characters(tokenizer: Tokenizer, words: CountColumns) -> list[str]:
    """Returns the characters in words that have no piece of their own, by descending frequency."""
    seen = [each for each in _character_counts(words) if each.isprintable() and not each.isspace()]
    if isinstance(tokenizer, ByteBPETokenizer):
        rows = tokenizer.encode_pretokens(TextColumn.from_strings(seen), 1)
        return [character for character, size in zip(seen, rows.lengths.tolist(), strict=True) if size > 1]
    return tokenizer.uncovered(seen)


def _most_changed(words: npt.NDArray[np.int64], size: int) -> float:
    """Returns how often a new piece may occur in words of other languages."""
    return _CHANGED * int(words.sum()) / size


def _character_pieces(
    vocabulary: EditableVocabulary, tokenizer: Tokenizer, words: CountColumns, known: CountColumns, size: int
) -> list[NewPiece]:
    """Returns pieces for characters; other languages keep the pieces that spell theirs, unless these are unknown."""
    new: dict[str, NewPiece] = {}
    characters, most = _characters(tokenizer, words), _most_changed(known.counts, size)
    stay = {character for character, count in _character_counts(known).items() if count > most}
    if not isinstance(tokenizer, ByteBPETokenizer):
        score = 0.0 if vocabulary.scores is None else float(vocabulary.scores[vocabulary.lowest or 0])
        pieces = (NewPiece(text, _starts(tokenizer, text), score=score) for text in characters)
        return [piece for piece in pieces if piece.text not in stay or tokenizer.unk_id in piece.starts][:size]
    names, listed = tokenizer.pieces, frozenset(tokenizer.pieces)
    begun = {spelled(character.encode()[:end]) for character in stay for end in (2, 3, 4)}
    for row in tokenizer.encode_pretokens(TextColumn.from_strings(characters), 1).to_lists():
        parts: list[tuple[str, tuple[int, ...]]] = [(names[number], (number,)) for number in row]
        made: list[NewPiece] = []
        while len(parts) > 1:
            (left, first), (right, second), *rest = parts
            parts = [(left + right, first + second), *rest]
            if left + right not in new and left + right not in listed:
                made.append(NewPiece(left + right, first + second, (left, right)))
        if len(new) + len(made) > size:
            break
        if not any(piece.text in begun for piece in made):
            new |= {piece.text: piece for piece in made}
    return [*new.values()]


def _merged_pieces(
    vocabulary: EditableVocabulary,
    old: Tokenizer,
    tokenizer: Tokenizer,
    new: Sequence[NewPiece],
    words: CountColumns,
    known: CountColumns,
    size: int,
    threads: int,
) -> list[NewPiece]:
    """Returns pieces that are merges of other pieces, given the tokenizer with the new pieces so far."""
    is_bytes = isinstance(tokenizer, ByteBPETokenizer)
    pieces = tokenizer.pieces
    texts = [*tokenizer.vocabulary.tokens] if isinstance(tokenizer, ByteBPETokenizer) else [p.encode() for p in pieces]
    mergeable = np.array([is_bytes or _is_word(piece) for piece in pieces], np.bool_)
    rows, counts = _segmented(tokenizer, words, mergeable, threads)
    forbidden = {text for text in texts if text}
    forbidden |= _neighbours(*_segmented(tokenizer, known, mergeable, threads), texts, size)
    merges = bpe_learn_merges(texts, *rows.contiguous(), counts, [*forbidden], size, _LEAST, threads).reshape(-1, 3)
    scores = np.zeros(len(old)) if vocabulary.scores is None else vocabulary.scores
    listed = zip(old.pieces, scores.tolist(), strict=True)
    known_as = dict(enumerate([*(NewPiece(text, (at,), score=score) for at, (text, score) in enumerate(listed)), *new]))
    made: dict[str, NewPiece] = {}
    for left, right, merged in merges.tolist():
        one, two = known_as[left], known_as[right]
        piece = NewPiece(
            one.text + two.text, one.starts + two.starts, (one.text, two.text), one.score + two.score + _MARGIN
        )
        known_as[merged] = made.setdefault(piece.text, piece)  # two ways to one text make one piece
    return [*made.values()]


def _is_word(piece: str) -> bool:
    """Returns True for a piece that consists of letters, perhaps at the beginning of a word."""
    text = piece.removeprefix(SPACE)
    return text != "" and all(unicodedata.category(character)[0] in "LM" for character in text)


def _segmented(
    tokenizer: Tokenizer, words: CountColumns, mergeable: npt.NDArray[np.bool_], threads: int
) -> tuple[Ragged, npt.NDArray[np.int64]]:
    """Returns the ids of words, divided at pieces that do not merge, and their counts."""
    rows = _ids(tokenizer, words.texts, threads)
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    kept = mergeable[rows.values]
    breaks = np.append(True, (row[1:] != row[:-1]) | ~kept[:-1]) if len(row) else np.zeros(0, np.bool_)
    group = np.cumsum(breaks)[kept]
    values = rows.values[kept]
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return Ragged(values, offsets), words.counts[row[kept][first]]


def _neighbours(rows: Ragged, counts: npt.NDArray[np.int64], texts: Sequence[bytes], size: int) -> set[bytes]:
    """Returns the texts of the neighboring pieces in words, without those that are rare enough to merge."""
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    pairs = np.flatnonzero(row[1:] == row[:-1])
    keys = rows.values[pairs].astype(np.int64) << 32 | rows.values[pairs + 1]
    found, places = np.unique(keys, return_inverse=True)
    totals = np.bincount(places, counts[row[pairs]], len(found))
    frequent = found[totals > _most_changed(counts, size)].tolist()
    return {texts[key >> 32] + texts[key & 0xFFFFFFFF] for key in frequent}
