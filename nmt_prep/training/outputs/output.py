"""The interface of a kind of output, the tasks that write its shards, and their results.

To add a kind, add a class of options to :mod:`nmt_prep.config.outputs`, write one module with an instance of a subclass
of :class:`Output`, and list the instance in ``nmt_prep.training.outputs.KINDS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from nmt_prep.base.sides import Side
from nmt_prep.config import Config, Vocab
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.outputs import OutputOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords.facts import BuiltVocabulary
from nmt_prep.training.outputs.output_files import OutputFile
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch, TextPairs
from nmt_prep.training.records.record_columns import Column

Options = TypeVar("Options", bound=OutputOptions)
Batch = TypeVar("Batch", IdBatch, TextBatch)

Form: TypeAlias = Literal["ids", "text", "linked_text", "linked_tsv", "linked_pieces"]
"""The form in which an output gets its pairs: the ids of the records, or the text before encoding.

The linked forms add piece links, for splits with links: ``linked_text`` is text, ``linked_tsv`` text for a trainer
whose lines have tabs replaced by spaces, and ``linked_pieces`` lines of pieces.
"""


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run that outputs need.

    Attributes:
        name: name of the data set.
        seed: seed of the config.
        languages: languages of the two sides.
        shared: True if both sides share one vocabulary.
        vocabularies: vocabulary of each side.
        frames: text of ``vocab.frame`` by side, for sides that have one.
        corpora: names of the corpora of each split, in the order of their numbers.
        licences: the licences that the config states, by name of the corpus.
        fingerprint: fingerprint of the stage.
        records: directory of the records.
        weighted: True if the pairs have weights.
        pairs: the languages of each corpus by split, in the order of the corpora's numbers; empty for one language
            pair.
    """

    name: str
    seed: int
    languages: Mapping[Side, str]
    shared: bool
    vocabularies: Mapping[Side, BuiltVocabulary]
    frames: Mapping[Side, str]
    corpora: Mapping[str, Sequence[str]]
    licences: Mapping[str, str]
    fingerprint: str
    records: Path
    weighted: bool = False
    pairs: Mapping[str, Sequence[LanguagePair]] = field(default_factory=dict)

    def pairs_of(self, split: str) -> Sequence[LanguagePair]:
        """Returns the languages of the corpora of a split, in the order of their numbers."""
        one = LanguagePair(self.languages["source"], self.languages["target"])
        return self.pairs.get(split) or [one] * len(self.corpora[split])

    @property
    def codes(self) -> Mapping[Side, str]:
        """Names of the sides in files: their languages, or source and target if the languages are equal or several."""
        source, target = self.languages["source"], self.languages["target"]
        return self.languages if source != target and not self.pairs else {"source": "source", "target": "target"}


