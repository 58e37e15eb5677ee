"""Runs a ``tokenizer.json`` of SentencePiece's kind with the native core.

Ids are the same as in ``tokenizers``, except that text never becomes a special token. Lines with added
tokens, and lines that ``tokenizers`` must normalize, are divided in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import SentencePieceModel

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken, DividedLines, finder
from nmt_prep.subwords.sentencepiece.engine import Sampling, no_marks
from nmt_prep.subwords.sentencepiece.json_file import read_json_file
from nmt_prep.subwords.sentencepiece.model_file import PieceType
from nmt_prep.subwords.tokenizer import PieceSpans, spans_by_size
from nmt_prep.subwords.tokenizer_json import (
    SPACE,
    USUAL_NAMES,
    parse_json,
    run_by_tokenizers,
    usual_name,
    without_panic,
)

_WHITE = " \t\n\v\f\r"
_ANY_SIZE = 1 << 40  # more bytes than any line has
_NO_NAMES: frozenset[str] = frozenset()


class JsonModel:
    """A loaded file and the code that runs it; used like `NativeModel`."""

    library_reason: str | None = None  # None: the native core runs all such models

    def __init__(self, data: bytes, where: str) -> None:
        """Loads a model from its file's bytes; messages name the file ``where``."""
        file = read_json_file(parse_json(where, data), where)
        self.pieces = file.pieces  # the pieces in ID order
        self.model_type = file.kind  # `unigram` or `bpe`
        self.file = file  # its content
        self._normal: Callable[[str], str] | None = None
        self.libraries = ""  # names and versions of the packages that the IDs depend on
        if file.steps.library is not None:
            what = f"the normalizer of {where}, of which the native core does not run all steps"
            normalizer = run_by_tokenizers(file.steps.library, None, what, where).normalizer
            self._normal = functools.partial(without_panic, "tokenizers", normalizer.normalize_str)
            self.libraries = f"tokenizers {version('tokenizers')}"
        self._finder = finder(file.added, _NO_NAMES, False, str)
        unknown = "" if file.unk_id is None else file.pieces[file.unk_id]
        try:
            self._model = SentencePieceModel.of_tokenizers(
                list(zip(file.pieces, map(int, file.types), strict=True)),
                file.kind == "unigram",
                file.byte_fallback,
                unknown,
                file.strips_first_space,
                file.steps.rules(fuse_unknown=file.fuse_unknown),
                file.scores,
                np.ascontiguousarray(file.merges).ravel(),
            )
        except ValueError as error:
            raise VocabularyError(f"{where}: the model {error}; fetch the file again") from error
        if self._model.not_covered:
            raise VocabularyError(f"{where}: the model is not supported: {self._model.not_covered}")

    def special_ids(self) -> dict[str, int | None]:
        """Returns the IDs of ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the file lacks.

        The first three are special tokens with a usual name.
        """
        special = {name: token.id for name, token in self.file.added.items() if token.special}
        ids = {role: special.get(usual_name(role, special) or "") for role in USUAL_NAMES}
        return {**ids, "unk": self.file.unk_id}

    @property
    def added(self) -> Mapping[str, AddedToken]:
        """The added tokens by name."""
        return self.file.added

    def encode(self, column: TextColumn, threads: int, *, continued: bool = False) -> Ragged:
        """Returns each line's IDs; ``continued`` if each follows an added token."""
        divided = self._divided(column)
        if divided is None:
            marks = np.ones(len(column), np.uint8) if continued else no_marks()
            return Ragged(*self._model.encode(column.data, column.offsets, marks, threads))
        texts, marks = divided.texts, divided.continued | np.uint8(continued)
        return divided.joined(Ragged(*self._model.encode(texts.data, texts.offsets, marks, threads)))

    def sample(self, column: TextColumn, threads: int, sampling: Sampling, first_line: int) -> Ragged:
        """Returns sampled IDs of each line; the samples depend on the seed and the line's number."""
        divided = self._divided(column)
        if divided is None:
            return Ragged(*self._model.sample(column.data, column.offsets, no_marks(), threads, *sampling, first_line))
        # A call for each line: the number of texts in earlier lines must not change a sample.
        data, rows = divided.texts.data, []
        for line, (begin, end) in enumerate(pairwise(divided.firsts.tolist()), first_line):
            offsets, continued = divided.texts.offsets[begin : end + 1], divided.continued[begin:end]
            rows.append(Ragged(*self._model.sample(data, offsets, continued, 1, *sampling, line)))
        return divided.joined(Ragged.joined(rows))

    def decode(self, rows: Ragged, threads: int) -> list[str]:
        """Returns the text of each ID row."""
        return self._model.decode(*rows.contiguous(), threads)

    def spans(self, column: TextColumn, rows: Ragged) -> PieceSpans:
        """Returns the spans of pieces, for lines that their pieces spell."""
        return spans_by_size(column, rows, self._text_sizes)

    @functools.cached_property
    def _text_sizes(self) -> npt.NDArray[np.int64]:
        """Size of each piece's text in bytes, without white space; the unknown piece has more than any line."""
        dropped = str.maketrans("", "", SPACE + _WHITE)
        sizes = [len(piece.translate(dropped).encode()) for piece in self.pieces]
        for number, kind in enumerate(self.file.types):
            if kind is PieceType.BYTE:
                sizes[number] = int(chr(int(self.pieces[number][3:5], 16)) not in _WHITE)
            elif kind is PieceType.UNKNOWN:
                sizes[number] = _ANY_SIZE
        return np.array(sizes, np.int64)

    def _divided(self, column: TextColumn) -> DividedLines | None:
        """Divides lines at added tokens, and normalizes the texts between them with ``tokenizers`` if it has to.

        Returns None if the core takes the lines as they are.
        """
        if self._finder is None and self._normal is None:
            return None
        lines = list(column.strings())
        if self._normal is None and not any(self._finder.occurs(line) for line in lines if self._finder):
            return None
        return DividedLines.of(lines, self._parts)

    def _parts(self, line: str) -> Iterator[bytes | int]:
        """Yields the IDs of a line's added tokens, and the normalized texts between them."""
        for part in [line] if self._finder is None else self._finder.cut(line):
            if isinstance(part, int):
                yield part
            else:
                yield (part if self._normal is None else self._normal(part)).encode()
