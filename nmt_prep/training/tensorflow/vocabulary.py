"""Lookup tables for :func:`~nmt_prep.training.tensorflow.iterator.get_iterator`, and tensorflow/nmt's check of vocabulary files."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import load_tokenizer
from nmt_prep.training.records.dataset_json import VocabularyInfo, load_dataset_info, records_in

UNK, SOS, EOS = "<unk>", "<s>", "</s>"  # The first words of a tensorflow/nmt vocabulary, in order

_UNKNOWN_ID = -1
_ASCII_SPACE = b" \t\r\v\f"


def vocab_tables(run_dir: str | Path) -> tuple[tf.lookup.StaticHashTable, tf.lookup.StaticHashTable]:
    """Returns lookup tables from the pieces of a run's vocabularies to their ids.

    Other words map to the vocabulary's unknown id, or to -1 if it has none (like Tensor2Tensor's, which can encode
    everything); -1 fails in an embedding lookup instead of training on wrong ids.

    Args:
        run_dir: directory of the run, which holds ``records/dataset.json`` and the vocabularies that it names.

    Returns:
        Source and target table, string to int64. In a TensorFlow 1 graph run ``tf.compat.v1.tables_initializer()``.

    Raises:
        RecordsError: ``dataset.json`` cannot be read.
        VocabularyError: a vocabulary cannot be read.
    """
    records_dir = records_in(run_dir)
    vocab = load_dataset_info(records_dir).vocab
    return _table(records_dir, vocab.source), _table(records_dir, vocab.target)


def _table(records_dir: Path, vocabulary: VocabularyInfo) -> tf.lookup.StaticHashTable:
    tokenizer = load_tokenizer(records_dir / vocabulary.file, id_layout=vocabulary.id_layout)
    pieces = tf.constant(list(tokenizer.pieces), tf.string)
    initializer = tf.lookup.KeyValueTensorInitializer(pieces, tf.range(len(tokenizer), dtype=tf.int64))
    unknown = _UNKNOWN_ID if tokenizer.unk_id is None else tokenizer.unk_id
    return tf.lookup.StaticHashTable(initializer, default_value=unknown)


def check_vocab(
    vocab_file: str | Path,
    out_dir: str | Path,
    check_special_token: bool = True,
    sos: str | None = None,
    eos: str | None = None,
    unk: str | None = None,
) -> tuple[int, str]:
    r"""Checks that a plain vocabulary file begins with the special words, like tensorflow/nmt's ``check_vocab``.

    A file that does not is copied to ``out_dir``, under its own name, with the three words prepended. A line ends at
    ``\n`` only, and ASCII white space around a word is stripped; upstream also breaks lines at, and strips, other
    Unicode separators.

    Args:
        vocab_file: the vocabulary, one word per line.
        out_dir: directory for the new file, if one is needed.
        check_special_token: False only counts the words.
        sos: begin of sentence; None for ``<s>``.
        eos: end of sentence; None for ``</s>``.
        unk: unknown word; None for ``<unk>``.

    Returns:
        Number of words, and the path of the file to use.

    Raises:
        VocabularyError: the file cannot be read, or has fewer than three words.
        OutputError: the new file cannot be written.
    """
    path = Path(vocab_file)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise VocabularyError(f"{path}: the vocabulary cannot be read: {error.strerror or error}") from error
    words = [line.strip(_ASCII_SPACE) for line in content.removesuffix(b"\n").split(b"\n")] if content else []
    if not check_special_token:
        return len(words), str(vocab_file)
    if len(words) < 3:
        raise VocabularyError(f"{path}: {len(words)} words; a vocabulary has at least 3, one per line")
    special = [word.encode() for word in (unk or UNK, sos or SOS, eos or EOS)]
    if words[:3] == special:
        return len(words), str(vocab_file)
    words = special + words
    new_path = Path(out_dir) / path.name
    with atomic_write(new_path) as beside:
        beside.write_bytes(b"".join(word + b"\n" for word in words))
    return len(words), str(new_path)
