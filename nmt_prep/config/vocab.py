"""The ``vocab`` section of a config: existing files, or one model per dialect, selected by ``kind``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, model_validator
from pydantic import Tag as PydanticTag

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config.section import Count, Mirrors, Section, default_kind, is_hub_id, per_side

DialectName: TypeAlias = Literal["t2t", "byte_bpe", "sentencepiece", "subword_nmt"]
"""The dialects of which vocabularies can be trained."""

_KIND = "t2t, byte_bpe, sentencepiece or subword_nmt: the tokenizer type"

IDS, TAG = "{ids}", "{tag}"


def _frame(text: str) -> str:
    words = text.split()
    if words.count(IDS) != 1 or words.count(TAG) > 1:
        raise ValueError("a frame has {ids} once, and {tag} at most once")
    if " ".join(words) != text:
        raise ValueError("single spaces separate the words of a frame")
    return text


FrameText = Annotated[str, AfterValidator(_frame)]

_FRAME = (
    "pieces separated by spaces, with {ids} once and {tag} at most once, or null for {tag}, {ids} and the end of "
    "sentence: the rows of that side"
)


class FrameTexts(Section):
    """The special pieces around each row."""

    source: FrameText | None = Field(None, description=_FRAME)
    target: FrameText | None = Field(None, description=_FRAME)

    def of(self, side: Side) -> str | None:
        """Returns the frame of a side; None for the default frame."""
        return self.source if side == "source" else self.target

    def pieces(self, side: Side) -> tuple[str, ...]:
        """Returns the special pieces in the frame of a side."""
        return tuple(word for word in (self.of(side) or "").split() if word not in (IDS, TAG))

    def lacks_tag(self, side: Side) -> bool:
        """Returns True if the frame of a side has no place for a tag."""
        text = self.of(side)
        return text is not None and TAG not in text.split()


_TRAINING = ("size", "merges", "total_symbols", "shared", "reserved")

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$")]

_FILE = "a path, a URL, an ID (hf:…), or a list of mirrors"


_Steps: TypeAlias = tuple[str | dict[str, Any], ...]
_STEPS = "a list of steps"


class WordSteps(Section):
    """Steps that make words from text before a vocabulary encodes it: the same for both sides, or one list per side."""

    both: _Steps | None = Field(None, description=f"{_STEPS}: the steps for both sides")
    source: _Steps = Field((), description=f"{_STEPS}: the steps of that side")
    target: _Steps = Field((), description=f"{_STEPS}: the steps of that side")

    def _problems(self) -> Iterator[str]:
        if self.both is not None and (self.source or self.target):
            yield "give one list of steps for both sides, or {source: …, target: …}"

    def __bool__(self) -> bool:
        return bool(self.both or self.source or self.target)

    def of(self, side: Side) -> _Steps:
        """Returns the steps of a side."""
        return getattr(self, side) if self.both is None else self.both


_SAME_TOKENS = ("lowercase", "truecase")


def steps_of_tokens(steps: _Steps) -> _Steps:
    """Returns steps without the last steps that change characters, but not the token count."""
    while steps and (steps[-1] if isinstance(steps[-1], str) else next(iter(steps[-1]))) in _SAME_TOKENS:
        steps = steps[:-1]
    return steps


_StepsOfSides = Annotated[WordSteps, BeforeValidator(per_side, json_schema_input_type=_Steps | WordSteps)]


class VocabFiles(Section):
    """The vocabulary files of the two sides: one for both, or one each."""

    both: Mirrors | None = Field(None, description=f"{_FILE}: the vocabulary file for both sides")
    source: Mirrors | None = Field(None, description=f"{_FILE}: the vocabulary file of that side")
    target: Mirrors | None = Field(None, description=f"{_FILE}: the vocabulary file of that side")

    def _problems(self) -> Iterator[str]:
        sides = (self.source is not None) + (self.target is not None)
        if sides != (0 if self.both is not None else 2):
            yield "give one file for both sides, or {source: …, target: …}"
        for mirrors in filter(None, (self.both, self.source, self.target)):
            if len(mirrors) > 1 and any(map(is_hub_id, mirrors)):
                yield "an hf: ID names a whole repository, and has no mirrors"

    def of(self, side: Side) -> Mirrors:
        """Returns the addresses of a side's file."""
        mirrors = self.both or getattr(self, side)
        assert mirrors is not None
        return tuple(mirrors)


_FilesOfSides = Annotated[VocabFiles, BeforeValidator(per_side, json_schema_input_type=Mirrors | VocabFiles)]