@dataclass(frozen=True)
class ShardTask(Generic[Options]):
    """A shard of an output to write; plain data for any worker.

    Attributes:
        key: name of the task.
        options: options of the output.
        run: facts of the run.
        split: name of the split.
        shard: number of the shard.
        shards: number of shards of the split.
        count: number of pairs of the shard.
        pairs: the pairs, in the output's form.
        weights: each file of weights of the split, with its number of pairs; empty if there are no weights.
        start: number of the first pair in the split.
        left_out: numbers of the corpora whose pairs are left out, since one of their sides is a placeholder.
        directory: directory of the output.
        scratch: prefix of the paths of files that only :meth:`Output.finish` reads.
    """

    key: str
    options: Options
    run: RunFacts
    split: str
    shard: int
    shards: int
    count: int
    pairs: IdPairs | TextPairs
    directory: Path
    scratch: Path
    weights: tuple[tuple[Path, int], ...] = ()
    start: int = 0
    left_out: tuple[int, ...] = ()

    def id_batches(self, tick: Tick) -> Iterator[IdBatch]:
        """Yields the pairs to write as ids, with their weights. Ticks are pairs that were read.

        Raises:
            RecordsError: the records cannot be read.
        """
        assert isinstance(self.pairs, IdPairs)
        return self._kept(self.pairs.batches(), tick)

    def text_batches(self, tick: Tick) -> Iterator[TextBatch]:
        """Yields the pairs to write as text, with their weights. Ticks are pairs that were read.

        Raises:
            RecordsError: the text or the weights cannot be read.
        """
        assert isinstance(self.pairs, TextPairs)
        return self._kept(self.pairs.batches(self.directory / self.label), tick)

    def _kept(self, batches: Iterator[Batch], tick: Tick) -> Iterator[Batch]:
        first = self.start
        for batch in batches:
            kept, pairs = batch, len(batch)
            if self.weights and batch.weights is None:
                kept = replace(kept, weights=Column(self.weights, "weight").values(first, first + pairs))
            if self.left_out:
                kept = kept.taken(np.flatnonzero(~np.isin(batch.corpora, self.left_out)))
            first += pairs
            yield kept
            tick(pairs)

    def sequences(self) -> int:
        """Returns the number of pairs to write, for a file that begins with it; pairs of ids only."""
        if type(self.pairs) is IdPairs and not self.left_out:
            return self.count
        return sum(map(len, self.id_batches(lambda pairs: None)))

    @property
    def label(self) -> str:
        """The usual start of the shard's file names: ``train-00000-of-00004``."""
        return f"{self.split}-{self.shard:05d}-of-{self.shards:05d}"

    def scratch_path(self, name: str) -> Path:
        """Returns the path of a file that only :meth:`Output.finish` reads."""
        return self.scratch.with_name(f"{self.scratch.name}-{self.split}-{self.shard:05d}-{name}")


@dataclass(frozen=True)
class ShardMade:
    """A written shard.

    Attributes:
        pairs: number of pairs.
        files: files of the shard.
        counts: further numbers, which are summed over shards.
        scratch: paths of files that only :meth:`Output.finish` reads.
    """

    pairs: int
    files: tuple[OutputFile, ...]
    counts: dict[str, int]
    scratch: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made(Generic[Options]):
    """An output whose shards are all written.

    Attributes:
        options: options of the output.
        run: facts of the run.
        directory: directory of the output.
        shards: the shards of each split, in order.
    """

    options: Options
    run: RunFacts
    directory: Path
    shards: Mapping[str, Sequence[ShardMade]]

    def pairs(self, split: str) -> int:
        """Returns the number of pairs of a split."""
        return sum(shard.pairs for shard in self.shards[split])


class Output(ABC, Generic[Options]):
    """A kind of output.

    Attributes:
        kind: name of the kind: the value of ``kind`` in a config.
        holds_corpus: True if the files can contain the name of each pair's corpus.
    """

    kind: ClassVar[str]
    holds_corpus: ClassVar[bool] = False

    @abstractmethod
    def form(self, options: Options, config: Config) -> Form:
        """Returns the form in which shards get their pairs."""

    def tagged(self, options: Options) -> bool:
        """Returns true if text begins with the tags of its corpus."""
        return bool(getattr(options, "tags", True))

    def shards(self, options: Options, config: Config, split: str) -> int:
        """Returns the number of shards of a split."""
        return options.shards.get(split, config.shards(split))

    def problems(self, options: Options, config: Config) -> Iterator[tuple[str, str]]:
        """Yields the conflicts of the output with a config, except for the vocabularies: a key and the problem."""
        return iter(())

    def vocab_problems(self, options: Options, vocab: Vocab) -> Iterator[tuple[str, str]]:
        """Yields the conflicts of the output with the vocabularies: a key of its options, and the problem."""
        return iter(())

    def check(self, options: Options, run: RunFacts) -> None:
        """Checks the output against the vocabularies and frames of a run, before text is encoded.

        Raises:
            VocabularyError: the output cannot hold the ids or pieces of a vocabulary or of a frame.
        """

    @abstractmethod
    def write(self, task: ShardTask[Options], tick: Tick) -> ShardMade:
        """Writes the files of a shard. Ticks are pairs.

        Raises:
            RecordsError: the records cannot be read.
            OutputError: a file cannot be written.
        """

    def finish(self, made: Made[Options]) -> None:
        """Writes the remaining files: vocabularies, dictionaries, cards.

        Raises:
            VocabularyError: a vocabulary cannot be written in the format of the output.
            OutputError: a file cannot be written.
        """
