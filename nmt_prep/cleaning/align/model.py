"""Word alignment models, which link the words in pairs and score pairs; their files.

:mod:`nmt_prep.cleaning.align.learning` trains models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import ALIGN_JUMPS, LexicalTable, LinkEvidence, NativeAligner, NumberedPairs

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.links import SYMMETRIZATIONS, Links, Symmetrization
from nmt_prep.cleaning.align.model_files import Arrays, damaged, read_arrays, shared, write_arrays
from nmt_prep.cleaning.align.settings import Settings, rounds
from nmt_prep.cleaning.align.word_vocabulary import Integers, Vocabulary, words_of

Scores: TypeAlias = "npt.NDArray[np.float64]"
Weights: TypeAlias = "npt.NDArray[np.float32]"
WordNumbers: TypeAlias = "tuple[npt.NDArray[np.int32], Integers, npt.NDArray[np.int32], Integers]"
"""The source side's word IDs, the pairs' offsets in them, and the same for the target side."""

_NO_LINK = 0.3  # Probability that a word has no link, whatever the word

_UNSEEN = 0.03
"""Probability of a word given another word, if the table lacks the pair, as a multiple of the word's share in the
text."""

_STEEPNESS = 2.0  # Slope by which the logarithm of a link's weight falls with its distance from the diagonal

_PSEUDO_COUNT = 2.0
"""Count that scoring adds to each word, spread over the words of the other side by their shares. It makes words with
few counts weak evidence, and words without counts no evidence."""

_MIXED = 1e-3  # Least probability of a word in a pair, as a multiple of its share in the text
_LEAST_VALUE = -3.0  # Least value of a word in the score of a pair


SCORE_OPTIONS = (_PSEUDO_COUNT, _MIXED, _LEAST_VALUE)  # Options of the native functions that compute values of words

_DTYPES = {
    **{f"{side}.hashes": "<u8" for side in SIDES},
    **{f"{side}.counts": "<i8" for side in SIDES},
    "first": "<i8",
    "slots": "|u1",
    "forward": "<f4",
    "backward": "<f4",
    "evidence": "<i8",
}
"""Types of a model's arrays."""

CLASSIFIER = "adequacy"  # Name of a classifier's metadata in a model file, and prefix of its array names

TREE_DTYPES = {"features": "<i4", "bounds": "<f8", "children": "<i4", "values": "<f8", "roots": "<i4"}
_CLASSIFIER_DTYPES = {
    **{f"{CLASSIFIER}.{side}.sums": "<i8" for side in SIDES},
    **{f"{CLASSIFIER}.{forest}.{name}": dtype for forest in (0, 1) for name, dtype in TREE_DTYPES.items()},
}
"""Types of a classifier's arrays; see :mod:`nmt_prep.cleaning.adequacy.classifier`."""


def first_jumps() -> Weights:
    """Returns the initial weights of jumps, with which a step to the next word is the most probable."""
    half = ALIGN_JUMPS // 2
    near = [0.5 ** abs(width - 1) for width in range(-half, half + 1)]
    return np.array([*near, min(near) / 2], np.float32)


@dataclass(frozen=True)
class Lexicon:
    """The lexical table, and the weights of jumps."""

    table: LexicalTable  # pairs of words with their probabilities
    # jump weights of target words within the source side, from the longest jump back to the longest jump ahead,
    # then the weight of any longer jump: float32, shape `[ALIGN_JUMPS + 1]`
    forward: Weights
    backward: Weights  # jump weights of source words within the target side


