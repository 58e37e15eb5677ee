"""The interface for output kinds, the tasks that write their shards, and the tasks' results.

To add a kind, add an options class to :mod:`nmt_prep.config.outputs`, write one module with an instance of an
:class:`Output` subclass, and list the instance in ``nmt_prep.training.outputs.KINDS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from nmt_prep.base.sides import Side
from nmt_prep.config import Config, Vocab
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.outputs import OutputOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords.facts import BuiltVocabulary
from nmt_prep.training.outputs.output_files import OutputFile
from nmt_prep.training.outputs.output_pairs import EncodedPairs, IdBatch, IdPairs, TextBatch, TextPairs
from nmt_prep.training.records.record_columns import Column

Options = TypeVar("Options", bound=OutputOptions)
Batch = TypeVar("Batch", IdBatch, TextBatch)

Form: TypeAlias = Literal["ids", "text", "linked_text", "linked_tsv", "linked_pieces", "preference"]
"""The form in which an output gets its pairs: the IDs of the records, or the text before encoding.

The linked forms add piece links, for splits with links: ``linked_text`` is text, ``linked_tsv`` text for a trainer
whose lines have tabs replaced by spaces, and ``linked_pieces`` piece lines. ``preference`` is text, with rejected
translations in place of links.
"""


@dataclass(frozen=True)
class RunFacts:
    """The metadata of a run that outputs need."""

    name: str  # the data set
    seed: int
    languages: Mapping[Side, str]
    shared: bool  # True if both sides share one vocabulary
    vocabularies: Mapping[Side, BuiltVocabulary]
    frames: Mapping[Side, str]  # `vocab.frame` by side, for sides that have one
    corpora: Mapping[str, Sequence[str]]  # corpus names by split, in index order
    licences: Mapping[str, str]  # the licenses that the config states, by corpus
    fingerprint: str  # of the stage
    records: Path
    weighted: bool = False  # True if the pairs have weights
    causal: bool = False  # True if the records hold causal language model rows
    # language pair of each corpus by split, in index order; empty in a run with one language pair
    pairs: Mapping[str, Sequence[LanguagePair]] = field(default_factory=dict)

    @property
    def segments(self) -> bool:
        """True if piece lines can have text that no piece covers, in vocabularies without other frames."""
        kinds = {built.facts.kind for built in self.vocabularies.values()}
        return not self.frames and kinds <= {"subword_nmt", "sentencepiece"}

    def pairs_of(self, split: str) -> Sequence[LanguagePair]:
        """Returns each corpus's language pair in a split."""
        one = LanguagePair(self.languages["source"], self.languages["target"])
        return self.pairs.get(split) or [one] * len(self.corpora[split])

    @property
    def codes(self) -> Mapping[Side, str]:
        """Names of the sides in files: their languages, or source and target if the languages are equal or several."""
        source, target = self.languages["source"], self.languages["target"]
        return self.languages if source != target and not self.pairs else {"source": "source", "target": "target"}


@dataclass(frozen=True)
class ShardTask(Generic[Options]):
    """A shard of an output to write; plain data for any worker."""

    key: str  # name of the task
    options: Options
    run: RunFacts
    split: str
    shard: int  # index of the shard
    shards: int  # shard count of the split
    count: int  # pairs of the shard
    pairs: IdPairs | TextPairs  # the pairs, in the output's form
    directory: Path  # of the output
    scratch: Path  # prefix of files that only :meth:`Output.finish` reads
    weights: tuple[tuple[Path, int], ...] = ()  # the split's weight files, and their pair counts
    start: int = 0  # index of the first pair in the split
    glossary: Path | None = None  # the terms for prompts
    pools: tuple[
        Path | None, ...
    ] = ()  # for each corpus, the file of the pairs that examples in prompts are drawn from

    def id_batches(self, tick: Tick) -> Iterator[IdBatch]:
        """Yields the pairs to write as IDs, with their weights. Ticks are pairs that were read."""
        assert isinstance(self.pairs, IdPairs)
        return self._kept(self.pairs.batches(), tick)

    def text_batches(self, tick: Tick) -> Iterator[TextBatch]:
        """Yields the pairs to write as text, with their weights. Ticks are pairs that were read."""
        assert isinstance(self.pairs, TextPairs)
        return self._kept(self.pairs.batches(self.directory / self.label), tick)

    def _kept(self, batches: Iterator[Batch], tick: Tick) -> Iterator[Batch]:
        first = self.start
        for batch in batches:
            kept, pairs = batch, len(batch)
            if self.weights and batch.weights is None:
                kept = replace(kept, weights=Column(self.weights, "weight").values(first, first + pairs))
            first += pairs
            yield kept
            tick(pairs)

    def sequences(self) -> int:
        """Returns the pair count to write, for a file that begins with it; pairs of IDs only."""
        if type(self.pairs) in (IdPairs, EncodedPairs):
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
    """A written shard."""

    pairs: int
    files: tuple[OutputFile, ...]
    counts: dict[str, int]  # further numbers, which are summed over shards
    scratch: tuple[str, ...] = ()  # files that only :meth:`Output.finish` reads


@dataclass(frozen=True)
class Made(Generic[Options]):
    """An output whose shards are all written; ``shards`` has each split's shards, in order."""

    options: Options
    run: RunFacts
    directory: Path
    shards: Mapping[str, Sequence[ShardMade]]

    def pairs(self, split: str) -> int:
        """Returns a split's pair count."""
        return sum(shard.pairs for shard in self.shards[split])


class Output(ABC, Generic[Options]):
    """A kind of output."""

    kind: ClassVar[str]  # the value of `kind` in a config
    holds_rows: ClassVar[bool] = False  # True if the files can contain causal language model rows
    holds_corpus: ClassVar[bool] = False  # True if the files can contain the name of each pair's corpus

    @abstractmethod
    def form(self, options: Options, config: Config) -> Form:
        """Returns the form in which shards get their pairs."""

    def tagged(self, options: Options) -> bool:
        """Returns true if text begins with its corpus's tags."""
        return bool(getattr(options, "tags", True))

    def shards(self, options: Options, config: Config, split: str) -> int:
        """Returns a split's shard count."""
        return options.shards.get(split, config.shards(split))

    def problems(self, options: Options, config: Config) -> Iterator[tuple[str, str]]:
        """Yields the output's conflicts with a config, except for the vocabularies: a key and the problem."""
        return iter(())

    def vocab_problems(self, options: Options, vocab: Vocab) -> Iterator[tuple[str, str]]:
        """Yields the output's conflicts with the vocabularies: a key in its options, and the problem."""
        return iter(())

    def check(self, options: Options, run: RunFacts) -> None:
        """Checks the output against a run's vocabularies and frames, before text is encoded.

        Raises:
            VocabularyError: the output cannot hold the IDs or pieces of a vocabulary or a frame.
        """

    @abstractmethod
    def write(self, task: ShardTask[Options], tick: Tick) -> ShardMade:
        """Writes a shard's files. Ticks are pairs.

        Raises:
            RecordsError: the records cannot be read.
            OutputError: a file cannot be written.
        """

    def finish(self, made: Made[Options]) -> None:
        """Writes the remaining files: vocabularies, dictionaries, cards.

        Raises:
            VocabularyError: a vocabulary cannot be written in the output's format.
            OutputError: a file cannot be written.
        """
