"""Trains SentencePiece BPE and unigram models with the native core, to the same bytes as the library.

Lines are normalized and divided into words as they are read, and only the distinct words are kept.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import SentencePieceOptions, SentencePieceTrainingText, UnigramOptions, learn_unigram

from nmt_prep.base.columns import TextColumn, check_utf8
from nmt_prep.base.errors import InvalidTextError, TrainingError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.sentencepiece.model_file import Pieces, PieceType, model_file
from nmt_prep.subwords.sentencepiece.options import typed_options, with_defaults
from nmt_prep.subwords.sentencepiece.process import LibraryError
from nmt_prep.subwords.tokenizer import ProgressCallback

_NOT_REQUIRED = " \u2585"  # characters that the library refuses in required_chars
_SPACE = "\u2581"
_DESIRED = 1.1  # pruning ends at this number of pieces per piece to learn
_DYNAMIC_SEEDS = (100_000, 8)  # for seed_sentencepiece_size 0: the least number, and the number per piece


def library_reason(settings: Mapping[str, Any]) -> str | None:
    """Returns the kind of model that only the library trains; None if the native core trains this one."""
    if settings["model_type"] not in ("bpe", "unigram"):
        return f"a SentencePiece {settings['model_type']} model"
    given = with_defaults(settings)
    for name in ("auto_character_coverage", "normalization_rule_tsv", "seed_sentencepieces_file", "use_all_vocab"):
        if given.get(name):
            return f"a SentencePiece model with {name}"
    if given["input_sentence_size"] and given.get("shuffle_input_sentence", True):
        return "a SentencePiece model with shuffle_input_sentence"
    if any(character in given["required_chars"] for character in _NOT_REQUIRED):
        return "a SentencePiece model with a space or U+2585 in required_chars"
    return _unigram_reason(given) if settings["model_type"] == "unigram" else None


def _unigram_reason(given: Mapping[str, Any]) -> str | None:
    """Returns the kind of unigram model that only the library trains; None if the native core trains this one."""
    model = "a SentencePiece unigram model with"
    if not given["split_by_whitespace"]:
        return f"{model} split_by_whitespace: false"
    if given["treat_whitespace_as_suffix"]:
        return f"{model} treat_whitespace_as_suffix"
    if not given["add_dummy_prefix"]:
        return f"{model} add_dummy_prefix: false"
    boundaries = [*given["control_symbols"], *given["user_defined_symbols"], given["pretokenization_delimiter"]]
    boundaries += [given[f"{name}_piece"] for name in ("unk", "bos", "eos", "pad")]
    if any(text.startswith((" ", _SPACE)) for text in boundaries):
        return f"{model} a reserved piece that begins with a space"
    return None


def train_natively(
    columns: Iterator[TextColumn],
    settings: Mapping[str, Any],
    progress: ProgressCallback | None,
    memory: int | None,
) -> bytes:
    """Trains a model and returns its file's bytes.

    Args:
        progress: called with the training's steps.
        memory: bytes of memory that training may use; None means no limit. Checked while the lines are read.
    """
    report = progress or (lambda kind, numbers: None)
    given = with_defaults(settings)
    charsmap = _charsmap(given["normalization_rule_name"])
    special = _special_pieces(given)
    text = _read(columns, given, charsmap, [name for name, _ in special.values()], memory)
    if text.too_long:
        report("skipped", {"lines": text.too_long})
    if text.lines == text.too_long:
        raise LibraryError("sentences_.empty()")
    characters = text.covered([ord(character) for character in given["required_chars"]], given["character_coverage"])
    if characters is None:
        raise LibraryError("all_chars_count is 0")
    size, fixed = given["vocab_size"], len(special) + len(characters)
    if fixed > size:
        raise LibraryError(f"Vocabulary size is smaller than required_chars. {size} vs {fixed}.")
    rules = SentencePieceOptions(
        longest=given["max_sentencepiece_length"],
        split_by_script=given["split_by_unicode_script"],
        split_by_number=given["split_by_number"],
        split_by_whitespace=given["split_by_whitespace"],
        split_digits=given["split_digits"],
        whitespace_is_suffix=given["treat_whitespace_as_suffix"],
        whitespace_only_pieces=given["allow_whitespace_only_pieces"],
    )
    if given["model_type"] == "unigram":
        learnt, scores = _learn_unigram(text, given, rules, characters, size - len(special), report)
    else:
        report("step", {"step": "learning merges"})
        spelled, offsets = text.learn_bpe(
            rules,
            [point for point, _ in characters],
            size - fixed,
            available_cores(),
            lambda merges: report("merges", {"size": fixed + merges, "target": size}),
        )
        learnt = TextColumn(np.frombuffer(spelled, np.uint8), offsets)
        scores = -np.arange(len(learnt), dtype=np.float32)
    pieces = _numbered(special, learnt, scores)
    count = len(pieces.texts)
    if given["hard_vocab_limit"] and count != size:
        raise LibraryError(f"Vocabulary size too high ({size}). Please set it to a value <= {count}.")
    return model_file(pieces, typed_options(settings) | {"vocab_size": count}, charsmap)


def _charsmap(name: str) -> bytes:
    """Returns the compiled rules of a normalization, as the library has them."""
    if name == "identity":
        return b""
    # importlib.resources would take longer to import than the rules to read.
    return Path(__file__).with_name("charsmaps").joinpath(name).read_bytes()


def _special_pieces(given: Mapping[str, Any]) -> dict[int, tuple[str, PieceType]]:
    """Returns the special, control, user-defined and byte pieces by ID."""
    names = {key: given[f"{key}_piece"] for key in ("unk", "bos", "eos", "pad") if given[f"{key}_id"] >= 0}
    types = {key: PieceType.UNKNOWN if key == "unk" else PieceType.CONTROL for key in names}
    special = {given[f"{key}_id"]: (name, types[key]) for key, name in names.items()}
    others = [(name, PieceType.CONTROL) for name in given["control_symbols"]]
    others += [(name, PieceType.USER_DEFINED) for name in given["user_defined_symbols"]]
    if given["byte_fallback"]:
        others += [(f"<0x{byte:02X}>", PieceType.BYTE) for byte in range(256)]
    ids = {name: given[f"{key}_id"] for key, name in names.items() if key != "unk"}
    seen = set[str]()
    number = 0
    for name, kind in others:
        if name in seen:
            raise LibraryError(f"{name} is already defined.")
        seen.add(name)
        if name not in ids:
            while number in special:
                number += 1
        special[ids.get(name, number)] = (name, kind)
    return special


def _read(
    columns: Iterator[TextColumn],
    given: Mapping[str, Any],
    charsmap: bytes,
    separate: Sequence[str],
    memory: int | None,
) -> SentencePieceTrainingText:
    """Returns the text to train from."""
    text = SentencePieceTrainingText(
        charsmap=charsmap,
        add_dummy_prefix=given["add_dummy_prefix"],
        remove_extra_whitespaces=given["remove_extra_whitespaces"],
        whitespace_is_suffix=given["treat_whitespace_as_suffix"],
        split_by_whitespace=given["split_by_whitespace"],
        whitespace_only_pieces=given["allow_whitespace_only_pieces"],
        separate=list(separate),
        delimiter=given["pretokenization_delimiter"],
        longest_line=given["max_sentence_length"],
        most_lines=given["input_sentence_size"],
        mark_finals=given["model_type"] == "unigram",
    )
    threads, lines, read = available_cores(), 0, 0
    for column in columns:
        try:
            text.add(column.data, column.offsets, threads)
        except InvalidTextError:
            check_utf8(column, lines)  # names the line among the lines of all columns
            raise
        lines += len(column)
        read += int(column.offsets[-1] - column.offsets[0])
        check_need(text.training_memory, memory, read, given["model_type"])
    return text


def _learn_unigram(
    text: SentencePieceTrainingText,
    given: Mapping[str, Any],
    pieces: SentencePieceOptions,
    characters: Sequence[tuple[int, int]],
    size: int,
    progress: ProgressCallback,
) -> tuple[TextColumn, npt.NDArray[np.float32]]:
    """Learns a unigram model's pieces and scores; frees the text's words.

    The library's sums depend on its thread count. The core computes the same sums on any number of cores.

    Args:
        progress: called with steps and iterations, as by the library.

    Returns:
        The pieces, the best ones first, and their scores, float32.
    """
    vocab_size = given["vocab_size"]
    least, times = _DYNAMIC_SEEDS
    options = UnigramOptions(
        size=size,
        desired_size=int(vocab_size * _DESIRED),
        seeds=given["seed_sentencepiece_size"] or max(least, times * vocab_size),
        shrinking_factor=given["shrinking_factor"],
        sub_iterations=given["num_sub_iterations"],
        lanes=given["num_threads"],
        pieces=pieces,
    )
    iterations = itertools.count(1)

    def report(pieces_left: int) -> None:
        progress("iteration", {"iteration": next(iterations), "size": pieces_left, "target": vocab_size})

    progress("step", {"step": "collecting candidate pieces"})
    learnt = learn_unigram(text, options, list(characters), available_cores(), report)
    scores = np.array([score for _, score in learnt], np.float32)
    return TextColumn.from_strings([piece for piece, _ in learnt]), scores


def _numbered(
    special: Mapping[int, tuple[str, PieceType]], learnt: TextColumn, scores: npt.NDArray[np.float32]
) -> Pieces:
    """Returns all pieces in ID order; learned pieces get the IDs that no special piece has."""
    spelled, names, places = learnt.data.tobytes(), list[bytes](), list[int]()
    parts, end = list[bytes](), 0
    for added, number in enumerate(sorted(special)):
        name, place = special[number][0], number - added
        if place > len(learnt):
            raise LibraryError(
                f"there are only {len(learnt) + added} pieces before the one with the ID {number}, {name}"
            )
        start, end = end, int(learnt.offsets[place])
        names.append(name.encode())
        places.append(place)
        parts += (spelled[start:end], names[-1])
    lengths = np.insert(np.diff(learnt.offsets), places, [len(name) for name in names])
    texts = TextColumn(np.frombuffer(b"".join((*parts, spelled[end:])), np.uint8), np.append(0, lengths.cumsum()))
    # Learnt pieces are distinct.
    if len(set(names)) < len(names) or any(name in spelled for name in names):
        counts = Counter(texts.to_bytes())
        for text, count in counts.items():
            if count > 1:
                raise LibraryError(f"{text.decode()} is already defined")
    all_scores, types = np.zeros(len(texts), np.float32), np.full(len(texts), PieceType.NORMAL, np.uint8)
    types[list(special)] = [kind for _, kind in special.values()]
    all_scores[types == PieceType.NORMAL] = scores
    return Pieces(texts, all_scores, types)


def check_need(needed: int, memory: int | None, read: int, model_type: str) -> None:
    """Checks the memory that the training of a model needs.

    Args:
        needed: bytes of memory that training needs at least.
        memory: bytes of memory that training may use; None means no limit.
        read: bytes of the lines that were read so far.
    """
    if memory is not None and needed > memory:
        raise TrainingError(
            f"training a {model_type} model needs {-(-needed // 10**6):,} MB or more for the {read / 1e6:.0f} MB of "
            f"lines read so far, but {memory // 10**6:,} MB are allowed; raise engine.memory, set input_sentence_size "
            "in vocab.options to the number of lines to train from, or lower sample.bytes_per_corpus"
        )