@dataclass(frozen=True)
class Model:
    """A model, finished or in training."""

    settings: Settings
    rounds_done: int = 0
    vocabularies: tuple[Vocabulary, ...] = ()  # the known words of source and target; none before the first round
    share: float = 1.0  # share of pairs in the sample from which the lexical table is made
    lexicon: Lexicon | None = None  # None before the second round
    # link counts in the order of the table's slots: int64. A finished model has the counts of the text; a model in
    # training has what is known beforehand: half a link for each pair of equal words, and the counts of the prior
    evidence: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    prior: Model | None = None  # the model from which training starts, until the round that uses it

    @classmethod
    def start(cls, settings: Settings, prior: Model | None = None) -> Model:
        """Returns a model before its first round; a finished prior's counts are added to the text's counts."""
        if prior is not None:
            if not prior.finished:
                raise AlignmentModelError("the prior is a model that is not finished; finish its training first")
            ours, theirs = (settings.pretokenized, settings.stem), (prior.settings.pretokenized, prior.settings.stem)
            if ours != theirs:
                raise AlignmentModelError(
                    "the prior divides lines into other words (pretokenized, stem): "
                    f"{theirs[0]}, {theirs[1]}, not {ours[0]}, {ours[1]}; use the same settings"
                )
        return cls(settings, prior=prior)

    @property
    def round(self) -> str | None:
        """Name of the next training round, or None for a finished model."""
        names = rounds(self.settings)
        return names[self.rounds_done] if self.rounds_done < len(names) else None

    @property
    def finished(self) -> bool:
        """True if the training is complete."""
        return self.round is None

    def numbers(self, source: TextColumn, target: TextColumn, threads: int = 1) -> WordNumbers:
        """Returns the word IDs of pairs."""
        if not self.vocabularies:
            raise ValueError("the model has not counted words yet")
        columns = zip(self.vocabularies, (source, target), strict=True)
        first, second = (vocabulary.numbers(lines, self.settings, threads) for vocabulary, lines in columns)
        return *first, *second

    def numbered(self, source: TextColumn, target: TextColumn, threads: int = 1) -> NumberedPairs:
        """Returns pairs as word IDs, for :meth:`align_numbered` and :meth:`score_numbered`."""
        return NumberedPairs(*self.numbers(source, target, threads))

    def known(self, source: TextColumn, target: TextColumn, threads: int = 1) -> tuple[float, float]:
        """Returns the share of each side's words that the model knows, or 1.0 for a side without words."""
        numbers = self.numbers(source, target, threads)[::2]
        first, second = (float(np.count_nonzero(words)) / len(words) if len(words) else 1.0 for words in numbers)
        return first, second

    def align(
        self,
        source: TextColumn,
        target: TextColumn,
        symmetrize: Symmetrization = "grow-diag-final-and",
        threads: int = 1,
    ) -> Links:
        """Links the words of pairs.

        Args:
            symmetrize: how to join the links of both directions.
            threads: thread count; it does not change the result.

        Raises:
            InvalidTextError: a line is not UTF-8.
            ValueError: the sides have different numbers of lines.
        """
        return self.align_numbered(self.numbered(source, target, threads), symmetrize, threads)

    def align_numbered(
        self, pairs: NumberedPairs, symmetrize: Symmetrization = "grow-diag-final-and", threads: int = 1
    ) -> Links:
        """Links the words of numbered pairs; see :meth:`align`."""
        links, offsets, too_long = self.aligner.link(pairs, SYMMETRIZATIONS.index(symmetrize), threads)
        return Links(links.reshape(-1, 2), offsets, too_long)

    def score(self, source: TextColumn, target: TextColumn, copies: Integers | int = 0, threads: int = 1) -> Scores:
        """Returns a score for each pair, which is higher the better the sides translate each other.

        The score is the sum over both directions; each direction adds the mean of log(p(word | other side) / p(word))
        over words.

        Args:
            copies: for each pair the number of equal pairs in the training text, itself included, whose counts are left
                out: int64, shape ``[pairs]``, or one number for all pairs; 0 for text that is new to the model.
            threads: thread count; it does not change the result.

        Returns:
            float64, shape ``[pairs]``; higher is better; NaN for pairs with a side without words.

        Raises:
            InvalidTextError: a line is not UTF-8.
            ValueError: the sides have different numbers of lines.
        """
        return self.score_numbered(self.numbered(source, target, threads), copies, threads)

    def score_numbered(self, pairs: NumberedPairs, copies: Integers | int = 0, threads: int = 1) -> Scores:
        """Scores numbered pairs; see :meth:`score`."""
        if not self.finished:
            raise ValueError(f"the model needs its round {self.round} before it can score pairs")
        if isinstance(copies, int):
            copies = np.full(len(pairs), copies, np.int64)
        return self.aligner.score(pairs, self.links, copies, *SCORE_OPTIONS, threads)

    @cached_property
    def aligner(self) -> NativeAligner:
        """The native view of the model. Requires a lexicon."""
        assert self.lexicon is not None
        source, target = (vocabulary.shares for vocabulary in self.vocabularies)
        lexicon = self.lexicon
        return NativeAligner(
            lexicon.table, source, target, lexicon.forward, lexicon.backward, _NO_LINK, _UNSEEN, _STEEPNESS
        )

    @cached_property
    def links(self) -> LinkEvidence:
        """Native view of the link counts. Requires a lexicon."""
        assert self.lexicon is not None
        return LinkEvidence(self.lexicon.table, self.evidence)

    def save(self, path: Path, classifier: tuple[dict[str, Any], Arrays] | None = None) -> None:
        """Writes a finished model to a file. The same model gives the same bytes.

        Args:
            classifier: metadata and arrays of a classifier to store with the model, named without the prefix
                :data:`CLASSIFIER`; None for no classifier.

        Raises:
            OutputError: the file cannot be written.
        """
        assert self.lexicon is not None
        facts: dict[str, Any] = {
            "settings": asdict(self.settings),
            "rounds_done": self.rounds_done,
            "share": self.share,
        }
        arrays: dict[str, npt.NDArray[Any]] = {}
        for side, vocabulary in zip(SIDES, self.vocabularies, strict=True):
            arrays |= {f"{side}.hashes": vocabulary.hashes, f"{side}.counts": vocabulary.counts}
        table = self.lexicon.table
        arrays |= {"first": table.first(), "slots": table.slots()}
        arrays |= {"forward": self.lexicon.forward, "backward": self.lexicon.backward, "evidence": self.evidence}
        if classifier is not None:
            more, more_arrays = classifier
            facts |= {CLASSIFIER: more}
            arrays |= {f"{CLASSIFIER}.{name}": array for name, array in more_arrays.items()}
        write_arrays(path, "model", facts, arrays)

    @classmethod
    def load(cls, path: Path) -> Model:
        """Reads a model.

        Raises:
            AlignmentModelError: the file is not a model, or is damaged.
            OSError: the file cannot be read.
        """
        return cls.load_with_classifier(path)[0]

    @classmethod
    def load_with_classifier(cls, path: Path) -> tuple[Model, tuple[Any, dict[str, npt.NDArray[Any]]] | None]:
        """Reads a model, and the unchecked metadata and arrays of its classifier if it has one."""
        facts, arrays = read_arrays(path, "model", _DTYPES | _CLASSIFIER_DTYPES)
        more = {name: arrays.pop(name) for name in _CLASSIFIER_DTYPES.keys() & arrays.keys()}
        classifier = None
        if CLASSIFIER in facts:
            classifier = facts.pop(CLASSIFIER), {name.removeprefix(f"{CLASSIFIER}."): more[name] for name in more}
        try:
            return _restored(facts, arrays), classifier
        except KeyError as error:
            raise damaged(path, f"it lacks {error}") from error
        except ValueError as error:
            raise damaged(path, error) from error


