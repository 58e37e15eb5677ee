"""Words before subwords: a chain of steps as the first part of a tokenizer, and its file beside a vocabulary.

The file ``<name>.words.json`` has the steps and the vocabulary's name. Files that steps need, such as truecasing
models, are copied beside it, so that the directory can be moved.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import write_bytes
from nmt_prep.base.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import Side
from nmt_prep.config.vocab import steps_of_tokens
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import WORDS
from nmt_prep.subwords.tokenizer import PieceSpans, Tokenizer, read_vocabulary
from nmt_prep.subwords.tokenizer_json import list_at, object_at, parse_json
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import Step, StepContext

SUFFIX = ".words.json"
STEPS_DIR = "NMT_PREP_STEPS"
"""The environment variable with the directory of programs and modules that steps of vocabularies may run."""

_MARK = b'{"words": 1'
_JOINED = {
    ord("&"): (b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&#124;", b"&#91;", b"&#93;"),
    ord("@"): (b"@-@",),
}
_LONGEST_UNIT = 8
_SPACES_OF_TWO, _SPACES_OF_THREE = (
    [int.from_bytes(chr(code).encode(), "big") for code in codes]
    for codes in ((0x85, 0xA0), (0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000))
)


def is_words(path: Path) -> bool:
    """Returns True for a chain's file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(64).replace(b"\n", b"").startswith(_MARK)


@contextmanager
def trusting(directory: Path | None) -> Iterator[None]:
    """Lets vocabularies run steps of a directory in this process; None for no more than before."""
    before = os.environ.get(STEPS_DIR)
    if directory is not None:
        os.environ[STEPS_DIR] = str(directory)
    try:
        yield
    finally:
        if directory is not None:
            os.environ.pop(STEPS_DIR)
            os.environ.update({} if before is None else {STEPS_DIR: before})


