"""Fuzzes the readers of files from outside: damaged and hostile files are read, or refused with an error of nmt_prep.

Each target has valid files, which :func:`tests.corpora.formats.fuzzing.mutated` or its own function changes.
``scripts/check --full`` runs the long test with the address sanitizer. If the sanitizer ends the process, the last file
of each target is in ``build/fuzz/``.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest
from _nmt_prep_core import Bucket, ByteBPESplitter, SentencePieceTrainingText, byte_bpe_scanner, ordered_records
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import NmtPrepError
from nmt_prep.cleaning.align.learning import learn
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.languages import FastTextIdentifier
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.tokenizer import IdLayout, Tokenizer
from nmt_prep.training.records.shard_reader import read_shard
from tests.cleaning.align.corpus import SOURCE, TARGET, column, trained
from tests.cleaning.languages import models as fasttext
from tests.conftest import REPOSITORY, examples
from tests.corpora.formats.fuzzing import mutated
from tests.native import changes
from tests.reference import records
from tests.reference.sentencepiece import CONTROL, NORMAL, UNUSED, USER_DEFINED
from tests.subwords.byte_bpe import models as byte_bpe
from tests.subwords.sentencepiece import json_models
from tests.subwords.sentencepiece import models as sentencepiece

TEXTS = ["", "a b", " ab  aba\u3000é", "語言 語言言", "x\0\x7f\u2581\ufffd\U0001f600", "fi ﬁ Ａ", "<s>a<unk>"]
LINES = column(TEXTS)
MOST_MEMORY = 200_000
"""Bound of the memory that one file may add to the peak of the process, in kilobytes."""

SECONDS = 30
"""Time for each target of the long test."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed.

    Attributes:
        read: reads a file, and uses its content.
        files: valid files.
        tokens: bytes that matter to the format.
        change: another way to change a file.
        repair: a function to apply to each changed file.
    """

    read: Callable[[Path], object]
    files: list[bytes]
    tokens: list[bytes]
    change: Callable[[bytes, random.Random], bytes]
    repair: Callable[[bytes], bytes] = field(default=lambda data: data)

    def file(self, seed: int) -> bytes:
        """Returns a changed file."""
        generator = random.Random(seed)
        data = generator.choice(self.files)
        usual = generator.random() < 0.3
        return self.repair(mutated(data, self.tokens, seed) if usual else self.change(data, generator))


# Vocabularies


def use(tokenizer: Tokenizer) -> None:
    rows = tokenizer.encode_batch(TEXTS, 1)
    tokenizer.decode_batch(rows)
    tokenizer.piece_spans(LINES, rows)
    every_id = np.arange(len(tokenizer), dtype=np.int32)
    tokenizer.decode_batch(Ragged(np.concatenate([every_id, every_id[::-1]]), np.array([0, 2 * len(every_id)])))
    tokenizer.piece_spans(column(["a b"]), Ragged(every_id, np.array([0, len(every_id)])))


def read_model(path: Path) -> None:
    layout: IdLayout = "sentencepiece" if path.stat().st_size % 2 else "fairseq"
    tokenizer = SentencePieceTokenizer.load(path, id_layout=layout)
    use(tokenizer)
    if tokenizer.library_reason is None:
        chances = {"alpha": 0.5} if tokenizer.model_type == "unigram" else {"dropout": 0.5}
        tokenizer.encode_batch(TEXTS, 1, **chances, seed=1)


def read_charsmap(path: Path) -> None:
    table = path.read_bytes()
    try:
        text = SentencePieceTrainingText(table, True, True, False, True, False, [], "", 100, 100)
        text.add(LINES.data, LINES.offsets, 1)
    except (RuntimeError, ValueError):  # of the core itself
        pass
    for places in ({"charsmap": table}, {"denormalizer": sentencepiece.field(2, table)}):
        use(SentencePieceTokenizer(sentencepiece.model_file([sentencepiece.UNK, *PIECES], **places)))
    parts = json_models.content(json_models.unigram({"a": -1.0, "▁a": -2.0}), json_models.precompiled(table))
    path.write_bytes(json_models.data(parts | {"pre_tokenizer": json_models.metaspace()}))
    use(SentencePieceTokenizer.load(path))


def read_json(path: Path) -> None:
    for kind in (ByteBPETokenizer, SentencePieceTokenizer):
        try:
            use(kind.load(path))
        except NmtPrepError:
            continue


def read_pattern(path: Path) -> None:
    try:
        pattern = path.read_text("utf-8", "strict")
    except UnicodeDecodeError:
        return
    scanners = [byte_bpe_scanner(pattern, of_tiktoken, keep) for of_tiktoken, keep in ((True, False), (False, True))]
    for scanner in scanners:
        if scanner is not None:
            splitter = ByteBPESplitter([scanner], False, False, [], [])
            for line in TEXTS:
                splitter.pretoken_ends(np.frombuffer(line.encode(), np.uint8))


PIECES = [
    (text, -len(text) * 1.3 - i / 7, NORMAL)
    for i, text in enumerate(["▁", "a", "b", "ab", "aba", "▁a", "▁▁", "語", "語言"])
]
KINDS = [("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("b a", 0.0, USER_DEFINED), ("言", -1.0, UNUSED), *PIECES]
TABLE = json_models.charsmap({"Ａ": "A", "ﬁ": "fi", "a": "a", "e\u0301": "é", "\u3000": " "})


def spm_files() -> Iterator[bytes]:
    for kind in (sentencepiece.UNIGRAM, sentencepiece.BPE):
        file = sentencepiece.model_file([sentencepiece.UNK, *KINDS], kind, charsmap=TABLE)
        yield from (file, file + sentencepiece.field(201, b""))  # these have different layouts
        pieces = [sentencepiece.UNK, *KINDS, *sentencepiece.BYTES]
        yield sentencepiece.model_file(
            pieces, kind, byte_fallback=True, suffix=True, collapse=False, denormalizer=sentencepiece.field(2, TABLE)
        )
    tests = [("a b", "▁a ▁ b")]
    surface = sentencepiece.field(2, sentencepiece.field(44, " ?? "))
    yield sentencepiece.model_file([sentencepiece.UNK, *KINDS], escape=False, self_tests=tests) + surface


def json_files() -> Iterator[bytes]:
    yield from (byte_bpe.model_file(name).encode() for name in ("GPT-2", "GPT-NeoX", "BLOOM", "StarCoder", "Falcon"))
    for model in (
        json_models.unigram({"▁": -1.0, "a": -2.0, "▁a": -2.5, "b": -3.0}, byte_fallback=True),
        json_models.bpe(["▁", "a", "b"], [("▁", "a"), ("a", "b")]),
    ):
        parts = json_models.content(model, json_models.precompiled(TABLE), json_models.metaspace())
        yield json_models.data(parts | {"added_tokens": json_models.special_tokens(model)})


def change_table(data: bytes, generator: random.Random) -> bytes:
    """Returns a table of other rules, or changes units."""
    if generator.random() < 0.5:
        return changes.overwrite(data, generator)
    texts = [
        "a",
        "ab",
        "é",
        "e\u0301",
        "語",
        "\U0001f600",
        " ",
        "▁",
        "\u3000",
        "x" * 40,
        "",
        "\udcc3",
        "\udce8\udcaa",
        "a▁b",
        "  ",
    ]
    rules = {}
    for _ in range(generator.randint(1, 8)):
        left = "".join(generator.choice(texts) for _ in range(generator.randint(1, 3))) or "a"
        rules[left] = "".join(generator.choice(texts[:11]) for _ in range(generator.randint(0, 3)))
    table = json_models.charsmap(rules)
    return changes.overwrite(table, generator) if generator.random() < 0.2 else table


def change_pattern(data: bytes, generator: random.Random) -> bytes:
    """Returns an expression of random parts."""
    parts = [*PATTERN_PARTS, data.decode()]
    return "".join(generator.choice(parts) for _ in range(generator.randint(1, 30))).encode()


PATTERN_PARTS = [
    *(
        "a",
        "b",
        ".",
        "$",
        "|",
        "(",
        ")",
        "(?:",
        "(?i:",
        "(?!",
        "(?=",
        "[",
        "]",
        "[^",
        "&&",
        "-",
        "^",
        "\\",
        "é",
        "\0",
        "'",
    ),
    *("+", "*", "?", "++", "{1,3}", "{100}", "{0,100}", "{2}+", r"\s", r"\S", r"\p{L}", r"\P{N}", r"\p{Han}", "{", "}"),
    *("(?:a?|b?){16}", "(){100}", "((((a|", "))))", r"[^\s\p{L}\p{N}]+", "[a-z]", "(?!\\S)", "(?:a|b)*"),
]


# Models


def read_fasttext(path: Path) -> None:
    identifier = FastTextIdentifier(path)
    text = fasttext.byte_column([b"", b"a man in a hat", b"\xff\xfe le chat", "süße 一个 rare tag1".encode()])
    labels = range(len(identifier.labels))
    identifier.top(text, 3)
    identifier.probabilities(text, labels)
    identifier.contest(text, [0], labels[1:], 0.01)


def read_alignment_model(path: Path) -> None:
    model = Model.load(path)
    source, target = (
        column(["the small house", "a a a a tree x", ""]),
        column(["das kleine Haus", "ein Baum", "ein"]),
    )
    model.align(source, target)
    model.score(source, target, np.array([0, 1, 2**31]))
    learn(lambda: [(column(SOURCE), column(TARGET))], model.settings, model)


def alignment_files(directory: Path) -> Iterator[bytes]:
    path = directory / "model"
    trained().save(path)
    yield path.read_bytes()


# Records


def read_tfrecord(path: Path) -> None:
    for layout in ("example", "chunk"):
        try:
            read_shard(path, layout)
        except NmtPrepError:
            continue


def read_spill(path: Path) -> None:
    content = path.read_bytes()
    for payload in ("example", "ids", "text"):
        try:
            bucket = Bucket(np.frombuffer(content, np.uint8), 0, 3, payload)
        except (RuntimeError, ValueError):  # the writer of shards names the file
            continue
        if payload == "example":
            while bucket.copy(np.empty(bucket.largest + 100, np.uint8)):
                pass
        elif payload == "text":
            bucket.text(0, 10**6)
        bucket.index()
        assert bucket.source_tokens >= 0 <= bucket.target_tokens


def spill_file(payload: str) -> bytes:
    ids, offsets = np.array([1, 2, 300, 4, 5, 70_000], np.int32), np.array([0, 1, 3, 6])
    return ordered_records(ids, offsets, ids, offsets, np.zeros(3, np.int32), payload).tobytes()  # type: ignore[arg-type]


@cache
def targets() -> dict[str, Target]:
    with_ids = records.frame(records.serialize_example([1, 2, 300], [-1, 2**31 - 1])) * 2
    pattern_tokens = [part.encode() for part in PATTERN_PARTS]
    directory = Path(REPOSITORY / "build" / "fuzz")
    directory.mkdir(parents=True, exist_ok=True)
    return {
        "model": Target(read_model, list(spm_files()), [b"\x0a\x02", b"\xe2\x96\x81", b"\xc3"], changes.of_message),
        "charsmap": Target(read_charsmap, [TABLE], [b"\0\0\0\x80", b"\xff\xff\xff\x7f", b"\0"], change_table),
        "tokenizer.json": Target(
            read_json, list(json_files()), [b'"', b"{", b"[", b"null", b"\\ud800"], changes.of_json
        ),
        "pattern": Target(
            read_pattern,
            [pattern.encode() for pattern in byte_bpe.RANKS_PATTERNS.values()],
            pattern_tokens,
            change_pattern,
        ),
        "fasttext": Target(
            read_fasttext,
            [fasttext.content(fasttext.model(loss, kind, 2)) for loss in fasttext.LOSSES for kind in fasttext.KINDS],
            [b"\0", b"\xff" * 4, b"\1\0\0\0"],
            changes.overwrite,
        ),
        "alignment model": Target(
            read_alignment_model, list(alignment_files(directory)), [b'"'], changes.of_arrays, changes.with_new_digest
        ),
        "tfrecord": Target(read_tfrecord, [with_ids], [b"\x0a", b"\x12", b"\xff" * 8], changes.of_records),
        "spill": Target(read_spill, [spill_file("example"), spill_file("ids")], [b"\xff" * 9], changes.of_spill),
    }


NAMES = ("model", "charsmap", "tokenizer.json", "pattern", "fasttext", "alignment model", "tfrecord", "spill")


def check(name: str, seed: int, path: Path) -> None:
    target = targets()[name]
    path.write_bytes(target.file(seed))
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with suppress(NmtPrepError):
        target.read(path)
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY, f"too much memory: {name}, {seed}"


@pytest.mark.parametrize("name", NAMES)
def test_files_are_read(name: str, tmp_path: Path) -> None:
    for number, content in enumerate(targets()[name].files):
        path = tmp_path / str(number)
        path.write_bytes(content)
        targets()[name].read(path)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(60), database=None)
@given(seed=st.integers(0, 2**32))
def test_changed_files_are_read_or_refused(new_directory: Callable[[], Path], name: str, seed: int) -> None:
    check(name, seed, new_directory() / "file")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_changed_files_for_long(name: str) -> None:
    path = REPOSITORY / "build" / "fuzz" / name
    targets()
    end, seed = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        check(name, seed, path)
        seed += 1
    assert seed > 10
