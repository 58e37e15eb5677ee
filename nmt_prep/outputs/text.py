"""text: a text file per side and shard, with a sentence per line, as most toolkits read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal

from pydantic import Field

from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config
from nmt_prep.config.outputs import OutputOptions
from nmt_prep.engines import Tick
from nmt_prep.outputs.files import output_file
from nmt_prep.outputs.lines import corpus_lines, line_batches
from nmt_prep.outputs.output import Form, Made, Output, ShardMade, ShardTask
from nmt_prep.outputs.vocabulary import ListFormat, write_lists


class TextOptions(OutputOptions):
    """Text files, one per side and shard, with one sentence per line."""

    kind: Literal["text"] = Field(description="text: the kind of output")
    pieces: bool = Field(
        True, description="true or false: write pieces separated by spaces, or the text as it is in the corpus"
    )
    vocab: tuple[ListFormat, ...] = Field(
        ("list",),
        description="a list of list, eole, joey and hf_marian: formats in which the vocabularies are written too: "
        "lists for tensorflow/nmt and Marian, for Eole or for JoeyNMT, and the files of a MarianTokenizer",
    )


class Text(Output[TextOptions]):
    """Writes ``train-00000-of-00004.en``, ``train-00000-of-00004.zh``, ``vocab.en``, ``vocab.zh``."""

    kind = "text"
    options = TextOptions
    holds_corpus = True

    def form(self, options: TextOptions, config: Config) -> Form:
        return "ids" if options.pieces else "text"

    def problems(self, options: TextOptions, config: Config) -> Iterator[tuple[str, str]]:
        if "hf_marian" in options.vocab and config.vocab.dialect != "sentencepiece":
            yield "vocab", f"hf_marian needs a vocabulary of kind sentencepiece, vocab.kind is {config.vocab.dialect}"
        if len(set(options.vocab)) < len(options.vocab):
            yield "vocab", "names a format twice"
        if "corpus" in (config.languages.source, config.languages.target) and options.corpus:
            yield "corpus", "its files would have the suffix of a language, .corpus"

    def write(self, task: ShardTask[TextOptions], tick: Tick) -> ShardMade:
        suffixes = [*(task.run.codes[side] for side in SIDES), *(["corpus"] if task.options.corpus else [])]
        pairs = 0
        with ExitStack() as stack:
            files = [stack.enter_context(output_file(task.directory, f"{task.label}.{end}")) for end in suffixes]
            for batch in line_batches(task):
                files[0].write(joined_lines(batch.sources))
                files[1].write(joined_lines(batch.targets))
                if task.options.corpus:
                    files[2].write(joined_lines(corpus_lines(task.run, task.split, batch.corpora)))
                pairs += len(batch)
                tick(len(batch))
        return ShardMade(pairs, tuple(file.facts for file in files), {})

    def finish(self, made: Made[TextOptions]) -> None:
        write_lists(made.directory, made.run, made.options.vocab)


TEXT = Text()