_COMPARE = (
    "a list of at most four paths, URLs or IDs (hf:owner/name): vocabularies to compare with the run's in the report"
)
Compared = Annotated[tuple[Mirrors, ...], Field(max_length=4, description=_COMPARE)]


class PruneSettings(Section):
    """Which pieces of an existing vocabulary stay. Special pieces, bytes and added tokens always do."""

    min_count: Count = Field(1, ge=1)
    """an integer >= 1: remove pieces that occur less often in all splits"""
    keep: tuple[Annotated[int, Field(ge=0)] | Text, ...] = ()
    """a list of IDs and pieces: rare pieces to keep"""
    strict: bool = False
    """true or false: fail, instead of warn, if a line gets other pieces"""


class ExtendSettings(Section):
    """New pieces for an existing vocabulary, whose IDs follow the old ones."""

    size: Count = Field(0, ge=0)
    """an integer >= 0: the number of new pieces from the train pairs"""
    characters: bool = True
    """true or false: add characters without a piece first"""
    tokens: tuple[Text, ...] = ()
    """a list of strings, none of them empty or with a NUL character: special tokens to add"""
    strict: bool = False
    """true or false: fail, instead of warn, if more than 0.1 % of held-out words in other languages change"""

    def _problems(self) -> Iterator[str]:
        if not self.size and not self.tokens:
            yield "extend adds nothing; set size, tokens or both"
        if len(set(self.tokens)) < len(self.tokens):
            yield "extend.tokens has repeated entries"


class ExistingVocab(Section):
    """Vocabularies that exist already, in files of any tokenizer type."""

    kind: str | None = Field(None, description=f"{_KIND} of the files")
    files: _FilesOfSides = Field(alias="from")
    """a path relative to the config file, a URL, an ID (hf:owner/name), a list of mirrors, or {source: …, target: …}:
    the vocabulary files"""
    id_layout: Literal["sentencepiece", "fairseq"] | None = None
    """sentencepiece or fairseq: the ID layout of a SentencePiece model"""
    ids: _FilesOfSides | None = None
    """as from, or null: JSON files with the ID of each piece, such as vocab.json; for subword_nmt, vocabularies with
    counts"""
    threshold: int | None = Field(None, ge=1)
    """an integer >= 1, or null for any: the minimum count of a subword_nmt piece, as counted in ids"""
    frame: FrameTexts = FrameTexts()
    """{source: …, target: …}: the special pieces around each row"""
    prune: PruneSettings | None = None
    """a mapping, or null for all pieces: which pieces to keep"""
    extend: ExtendSettings | None = None
    """a mapping, or null for none: which pieces to add"""
    compare: Compared = ()
    words: _StepsOfSides = WordSteps()
    """a list of steps, or {source: …, target: …}: steps that make words before encoding"""

    def _problems(self) -> Iterator[str]:
        if self.prune is not None and self.extend is not None:
            yield "prune and extend cannot be combined; prune in one run, and extend the result in another"
        if self.resized and self.words:
            yield (
                "words cannot be combined with prune and extend; resize the vocabulary in a run over text after the "
                "steps"
            )
        if self.threshold is not None and self.ids is None:
            yield "threshold needs vocab.ids, vocabularies with the counts of pieces"

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_trained(cls, values: object) -> object:
        if isinstance(values, dict):
            for key in _TRAINING:
                if key in values:
                    raise ValueError(f"{key} is for a vocabulary that is trained, and from names one; remove {key}")
        return values

    @property
    def resized(self) -> bool:
        """True if pieces are taken out or added."""
        return self.prune is not None or self.extend is not None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """File name suffixes, by side."""
        return tuple(_suffix(self.files.of(side)[0]) for side in SIDES)

    @property
    def shared(self) -> bool:
        """True if both sides use the same file, and the same numbering if there is one."""
        alike = self.ids is None or self.ids.of("source") == self.ids.of("target")
        return alike and self.files.of("source") == self.files.of("target")

    @property
    def keys(self) -> dict[str, tuple[Side, ...]]:
        """The sides that use each vocabulary, by its key in the config."""
        if self.files.both is not None and (self.ids is None or self.ids.both is not None):
            return {"vocab.from": SIDES}
        return {f"vocab.from.{side}": (side,) for side in SIDES}

    def ids_key(self, side: Side) -> str:
        """Returns the ID-layout key of a side."""
        return "vocab.ids" if self.ids is None or self.ids.both is not None else f"vocab.ids.{side}"


def _suffix(address: str) -> str:
    return PurePosixPath(urlsplit(address).path if "://" in address else address).suffix