def _restored(facts: object, arrays: Mapping[str, npt.NDArray[Any]]) -> Model:
    """Returns the model in a file; checks everything that its use relies on."""
    match facts:
        case {"settings": stored, "rounds_done": int(done), "share": float(share), **others} if (
            not others and 0 < share <= 1
        ):
            settings = Settings.restored(stored)
        case _:
            raise ValueError(f"its settings are {facts!r}")
    if done != len(rounds(settings)):
        raise ValueError(f"it has had {done} rounds of training")
    source, target = (Vocabulary.restored(arrays[f"{side}.hashes"], arrays[f"{side}.counts"]) for side in SIDES)
    table = LexicalTable.restored(arrays["first"], arrays["slots"], len(target))
    table.check_counts(arrays["evidence"])
    lexicon = Lexicon(table, arrays["forward"], arrays["backward"])
    model = Model(settings, done, (source, target), share, lexicon, arrays["evidence"])
    _ = model.aligner  # checks the weights
    return model


LEAST_KNOWN = 0.4  # Minimum share of a side's words that a model must know

_LEAST_WORDS = 10
"""Minimum number of words on a side from which to score whether a model suits a text; a few names may all be
unknown."""

shared_model = shared(Model.load)  # Returns the model in a file; see `shared`


def model_at(key: str, path: Path) -> Model:
    """Returns the model that a config names, with the key in errors."""
    try:
        return shared_model(path)
    except AlignmentModelError as error:
        raise AlignmentModelError(f"{key}: {error}") from error


def tells(model: Model, source: TextColumn, target: TextColumn) -> bool:
    """Returns true if lines have enough words on both sides to judge whether a model suits them."""
    pretokenized = model.settings.pretokenized
    return all(len(words_of(lines, pretokenized=pretokenized).begins) >= _LEAST_WORDS for lines in (source, target))


def check_known(model: Model, path: Path, source: TextColumn, target: TextColumn) -> None:
    """Checks that a model knows a text's words, unless these are few; messages name the file ``path``."""
    if not tells(model, source, target):
        return
    for side, known in zip(SIDES, model.known(source, target), strict=True):
        if known < LEAST_KNOWN:
            raise AlignmentModelError(
                f"the model covers {known:.0%} of the {side} words of {path}; it was learned from other languages, the "
                "other direction or other text: use a model for this text, or learn one"
            )
