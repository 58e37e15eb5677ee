"""megatron: one ID sequence per pair, in the indexed files of Megatron-LM and NeMo, to train decoders."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from _nmt_prep_core import join_pairs

from nmt_prep.base.errors import VocabularyError
from nmt_prep.config import Config, ExistingVocab, Vocab
from nmt_prep.config.outputs import MegatronOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import Tokenizer
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import id_type, sequence_file
from nmt_prep.training.outputs.vocabulary_files import copy_file

_SIDES = {"source": -1, "target": -2}  # The sides as parts of a sequence, for the native function

_SPECIALS = ("pad", "eos", "bos", "unk")
_PLACE = re.compile(r"\{([^{}]*)\}")


class Megatron(Output[MegatronOptions]):
    """Writes ``train-00000-of-00004.bin`` and ``.idx``, and a copy of the vocabulary.

    Beside causal language model rows, files in the same form have 1 for each ID that counts for the loss.
    """

    kind = "megatron"
    holds_rows = True

    def form(self, options: MegatronOptions, config: Config) -> Form:
        return "ids"

    def problems(self, options: MegatronOptions, config: Config) -> Iterator[tuple[str, str]]:
        for key in sorted({"pair", "sep"} & options.model_fields_set) if config.records.layout == "causal" else ():
            yield key, "is for pairs, and records of layout causal hold whole rows; remove it"
        parts = parts_of(options.pair)
        allowed = (*_SIDES, "sep", *_SPECIALS)
        for name in (name for name, place in parts if place and name not in allowed):
            yield "pair", f"{{{name}}} is not one of {', '.join(f'{{{place_name}}}' for place_name in allowed)}"
        for side in _SIDES:
            if parts.count((side, True)) != 1:
                yield "pair", f"must have {{{side}}} once"

    def vocab_problems(self, options: MegatronOptions, vocab: Vocab) -> Iterator[tuple[str, str]]:
        parts = parts_of(options.pair)
        if not vocab.shared:
            yield (
                "kind",
                "megatron joins both sides to one sequence, which needs one vocabulary; set vocab.shared: true",
            )
        pieces = [name for name, place in parts if not place] + ([] if options.sep is None else [options.sep])
        for piece in dict.fromkeys(pieces):
            if not isinstance(vocab, ExistingVocab) and piece not in vocab.own_pieces:
                key = "pair" if (piece, False) in parts else "sep"
                yield key, f"{piece!r} is not in vocab.reserved; add it there to make it a single piece"

    def check(self, options: MegatronOptions, run: RunFacts) -> None:
        if not run.causal:
            sequence_parts(options, run.vocabularies["source"].load())

    def write(self, task: ShardTask[MegatronOptions], tick: Tick) -> ShardMade:
        if task.run.causal:
            return _write_rows(task, tick)
        tokenizer, pairs = task.run.vocabularies["source"].load(), 0
        parts = np.array(sequence_parts(task.options, tokenizer), np.int32)
        eos = -1 if tokenizer.eos_id is None else tokenizer.eos_id
        dtype = id_type(len(tokenizer), "int32")
        with sequence_file(task.directory, task.label, dtype, task.sequences(), documents=True) as (file, facts):
            for batch in task.id_batches(tick):
                source, target = batch.sources, batch.targets
                file.add(*join_pairs(source.values, source.offsets, target.values, target.offsets, parts, eos, eos))
                pairs += len(batch)
        return ShardMade(pairs, facts(), {})

    def finish(self, made: Made[MegatronOptions]) -> None:
        path = made.run.vocabularies["source"].path
        copy_file(path, made.directory / path.name)


def _write_rows(task: ShardTask[MegatronOptions], tick: Tick) -> ShardMade:
    """Writes causal language model rows, and beside them what counts for the loss."""
    dtype = id_type(task.run.vocabularies["source"].facts.size, "int32")
    rows = sum(len(batch.rows()) for batch in task.id_batches(lambda pairs: None))
    with (
        sequence_file(task.directory, task.label, dtype, rows, documents=True) as (file, facts),
        sequence_file(task.directory, f"{task.label}-mask", "uint8", rows, documents=True) as (mask, mask_facts),
    ):
        for batch in task.id_batches(tick):
            held = batch.rows()
            file.add(*held.sources.contiguous())
            mask.add(held.mask.astype(np.uint8), held.sources.offsets)
    return ShardMade(rows, (*facts(), *mask_facts()), {})


def parts_of(pair: str) -> list[tuple[str, bool]]:
    """Returns a sequence's parts in order: names in braces with True, pieces with False."""
    parts: list[tuple[str, bool]] = []
    for number, text in enumerate(_PLACE.split(pair)):
        parts += [(text, True)] if number % 2 else [(piece, False) for piece in text.split()]
    return parts


def sequence_parts(options: MegatronOptions, tokenizer: Tokenizer) -> list[int]:
    """Returns a sequence's parts for the native function: -1 and -2 for the sides, or an ID."""
    numbers = []
    for name, place in parts_of(options.pair):
        special = "eos" if name == "sep" and options.sep is None else name
        if place and name in _SIDES:
            numbers.append(_SIDES[name])
        elif place and special in _SPECIALS:
            number = getattr(tokenizer, f"{special}_id")
            if number is None:
                raise VocabularyError(
                    f"the vocabulary has no {special} piece for {{{name}}} in the key pair of the output "
                    f"{options.directory}"
                )
            numbers.append(number)
        else:
            numbers.append(tokenizer.piece_id(options.sep if place and options.sep is not None else name))
    return numbers


MEGATRON = Megatron()
