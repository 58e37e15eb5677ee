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
    "example, chunk, packed, text or causal: a record is a tf.train.Example of one pair, about 256 pairs, about 256 "
    "pairs packed into rows, the text of 256 pairs, which loaders encode, or about 256 rows for a causal language model"
)
ROW_LENGTH = "an integer from 1 to 1024: ids of a row on either side, for layout packed"


class OutputOptions(Section):
    """The keys that all entries of the list ``outputs`` share."""

    if TYPE_CHECKING:
        kind: str

    name: Name | None = None
    """letters, digits, dots, dashes and underscores, or null for the kind: the directory in outputs/"""
    shards: Shards = Field(default_factory=dict)
    """a mapping from splits to integers from 1 to 99999: the number of shards per split, by default the number in
    records.shards"""
    order: Literal["shuffled", "corpus"] = "shuffled"
    """shuffled or corpus: use the order of the records, or the order of the corpora and their lines"""
    corpus: bool = False
    """true or false: also write the name of each pair's corpus, if the kind has a place for it"""

    @property
    def directory(self) -> str:
        """Name of the output directory."""
        return self.name or self.kind


class MarianOptions(OutputOptions):
    """TSV files for Marian, and its vocabularies."""

    kind: Literal["marian"]
    """marian: the kind of output"""
    pieces: bool | None = None
    """true, false, or null for false with a SentencePiece model, else true: write pieces separated by spaces, or text
    that Marian segments by the SentencePiece model"""
    tags: bool = True
    """true or false: begin text lines with their corpora's tags"""
    alignments: bool = False
    """true or false: add a third column with links of pieces, for guided alignment; needs a section align"""


PROMPTED = ("chat", "messages", "prompt_completion", "preference", "prompt_only")
"""The kinds of rows with prompts."""


class HuggingFaceOptions(OutputOptions, PromptSettings):
    """Parquet files for datasets and transformers, with a dataset card."""

    kind: Literal["huggingface"]
    """huggingface: the kind of output"""
    rows: Literal[
        "translation", "chat", "messages", "prompt_completion", "preference", "prompt_only", "ids", "causal"
    ] = "translation"
    """translation, messages (or chat), prompt_completion, preference, prompt_only, ids or causal: a row is a
    Translation; messages; a prompt and its completion; a prompt with a chosen and a rejected translation; a prompt with
    a reference; input_ids, labels and length of an encoder and a decoder; or input_ids and labels of a decoder"""
    conversational: bool = False
    """true or false: prompts, completions and chosen and rejected translations are lists of messages, not text"""
    score: Name | None = None
    """the name of a score, for preference rows: among consecutive pairs with the same source, the translations with the
    highest and the lowest score are chosen and rejected"""
    tags: bool | None = None
    """true, false, or null for true in translations and false in rows with prompts: begin the text with the tags of
    its corpus"""

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.rows not in PROMPTED:
            for key in sorted({*PromptSettings.model_fields, "conversational"} & self.model_fields_set):
                yield f"{key} is for rows with prompts ({', '.join(PROMPTED)}), and rows is {self.rows}; leave it out"
        if self.system is not None and not self.has_messages:
            yield "system is for rows of messages; set conversational to true"
        if (self.rows == "preference") != (self.score is not None):
            yield "score and rows of preference need each other"

    @property
    def has_messages(self) -> bool:
        """True if prompts are messages."""
        return self.conversational or self.rows in ("chat", "messages")


class FairseqOptions(OutputOptions):
    """Binarized files for fairseq, and its dictionaries."""

    kind: Literal["fairseq"]
    """fairseq: the kind of output"""


class MegatronOptions(OutputOptions):
    """Indexed files for Megatron-LM and NeMo, with one sequence of ids per pair."""

    kind: Literal["megatron"]
    """megatron: the kind of output"""
    pair: str = Field("{source}{sep}{target}{eos}", min_length=1)
    """a text of {source}, {target}, {sep}, {eos}, {bos}, {pad}, {unk} and pieces of vocab.reserved between spaces: the
    sequence of a pair"""
    sep: str | None = Field(None, min_length=1)
    """a piece of vocab.reserved, or null for the end of sentence: the piece for {sep}"""


ListFormat: TypeAlias = Literal["list", "eole", "joey", "hf_marian", "subword_nmt"]


class PieceList(Section):
    """A vocabulary list that a trainer's own program makes from the pieces of train, with their counts."""

    trainer: Literal[
        "fairseq", "joey", "marian", "opennmt_py", "opennmt_tf", "sockeye", "subword_nmt", "tensorflow_nmt", "thumt"
    ] = Field(alias="as")
    """fairseq, joey, marian, opennmt_py, opennmt_tf, sockeye, subword_nmt, tensorflow_nmt or thumt: whose list"""
    joint: Annotated[tuple[Side, ...], Field(min_length=2, max_length=2)] | None = None
    """[source, target] or [target, source], or null for a list per side: the order in which one list counts both"""
    least: Count = Field(1, ge=1)
    """an integer >= 1: the least count of a piece"""
    most: Count | None = Field(None, ge=1)
    """an integer >= 1, or null for no limit: the number of pieces, special ones included for fairseq and marian"""
    multiple: Count = Field(1, ge=1)
    """an integer >= 1: a divisor for the size of sockeye's list"""


class TextOptions(OutputOptions):
    """Text files, one per side and shard, with one sentence per line."""

    kind: Literal["text"]
    """text: the kind of output"""
    pieces: bool = True
    """true or false: write pieces separated by spaces, or the text as it is in the corpus"""
    vocab: tuple[ListFormat, ...] = ("list",)
    """a list of list, eole, joey, hf_marian and subword_nmt: formats in which the vocabularies are written too: lists
    for tensorflow/nmt and Marian, for Eole or for JoeyNMT, the files of a MarianTokenizer, and those of
    learn-joint-bpe-and-vocab"""
    lists: tuple[PieceList, ...] = ()
    """a list of mappings: vocabularies as trainers make them, from the pieces of train"""
    tags: bool = True
    """true or false: begin text lines with their corpora's tags"""
    alignments: bool = False
    """true or false: add a third file with the links of pieces; needs a section align"""
    documents: Literal["joined", "lines"] = "joined"
    """joined or lines: with a section documents, a window on each line, or a segment on each line and an empty line
    between documents, as Eole reads them (pieces: false)"""


AnyOutput: TypeAlias = Annotated[
    MarianOptions | HuggingFaceOptions | FairseqOptions | MegatronOptions | TextOptions,
    Field(discriminator="kind"),
]