_ESCAPE_CHARACTERS = frozenset("\\_u;0123456789")  # pieces of every Tensor2Tensor vocabulary
_BYTES = 256  # pieces of every byte-level BPE vocabulary
_MOST_BYTE_BPE = 1 << 21
DEFAULT_MERGES = 10_000
"""Merge count for subword_nmt, as in the original."""


class VocabOptions(Section):
    """The keys that all dialects share."""

    if TYPE_CHECKING:
        kind: str

    size: Count = Field(8192, ge=1)
    """an integer >= 1: the number of pieces (approximate for t2t)"""
    shared: bool = False
    """true or false: build one vocabulary for both sides"""
    reserved: tuple[Text, ...] = ()
    """a list of strings, none of them empty or with a NUL character: pieces that the vocabulary always has"""
    frame: FrameTexts = FrameTexts()
    """{source: …, target: …}: the special pieces around each row"""
    compare: Compared = ()
    words: _StepsOfSides = WordSteps()
    """a list of steps, or {source: …, target: …}: steps that make words before encoding"""

    @property
    def one_file(self) -> bool:
        """True if both sides use the same file."""
        return self.shared

    @property
    def asked_size(self) -> int | None:
        """The number of pieces that the vocabulary should have; None if other keys decide."""
        return self.size or None

    @property
    def size_in_names(self) -> int:
        """The number in the names of the files."""
        return self.size

    def _problems(self) -> Iterator[str]:
        if len(set(self.reserved)) < len(self.reserved):
            yield "reserved has repeated entries"

    @property
    def own_pieces(self) -> tuple[str, ...]:
        """The strings that always become single pieces."""
        return self.reserved

    @property
    def special_pieces(self) -> tuple[str, ...]:
        """The pieces that the dialect itself adds, such as the end of sentence."""
        return ()


class T2TVocab(VocabOptions):
    """A Tensor2Tensor vocabulary."""

    kind: Literal["t2t"] = Field("t2t", description=_KIND)
    max_subtoken_length: int | None = Field(200, ge=1)
    """an integer >= 1, or null for no limit: pieces are shorter than this"""

    @property
    def special_pieces(self) -> tuple[str, ...]:
        return ("<pad>", "<EOS>")

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if {"<pad>", "<EOS>"} & set(self.reserved):
            yield "reserved names <pad> or <EOS>, which always have the IDs 0 and 1; remove them"
        if "\r" in "".join(self.reserved):
            yield "reserved has a carriage return, which the files of Tensor2Tensor cannot hold; remove it"
        special, escapes = 2, len(_ESCAPE_CHARACTERS - set(self.reserved))
        yield from _size_problems(
            self.size, special + len(self.reserved) + escapes, "<pad>, <EOS>, reserved and escape characters"
        )


class ByteBPEVocab(VocabOptions):
    """A byte-level BPE vocabulary like GPT-2's."""

    kind: Literal["byte_bpe"] = Field(description=_KIND)
    min_frequency: int = Field(0, ge=0)
    """an integer >= 0: the minimum count of a merge"""
    pattern: Text | None = None
    """a regular expression, or null for GPT-2's: the pattern of a pretoken"""
    pad: Text = "<pad>"
    """a string: the special token with ID 0"""
    eos: Text = "<EOS>"
    """a string: the special token with ID 1"""
    bos: Text | None = None
    """a string, or null for no such token: the special token with ID 2"""

    @property
    def special_pieces(self) -> tuple[str, ...]:
        return tuple(name for name in (self.pad, self.eos, self.bos) if name is not None)

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        specials = [name for name in (self.pad, self.eos, self.bos, *self.reserved) if name is not None]
        if len(set(specials)) < len(specials):
            yield "pad, eos, bos and reserved must all differ"
        needed = 2 + (self.bos is not None) + len(self.reserved)
        yield from _size_problems(self.size, needed + _BYTES, f"{_BYTES} bytes, pad, eos, bos and reserved")
        if self.size > _MOST_BYTE_BPE:
            yield f"size is {self.size}: byte_bpe allows {_MOST_BYTE_BPE:,} pieces at most"


