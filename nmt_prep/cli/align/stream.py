"""Aligns pairs of lines from standard input: learns a model from them, or uses one, and writes links and scores."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import ALIGN_MOST_CELLS, ALIGN_MOST_WORDS, NumberedPairs, split_columns

from nmt_prep.base.artefacts import check_writable, output_file, writing
from nmt_prep.base.columns import TextColumn, joined_lines
from nmt_prep.base.errors import AlignmentModelError, CorpusError
from nmt_prep.base.progress import Progress
from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.learning import Counter, finished, updated
from nmt_prep.cleaning.align.links import Symmetrization, pharaoh_text
from nmt_prep.cleaning.align.model import LEAST_KNOWN, Model, Scores, tells
from nmt_prep.cleaning.align.settings import Settings, rounds
from nmt_prep.cleaning.align.word_vocabulary import Integers
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.align.spool import Spool, copies_of, text_columns
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.cli.text_stream import carriage_return_hint, input_blocks, name_of, write_text
from nmt_prep.text.blocks import Block

with delayed_imports():  # only for --adequacy
    from nmt_prep.cleaning import pair_sample
    from nmt_prep.cleaning.adequacy import classifier
    from nmt_prep.cleaning.adequacy import classifier_training as learning

_FEW_KNOWN = 0.75
"""Share of known words below which the command warns about the model. Text in a model's languages has 0.9 or more,
text in others 0.7 or less."""

_SEED = 1  # Seed of the classifier: a run with this seed learns the same classifier from the same model and pairs
_SMALL_VOCABULARY = 500  # If a model has fewer words on a side, low shares of known words give a warning, but no error


@dataclass(frozen=True)
class StreamOptions:
    """Options of the command."""

    model: Path | None  # the model to use; None to learn one from the input
    prior: Path | None  # a model to start from when learning; None to start from nothing
    save: Path | None  # file for the learned model
    scores: Path | None  # file for the scores
    adequacy: Path | None  # file for a classifier's values for incomplete translations
    symmetrize: Symmetrization
    settings: Settings  # settings of a model to learn; they also say whether only ASCII white space separates words
    threads: int | None


def align_stream(options: StreamOptions, console: SafeConsole, progress: Progress) -> None:
    """Writes links for the pairs of standard input to standard output, and their scores to a file."""
    threads = options.threads or available_cores()
    if options.save is not None:
        check_writable(options.save)
    with ExitStack() as stack:
        files = [
            None if path is None else stack.enter_context(output_file(path))
            for path in (options.scores, options.adequacy)
        ]
        writer = _Writer(options.symmetrize, threads, *files)
        if options.model is not None:
            if options.adequacy is not None:
                writer.classifier = classifier.load(options.model)
            _use(_loaded(options.model, options), writer, console, progress)
        else:
            _learn(options, threads, writer, progress)
    writer.report(console)


def _use(model: Model, writer: _Writer, console: SafeConsole, progress: Progress) -> None:
    """Aligns the input with a model, block by block."""
    with progress.meter("aligning", unit="pairs") as meter:
        for number, block in enumerate(input_blocks()):
            source, target = columns_of(block)
            if number == 0:
                _check_languages(model, source, target, writer.threads, console)
            writer.write(model, model.numbered(source, target, writer.threads), 0, (source, target))
            meter.advance(len(source))


def _learn(options: StreamOptions, threads: int, writer: _Writer, progress: Progress) -> None:
    """Learns a model from the input, then aligns it."""
    # Standard input can be read only once, but each round of learning reads all pairs. So the text goes to disk, and,
    # when the vocabulary is known after the last line, the word IDs. The text is needed again only for a classifier.
    # `copies` tells how often each pair taught the model, so that a pair's score can exclude its own counts.
    model = Model.start(options.settings, None if options.prior is None else _loaded(options.prior, options))
    with tempfile.TemporaryDirectory(prefix="nmt-prep-align-") as name:
        directory = Path(name)
        with progress.meter("reading", unit="pairs") as meter, Spool(directory / "text") as text:
            counter = Counter(model, threads)
            for block in input_blocks():
                source, target = columns_of(block)
                counter.add(source, target)
                text.write((source.data, source.offsets, target.data, target.offsets))
                meter.advance(len(source))
        judged = options.adequacy is not None
        if judged:
            _check_enough(text.rows)
        copies = copies_of(text) if judged or options.scores is not None else None
        model = updated(model, counter.counts(), threads)
        with Spool(directory / "numbers") as pairs:
            for batch in text.batches():
                pairs.write(model.numbers(*text_columns(batch), threads))
        if not judged:
            text.remove()

        def again(model: Model) -> Iterator[NumberedPairs]:
            step = f"learning, round {model.rounds_done + 1} of {len(rounds(options.settings))}"
            with progress.meter(step, pairs.rows, "pairs") as meter:
                for batch in pairs.batches():
                    yield NumberedPairs(*batch)
                    meter.advance(len(batch[1]) - 1)

        model = finished(model, again, threads)
        if judged:
            assert copies is not None
            writer.classifier = _learned_classifier(model, text, copies, threads, progress)
        if options.save is not None:
            classifier.save(writer.classifier, options.save) if writer.classifier else model.save(options.save)
        with progress.meter("aligning", pairs.rows, "pairs") as meter:
            first = 0
            texts = map(text_columns, text.batches()) if judged else repeat(None)
            for batch, lines in zip(pairs.batches(), texts, strict=False):
                numbers = NumberedPairs(*batch)
                counted = 0 if copies is None else copies[first : first + len(numbers)]
                writer.write(model, numbers, counted, lines)
                first += len(numbers)
                meter.advance(len(numbers))


def _check_enough(pairs: int) -> None:
    if pairs < learning.LEAST_PAIRS:
        given = f"{pairs:,} pair{'' if pairs == 1 else 's'}"
        raise AlignmentModelError(
            f"--adequacy: the input has {given}; learning needs at least {learning.LEAST_PAIRS:,}, or a model "
            "with a classifier (--model)"
        )


def _learned_classifier(
    model: Model, text: Spool, copies: Integers, threads: int, progress: Progress
) -> classifier.Classifier:
    """Learns a classifier from the input: from the words in all pairs, and from a sample of distinct pairs."""
    with progress.meter("learning a classifier", text.rows, "pairs") as meter:

        def drawn() -> Iterator[pa.RecordBatch]:
            first = 0
            for batch in text.batches():
                sides = [side.to_arrow() for side in text_columns(batch)]
                pairs = pair_sample.drawn(pa.record_batch(sides, SIDES), pair_sample.ALL, _SEED)
                counted = pa.array(copies[first : first + len(pairs)])
                yield pairs.append_column(learning.COPIES, counted)
                first += len(pairs)
                meter.advance(len(pairs))

        try:
            return learning.learn_first(model, drawn(), _SEED, threads)[0]
        except AlignmentModelError as error:
            raise AlignmentModelError(f"--adequacy: {error}, or a model with a classifier (--model)") from None


class _Writer:
    """Writes links to standard output, and scores and values of a classifier to files; counts the pairs."""

    def __init__(
        self, symmetrize: Symmetrization, threads: int, scores: BinaryIO | None, adequacy: BinaryIO | None
    ) -> None:
        self.threads = threads
        self.classifier: classifier.Classifier | None = None  # set if there is a file for its values
        self._symmetrize, self._scores, self._adequacy = symmetrize, scores, adequacy
        self._pairs = self._links = self._empty = self._too_long = 0

    def write(
        self,
        model: Model,
        pairs: NumberedPairs,
        copies: Integers | int,
        text: tuple[TextColumn, TextColumn] | None,
    ) -> None:
        """Writes the pairs' links, their scores, and the classifier's values, which need their text.

        The scores leave out the counts that the pairs brought to the model: ``copies`` is how often each pair was read.
        """
        links = model.align_numbered(pairs, self._symmetrize, self.threads)
        write_text(pharaoh_text(links, self.threads))
        if self._scores is not None:
            values = model.score_numbered(pairs, copies, self.threads)
            with writing(Path(self._scores.name)):
                self._scores.write(joined_lines(_score_lines(values)))
        if self._adequacy is not None:
            assert self.classifier is not None
            assert text is not None
            values = self.classifier.judge(*text, copies, self.threads).values
            with writing(Path(self._adequacy.name)):
                self._adequacy.write(joined_lines(_score_lines(values)))
        self._pairs += len(pairs)
        self._links += len(links.links)
        self._empty += int((np.diff(links.offsets) == 0).sum()) - links.too_long
        self._too_long += links.too_long

    def report(self, console: SafeConsole) -> None:
        """Prints the counts."""
        console.print(f"{self._pairs:,} pairs read, {self._links:,} links", soft_wrap=True)
        if self._empty:
            console.print(f"pairs without links: {self._empty:,}", soft_wrap=True)
        if self._too_long:
            console.print(
                f"pairs too long to align: {self._too_long:,}, with more than {ALIGN_MOST_WORDS:,} words on a side, or "
                f"{ALIGN_MOST_CELLS:,} pairs of words; their lines are empty",
                soft_wrap=True,
            )


def columns_of(block: Block) -> tuple[TextColumn, TextColumn]:
    r"""Returns the sides of lines: source, tab, target; or source ``|||`` target, where no line has a tab.

    An empty line is a pair of empty sides.
    """
    mark = "\t" if b"\t" in block.data else "|||"
    data = np.frombuffer(block.data, np.uint8)
    source, source_offsets, target, target_offsets, number, size = split_columns(data, block.starts, block.ends, mark)
    if size != 2:
        line = f"{name_of(None)}, line {block.first_line + number}"
        if size == 1:
            hint = carriage_return_hint(bytes(data[block.starts[number] : block.ends[number]]))
            raise CorpusError(
                f"{line}: it has no tab (or |||) between source and target{hint}; write one pair per line"
            )
        name = "a tab" if mark == "\t" else "|||"
        raise CorpusError(
            f"{line}: it has {size} columns, separated by {name}, and not two, source and target; "
            "select them first, for example with cut -f1,2"
        )
    return TextColumn(source, source_offsets), TextColumn(target, target_offsets)


def _score_lines(values: Scores) -> pa.Array:
    """Returns scores as text with six decimals: a ``large_string`` array; ``nan`` for pairs that cannot be scored."""
    return pc.round(pa.array(values), 6).cast(pa.large_string())


def _loaded(path: Path, options: StreamOptions) -> Model:
    model = Model.load(path)
    if options.settings.pretokenized and not model.settings.pretokenized:
        raise AlignmentModelError(
            f"{path}: this model divides text into words itself; give it untokenized text without "
            "--pretokenized, or train a model with --pretokenized"
        )
    return model


def _check_languages(model: Model, source: TextColumn, target: TextColumn, threads: int, console: SafeConsole) -> None:
    """Compares the input's words with a model's words, and only warns if the input or the model has few words."""
    known = model.known(source, target, threads)
    swapped = model.known(target, source, threads)
    shares = f"the model covers {known[0]:.0%} of the source words and {known[1]:.0%} of the target words"
    enough = tells(model, source, target)
    if enough and min(known) < _FEW_KNOWN and min(swapped) > min(known) + 0.2:
        raise AlignmentModelError(
            f"{shares}, but {swapped[0]:.0%} and {swapped[1]:.0%} if the sides are swapped; swap the columns"
        )
    small = min(len(vocabulary) for vocabulary in model.vocabularies) < _SMALL_VOCABULARY
    if enough and min(known) < LEAST_KNOWN and not small:
        raise AlignmentModelError(f"{shares}; use a model for these languages, or learn one without --model")
    if min(known) < _FEW_KNOWN:
        console.print(f"warning: {shares}; it may be for other languages or other text", soft_wrap=True)
