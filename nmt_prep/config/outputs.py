"""The list ``outputs`` of a config: one model per kind, selected by ``kind``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from nmt_prep.base.sides import Side
from nmt_prep.config.prompts import PromptSettings
from nmt_prep.config.section import Count, Name, Section

Layout: TypeAlias = Literal["example", "chunk", "packed", "text", "causal"]
RowLength = Annotated[Count, Field(ge=1, le=1024)]
Shards = dict[str, Annotated[Count, Field(ge=1, le=99_999)]]

LAYOUT = (
    "example, chunk, packed, text or causal: a record is one pair (example), or about 256 pairs: their IDs, IDs packed "
    "into rows, text that loaders encode, or rows for a causal language model"
)
ROW_LENGTH = "an integer from 1 to 1024: the number of IDs per row and side, for layout packed"


class OutputOptions(Section):
    """The keys that all entries of the list ``outputs`` share."""

    if TYPE_CHECKING:
        kind: str

    name: Name | None = None
    """letters, digits, dots, dashes and underscores, or null for the kind: the directory in outputs/"""
    shards: Shards = Field(default_factory=dict)
    """a mapping from splits to integers from 1 to 99999: the shard count of each split, as in records.shards by
    default"""
    order: Literal["shuffled", "corpus"] = "shuffled"
    """shuffled or corpus: the order of the records, or of the corpora and their lines"""
    corpus: bool = False
    """true or false: also write each pair's corpus name, if the kind has a place for it"""

    @property
    def directory(self) -> str:
        """Name of the output directory."""
        return self.name or self.kind


class MarianOptions(OutputOptions):
    """TSV files for Marian, and its vocabularies."""

    kind: Literal["marian"]
    """marian, huggingface, fairseq, megatron or text: the kind of output"""
    pieces: bool | None = None
    """true, false, or null for false with a SentencePiece model, else true: write pieces, or text that Marian itself
    splits"""
    tags: bool = True
    """true or false: begin text lines with their corpora's tags"""
    alignments: bool = False
    """true or false: add a column with piece links; needs an align section"""


PROMPTED = ("chat", "messages", "prompt_completion", "preference", "prompt_only")
"""The kinds of rows with prompts."""


class HuggingFaceOptions(OutputOptions, PromptSettings):
    """Parquet files for datasets and transformers, with a dataset card."""

    kind: Literal["huggingface"]
    """marian, huggingface, fairseq, megatron or text: the kind of output"""
    rows: Literal[
        "translation", "chat", "messages", "prompt_completion", "preference", "prompt_only", "ids", "causal"
    ] = "translation"
    """translation, messages (or chat), prompt_completion, preference, prompt_only, ids or causal: the row format"""
    conversational: bool = False
    """true or false: write lists of messages, not text"""
    score: Name | None = None
    """the name of a score, for preference rows: the best translation of a source is chosen, the worst one rejected"""
    tags: bool | None = None
    """true, false, or null for translation rows only: begin the text with its corpus's tags"""

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.rows not in PROMPTED:
            for key in sorted({*PromptSettings.model_fields, "conversational"} & self.model_fields_set):
                yield f"{key} is for rows with prompts ({', '.join(PROMPTED)}), and rows is {self.rows}; remove it"
        if self.system is not None and not self.has_messages:
            yield "system is for rows of messages; set conversational to true"
        if (self.rows == "preference") != (self.score is not None):
            yield "score and rows: preference must be set together"

    @property
    def has_messages(self) -> bool:
        """True if prompts are messages."""
        return self.conversational or self.rows in ("chat", "messages")


class FairseqOptions(OutputOptions):
    """Binarized files for fairseq, and its dictionaries."""

    kind: Literal["fairseq"]
    """marian, huggingface, fairseq, megatron or text: the kind of output"""


class MegatronOptions(OutputOptions):
    """Indexed files for Megatron-LM and NeMo, with one ID sequence per pair."""

    kind: Literal["megatron"]
    """marian, huggingface, fairseq, megatron or text: the kind of output"""
    pair: str = Field("{source}{sep}{target}{eos}", min_length=1)
    """a text of {source}, {target}, {sep}, {eos}, {bos}, {pad}, {unk} and pieces of vocab.reserved between spaces: the
    ID sequence of a pair"""
    sep: str | None = Field(None, min_length=1)
    """a piece of vocab.reserved, or null for the end of sentence: the piece for {sep}"""


ListFormat: TypeAlias = Literal["list", "eole", "joey", "hf_marian", "subword_nmt"]


class PieceList(Section):
    """A vocabulary list that a trainer's own program makes from the train pieces and their counts."""

    trainer: Literal[
        "fairseq", "joey", "marian", "opennmt_py", "opennmt_tf", "sockeye", "subword_nmt", "tensorflow_nmt", "thumt"
    ] = Field(alias="as")
    """fairseq, joey, marian, opennmt_py, opennmt_tf, sockeye, subword_nmt, tensorflow_nmt or thumt: the trainer whose
    list is written"""
    joint: Annotated[tuple[Side, ...], Field(min_length=2, max_length=2)] | None = None
    """[source, target] or [target, source], or null for a list per side: count both sides in one list, in this order"""
    least: Count = Field(1, ge=1)
    """an integer >= 1: the minimum count of a piece"""
    most: Count | None = Field(None, ge=1)
    """an integer >= 1, or null for no limit: the maximum number of pieces; for fairseq and marian, special pieces
    count"""
    multiple: Count = Field(1, ge=1)
    """an integer >= 1: a divisor for the size of sockeye's list"""


class TextOptions(OutputOptions):
    """Text files, one per side and shard, with one sentence per line."""

    kind: Literal["text"]
    """marian, huggingface, fairseq, megatron or text: the kind of output"""
    pieces: bool = True
    """true or false: write pieces, or the corpus text"""
    vocab: tuple[ListFormat, ...] = ("list",)
    """a list of list, eole, joey, hf_marian and subword_nmt: formats of vocabulary files to write"""
    lists: tuple[PieceList, ...] = ()
    """a list of mappings: vocabulary lists as trainers make them, from the train pieces"""
    tags: bool = True
    """true or false: begin text lines with their corpora's tags"""
    alignments: bool = False
    """true or false: add a file with piece links; needs an align section"""
    documents: Literal["joined", "lines"] = "joined"
    """joined or lines: with a documents section, one window per line, or one segment per line with empty lines between
    documents"""


AnyOutput: TypeAlias = Annotated[
    MarianOptions | HuggingFaceOptions | FairseqOptions | MegatronOptions | TextOptions,
    Field(discriminator="kind"),
]