class SentencePieceVocab(VocabOptions):
    """A SentencePiece model."""

    kind: Literal["sentencepiece"] = Field(description=_KIND)
    model_type: Literal["unigram", "bpe"] = "unigram"
    """unigram or bpe: the model type"""
    character_coverage: float = Field(0.9995, ge=0.98, le=1)
    """a number from 0.98 to 1: the share of characters that get pieces"""
    byte_fallback: bool = False
    """true or false: encode characters without a piece as bytes"""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity: the normalization before encoding"""
    id_layout: Literal["sentencepiece", "fairseq", "marian"] = "sentencepiece"
    """sentencepiece, fairseq or marian: the ID layout of the special pieces"""
    options: dict[str, Any] = Field(default_factory=dict)
    """a mapping: more options of the sentencepiece library"""

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        keys = {
            **{key: key for key in ("size", "model_type", "character_coverage", "byte_fallback")},
            "vocab_size": "size",
            "user_defined_symbols": "reserved",
            "normalization_rule_name": "normalization",
        }
        for name in self.options:
            if name in keys:
                yield f"options has {name}; set the key {keys[name]} of vocab instead"

    @property
    def special_ids(self) -> dict[str, int | None]:
        """Ids in the model's file by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks."""
        if self.id_layout == "fairseq":
            return {"pad": None, "eos": 2, "bos": 1, "unk": 0}  # the file's IDs, from which the layout is derived
        if self.id_layout == "marian":
            return {"pad": None, "eos": 0, "bos": None, "unk": 1}
        return {"pad": 0, "eos": 1, "bos": 3, "unk": 2}

    @property
    def special_pieces(self) -> tuple[str, ...]:
        usual = {"pad": "<pad>", "eos": "</s>", "bos": "<s>", "unk": "<unk>"}
        if self.id_layout == "fairseq":
            return (*usual.values(), "<mask>")
        had = [role for role, number in self.special_ids.items() if number is not None]
        return tuple(str(self.options.get(f"{role}_piece", usual[role])) for role in had)

    @property
    def own_pieces(self) -> tuple[str, ...]:
        """The strings that always become single pieces, with control symbols, which never result from text."""
        control = self.options.get("control_symbols", ())
        return (*self.reserved, *(control.split(",") if isinstance(control, str) else control))


class SubwordNMTVocab(VocabOptions):
    """Codes of subword-nmt, for text whose words are separated by spaces."""

    kind: Literal["subword_nmt"] = Field(description=_KIND)
    size: Count = Field(0, ge=0)
    """0: set merges or total_symbols instead"""
    merges: Count | None = Field(None, ge=1)
    """an integer >= 1, or null for 10,000: the number of merges"""
    total_symbols: Count | None = Field(None, ge=1)
    """an integer >= 1, or null: the number of merges and characters together, instead of merges"""
    min_frequency: int = Field(2, ge=0)
    """an integer >= 0: the minimum count of a merge"""
    joint: bool = False
    """true or false: learn the codes from both sides, but keep a vocabulary for each side"""
    threshold: int | None = Field(None, ge=1)
    """an integer >= 1, or null: undo merges whose pieces occur less often in the sample"""
    separator: Text = "@@"
    """a string: the mark on pieces that do not end a word"""
    glossaries: tuple[Text, ...] = ()
    """a list of regular expressions: text that stays whole"""

    @property
    def one_file(self) -> bool:
        return self.shared and not self.joint

    @property
    def size_in_names(self) -> int:
        return self.total_symbols or self.merges or DEFAULT_MERGES

    @property
    def special_pieces(self) -> tuple[str, ...]:
        return ("<pad>", "</s>", "<unk>", "<s>")

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.size:
            yield "size is for other tokenizer types; set merges, or total_symbols, instead"
        if self.merges is not None and self.total_symbols is not None:
            yield "merges and total_symbols cannot be combined; set one of them"
        if set(self.special_pieces) & set(self.reserved):
            yield f"reserved names one of {' '.join(self.special_pieces)}, which have the IDs 0 to 3; remove it"
        if set(self.separator) & set(" \r\n"):
            yield f"separator is {self.separator!r}; it must not have spaces or line ends"


def _size_problems(size: int, least: int, what: str) -> Iterator[str]:
    if size < least:
        yield f"size is {size}: it must be at least {least}, to have room for {what}"


def _trained_or_existing(value: object) -> str:
    existing = "from" in value if isinstance(value, dict) else isinstance(value, ExistingVocab)
    return "existing" if existing else "trained"


_Trained: TypeAlias = Annotated[
    Annotated[T2TVocab | ByteBPEVocab | SentencePieceVocab | SubwordNMTVocab, Field(discriminator="kind")],
    default_kind("t2t"),
]
Vocab: TypeAlias = Annotated[
    Annotated[_Trained, PydanticTag("trained")] | Annotated[ExistingVocab, PydanticTag("existing")],
    Discriminator(_trained_or_existing),
]
