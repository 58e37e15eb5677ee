"""Learns new pieces of a vocabulary from text as the old pieces segment it.

Characters without a piece come first. Then the most frequent pairs of neighboring pieces are merged, as in BPE training
(Sennrich et al. 2016). In a unigram model, a merge becomes a piece whose score is the sum of the two scores and a
margin, so that the best segmentation (Kudo 2018) takes it just where it had the two pieces. In either kind, a word
changes only where two such pieces were neighbors. Pairs that are neighbors in words of the other languages are not
merged.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from _nmt_prep_core import bpe_learn_merges

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.config.vocab import ExtendSettings
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


@dataclass(frozen=True)
class Learning:
    """Learns new pieces of a vocabulary from words; ``known`` are the words of other languages, whose pieces stay."""

    vocabulary: EditableVocabulary
    tokenizer: Tokenizer
    words: CountColumns
    known: CountColumns
    threads: int = 1

    def pieces(self, options: ExtendSettings, loaded: Callable[[Sequence[NewPiece]], Tokenizer]) -> list[NewPiece]:
        """Returns special tokens to add, and further pieces.

        Args:
            loaded: returns the vocabulary's tokenizer with new pieces.
        """
        tokens = [NewPiece(token, _starts(self.tokenizer, token), special=True) for token in options.tokens]
        new = self._characters(options.size) if options.characters and options.size else []
        current = loaded([*tokens, *new]) if tokens or new else self.tokenizer
        # A character that normalization changes would never be found.
        if lacking := {*current.uncovered([piece.text for piece in new])}:
            new = [piece for piece in new if piece.text not in lacking]
            current = loaded([*tokens, *new])
        new = [*tokens, *new]
        wanted = options.size - (len(new) - len(tokens))
        return new + (self._merged(current, new, wanted) if wanted > 0 and len(self.words.counts) else [])

    def _most_changed(self, size: int) -> float:
        """Returns how often a new piece may occur in words of other languages."""
        return _CHANGED * int(self.known.counts.sum()) / size

    def _characters(self, size: int) -> list[NewPiece]:
        """Returns pieces for characters; other languages keep the pieces that spell theirs, but not unknown ones."""
        tokenizer, most = self.tokenizer, self._most_changed(size)
        seen = [each for each in _character_counts(self.words) if each.isprintable() and not each.isspace()]
        stay = {character for character, count in _character_counts(self.known).items() if count > most}
        if not isinstance(tokenizer, ByteBPETokenizer):
            scores = self.vocabulary.scores
            score = 0.0 if scores is None else float(scores[self.vocabulary.lowest or 0])
            pieces = (NewPiece(text, _starts(tokenizer, text), score=score) for text in tokenizer.uncovered(seen))
            return [piece for piece in pieces if piece.text not in stay or tokenizer.unk_id in piece.starts][:size]
        new: dict[str, NewPiece] = {}
        names, listed = tokenizer.pieces, frozenset(tokenizer.pieces)
        begun = {spelled(character.encode()[:end]) for character in stay for end in (2, 3, 4)}
        for row in tokenizer.encode_pretokens(TextColumn.from_strings(seen), 1).to_lists():
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

    def _merged(self, tokenizer: Tokenizer, new: Sequence[NewPiece], size: int) -> list[NewPiece]:
        """Returns pieces that are merges of other pieces, given the tokenizer with the new pieces so far."""
        texts, mergeable = [*map(str.encode, tokenizer.pieces)], np.array([*map(_is_word, tokenizer.pieces)], np.bool_)
        if isinstance(tokenizer, ByteBPETokenizer):
            texts, mergeable = [*tokenizer.vocabulary.tokens], np.ones(len(texts), np.bool_)
        rows, counts = _segmented(_ids(tokenizer, self.words.texts, self.threads), self.words.counts, mergeable)
        known = _segmented(_ids(tokenizer, self.known.texts, self.threads), self.known.counts, mergeable)
        never = [*({*texts} | _neighbours(*known, texts, self._most_changed(size)) - {b""})]
        merges = bpe_learn_merges(texts, *rows.contiguous(), counts, never, size, _LEAST, self.threads)
        old = self.tokenizer.pieces
        scores = np.zeros(len(old)) if self.vocabulary.scores is None else self.vocabulary.scores
        listed = (NewPiece(old[at], (at,), score=score) for at, score in enumerate(scores.tolist()))
        known_as = dict(enumerate([*listed, *new]))
        made: dict[str, NewPiece] = {}
        for left, right, merged in merges.reshape(-1, 3).tolist():
            one, two = known_as[left], known_as[right]
            score = one.score + two.score + _MARGIN
            piece = NewPiece(one.text + two.text, one.starts + two.starts, (one.text, two.text), score)
            known_as[merged] = made.setdefault(piece.text, piece)  # two ways to one text make one piece
        return [*made.values()]


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


def _is_word(piece: str) -> bool:
    """Returns True for a piece that consists of letters, perhaps at the beginning of a word."""
    text = piece.removeprefix(SPACE)
    return text != "" and all(unicodedata.category(character)[0] in "LM" for character in text)


def _segmented(
    rows: Ragged, counts: npt.NDArray[np.int64], mergeable: npt.NDArray[np.bool_]
) -> tuple[Ragged, npt.NDArray[np.int64]]:
    """Returns the IDs of words, divided at pieces that do not merge, and their counts."""
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    kept = mergeable[rows.values]
    breaks = np.append(True, (row[1:] != row[:-1]) | ~kept[:-1]) if len(row) else np.zeros(0, np.bool_)
    _, first, sizes = np.unique(np.cumsum(breaks)[kept], return_index=True, return_counts=True)
    return Ragged(rows.values[kept], np.cumsum([0, *sizes])), counts[row[kept][first]]


def _neighbours(rows: Ragged, counts: npt.NDArray[np.int64], texts: Sequence[bytes], most: float) -> set[bytes]:
    """Returns the texts of the neighboring pieces in words that occur more often than ``most``."""
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    pairs = np.flatnonzero(row[1:] == row[:-1])
    keys = rows.values[pairs].astype(np.int64) << 32 | rows.values[pairs + 1]
    found, places = np.unique(keys, return_inverse=True)
    frequent = found[np.bincount(places, counts[row[pairs]], len(found)) > most].tolist()
    return {texts[key >> 32] + texts[key & 0xFFFFFFFF] for key in frequent}