class WordsTokenizer(Tokenizer):
    """A tokenizer that applies steps to text before it encodes, and undoes them after it decodes."""

    def __init__(self, chain: Chain, inner: Tokenizer, described: object) -> None:
        """Joins a chain, which JSON values describe, and a vocabulary."""
        self.chain, self.inner, self.dialect = chain, inner, inner.dialect
        self._described = described
        self.unicode_version = getattr(inner, "unicode_version", None)

    @classmethod
    def load(
        cls, path: str | Path, vocabulary: Callable[[Path], Tokenizer] | None = None, base_dir: Path | None = None
    ) -> WordsTokenizer:
        """Reads a chain's file, and its vocabulary by ``vocabulary``.

        ``base_dir`` is the directory of programs and modules that steps may run; None for the one in NMT_PREP_STEPS.
        """
        assert vocabulary is not None
        path = Path(path)
        chain, described = load_chain(path, base_dir)
        return cls(chain, vocabulary(files_of(path)[1]), described)

    def save(self, path: str | Path) -> None:
        """Not supported: a chain has several files, which are copied as they are."""
        raise VocabularyError(f"{path}: copy the directory of the vocabulary to save it with its steps")

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text], 1).to_lists()[0]

    def encode_batch(self, lines: Lines, threads: int | None = None, **options: Any) -> Ragged:
        return self.inner.encode_batch(self.changed(lines, threads), threads, **options)

    def changed(self, lines: Lines, threads: int | None = None) -> pa.Array:
        """Returns lines after the steps."""
        count = threads or available_cores()
        return pa.concat_arrays(
            [pa.array([], pa.large_string())]
            + [self.chain.apply(column.to_arrow(), count).lines for column in text_columns(lines)]
        )

    @cached_property
    def divided(self) -> tuple[Chain, Tokenizer]:
        """The steps that make the words that ``limits.tokens`` counts, and a tokenizer of these words."""
        made = len(steps_of_tokens(tuple(step.spec[0] for step in self.chain.steps)))
        first, others = (Chain(steps) for steps in (self.chain.steps[:made], self.chain.steps[made:]))
        return first, WordsTokenizer(others, self.inner, self._described) if others.steps else self.inner

    def decode(self, ids: Iterable[int]) -> str:
        return self.decode_batch(Ragged.from_lists([list(ids)]))[0]

    def decode_batch(self, rows: Ragged) -> list[str]:
        texts: list[str] = self.undone(pa.array(self.inner.decode_batch(rows), pa.large_string())).to_pylist()
        return texts

    def undone(self, words: pa.Array) -> pa.Array:
        """Returns the text of words."""
        return self.chain.undo(words, available_cores())

    @property
    def pieces(self) -> Sequence[str]:
        return self.inner.pieces

    def words(self) -> list[str]:
        return self.inner.words()

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        """Returns spans in the text before the steps; a line's spans are known if its characters can be traced."""
        changed = TextColumn.from_arrow(self.changed(lines.to_arrow(), 1))
        spans = self.inner.piece_spans(changed, rows)
        begins, ends, known = self.traced(lines, changed, spans.begins, spans.ends, rows.offsets)
        return PieceSpans(begins, ends, known & spans.known)

    def traced(
        self,
        lines: TextColumn,
        changed: TextColumn,
        begins: npt.NDArray[np.int32],
        ends: npt.NDArray[np.int32],
        offsets: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Returns spans in changed lines as spans in the lines, and whether each line can be traced.

        A line can be traced if the steps keep the number of its characters, apart from white space. In the changed
        line, Moses' entities and ``@-@`` count as one character.
        """
        olds, news = _units(lines, joined=False), _units(changed, joined=True)
        first, end = (np.searchsorted(units[0], text.offsets) for units, text in ((olds, lines), (news, changed)))
        known = np.diff(first) == np.diff(end)
        row = np.repeat(np.arange(len(known)), np.diff(offsets))
        at = changed.offsets[row]
        # A span has the units from the one that its first byte is in, or that follows it.
        inner = np.searchsorted(news[1], at + begins, side="right")
        outer = np.searchsorted(news[0], at + ends) - 1
        shift, limit = first[row] - end[row], first[row + 1]
        starts, stops = (np.append(bounds, lines.offsets[-1]) for bounds in olds)
        begin = np.where(
            inner + shift < limit, starts[np.minimum(inner + shift, len(starts) - 1)], lines.offsets[row + 1]
        )
        stop = np.where(outer >= inner, stops[np.clip(outer + shift, 0, len(stops) - 1)], begin)
        bounds = (np.where(known[row], place - lines.offsets[row], 0).astype(np.int32) for place in (begin, stop))
        return *bounds, known

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        return self.inner.uncovered(characters)

    @property
    def has_spm(self) -> bool:
        return self.inner.has_spm

    def piece_id(self, piece: str) -> int:
        return self.inner.piece_id(piece)

    def _special_id(self, role: str) -> int | None:
        return self.inner._special_id(role)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the vocabulary and the steps with their files' content."""
        return hashlib.sha256(json.dumps([self.inner.fingerprint, self._described]).encode()).hexdigest()


def words_in(batch: pa.RecordBatch, side: Side, tokenizer: Tokenizer) -> pa.Array:
    """Returns the words on a side of a part's batch that ``limits.tokens`` counts; its text for other tokenizers."""
    if WORDS[side] in batch.schema.names:
        return batch.column(WORDS[side])
    lines = strip_lines(batch.column(side))
    return tokenizer.divided[0].apply(lines).lines if isinstance(tokenizer, WordsTokenizer) else lines


def after_words(tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer for what :func:`words_in` returns."""
    return tokenizer.divided[1] if isinstance(tokenizer, WordsTokenizer) else tokenizer


def save_chain(chain: Chain, path: Path, language: str, vocabulary: str) -> tuple[str, ...]:
    """Writes a chain before the vocabulary file ``vocabulary``, and copies of the files that its steps need.

    Returns the names of the files.
    """
    entries = []
    for number, step in enumerate(chain.steps, 1):
        contents = step.contents()
        names = {option: copy_name(path, number, step.spec[0], option) for option in contents}
        for option, content in contents.items():
            write_bytes(path.with_name(names[option]), content)
        entries.append({**_entry(step), "copies": names})
    parts = {"words": 1, "language": language, "vocabulary": vocabulary, "steps": entries}
    write_bytes(path, f"{json.dumps(parts, ensure_ascii=False, indent=0)}\n".encode())
    return path.name, *(name for entry in entries for name in entry["copies"].values())


def copy_name(path: Path, number: int, step: str, option: str) -> str:
    """Returns the copy's name for a file that a step's option names."""
    return f"{path.name.removesuffix(SUFFIX)}.{number}.{step}.{option}"


def load_chain(path: Path, base_dir: Path | None) -> tuple[Chain, object]:
    """Returns a file's chain, and a description of its steps; see :meth:`WordsTokenizer.load`."""
    where, trusted = str(path), base_dir or os.environ.get(STEPS_DIR)
    parts = parse_json(path, read_vocabulary(path))
    entries = [object_at(entry, "steps", where) for entry in list_at(parts.get("steps"), "steps", where)]
    context = StepContext(str(parts.get("language")), Path(trusted or path.parent), trusted=bool(trusted))
    described = [{key: value for key, value in entry.items() if key != "copies"} for entry in entries]
    return Chain([_step(path, entry, context) for entry in entries]), [context.language, *described]


def files_of(path: Path) -> list[Path]:
    """Returns a chain's file, its vocabulary, and the copies that its steps need."""
    parts = parse_json(path, read_vocabulary(path))
    entries = list_at(parts.get("steps"), "steps", str(path))
    copies = (name for entry in entries for name in object_at(entry.get("copies"), "copies", str(path)).values())
    return [path, *(_beside(path, name) for name in (parts.get("vocabulary"), *copies))]


def copy_chain(path: Path, directory: Path) -> str:
    """Copies a chain's files to a directory; returns the vocabulary's name."""
    for file in files_of(path):
        copy, content = directory / file.name, read_vocabulary(file)
        if copy.exists() and copy.read_bytes() != content:
            raise VocabularyError(f"{file}: the vocabulary of the other side has a file of this name; rename them")
        write_bytes(copy, content)
    return files_of(path)[1].name


def _entry(step: Step[Any]) -> dict[str, Any]:
    """Returns what a step's changes depend on: its options, with file digests in place of paths."""
    name, options = step.spec
    copied = step.contents()
    others = options.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude=set(copied))
    files = copied | {word: path.read_bytes() for word, path in step.files.items() if word not in copied}
    return {
        "step": name,
        "options": others,
        "files": {word: hashlib.sha256(content).hexdigest() for word, content in sorted(files.items())},
    }


def _step(path: Path, entry: object, context: StepContext) -> Step[Any]:
    """Returns a step of a file, whose copies are checked."""
    where = str(path)
    parts = object_at(entry, "steps", where)
    name, copies = str(parts.get("step")), object_at(parts.get("copies"), "copies", where)
    digests = object_at(parts.get("files"), "files", where)
    paths = {option: str(_beside(path, copy).absolute()) for option, copy in copies.items()}
    context = replace(context, copies=frozenset(paths.values()))
    try:
        step = Chain.of([{name: {**object_at(parts.get("options"), "options", where), **paths}}], context).steps[0]
    except ValueError as error:
        raise VocabularyError(f"{path}: {error}") from error
    for word, file in step.files.items():
        if hashlib.sha256(read_vocabulary(file)).hexdigest() != digests.get(word):
            raise VocabularyError(f"{path}: {file} has changed since; restore it, or make the vocabulary again")
    return step


def _beside(path: Path, name: object) -> Path:
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise VocabularyError(f"{path}: {name!r} is not the name of a file beside it; save the file again")
    return path.with_name(name)


def _units(text: TextColumn, *, joined: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the first bytes of characters apart from white space and control characters, and the bytes after them.

    With ``joined``, entities of Moses and its hyphen ``@-@`` count as one character.
    """
    size = int(text.offsets[-1])
    data = np.concatenate([text.data[:size], np.zeros(_LONGEST_UNIT, np.uint8)])
    leads = data[:size] & 0xC0 != 0x80
    if joined:
        for first, units in _JOINED.items():
            places = np.flatnonzero(data[:size] == first)
            ends = text.offsets[np.searchsorted(text.offsets, places, side="right")]
            for unit in units:
                fits = (places + len(unit) <= ends) & np.all(
                    data[places[:, None] + np.arange(len(unit))] == np.frombuffer(unit, np.uint8), axis=1
                )
                leads[(places[fits][:, None] + np.arange(1, len(unit))).reshape(-1)] = False
    starts = np.flatnonzero(leads)
    stops = np.append(starts[1:], size)
    code = [data[starts + place].astype(np.int64) for place in range(3)]
    three = code[0] << 16 | code[1] << 8 | code[2]
    silent = (code[0] <= ord(" ")) | np.isin(three >> 8, _SPACES_OF_TWO) | np.isin(three, _SPACES_OF_THREE)
    return starts[~silent], stops[~silent]
