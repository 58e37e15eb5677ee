"""The schema of a config: one frozen model per section. :mod:`nmt_prep.config.file` reads the YAML file.

The docstring below a field names the allowed values; it appears in error messages and in ``nmt-prep schema``. Large
sections have modules of their own: :mod:`nmt_prep.config.corpus`, ``clean``, ``vocab``, ``engine`` and so on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config.clean import CleanSettings
from nmt_prep.config.computed import ComputedValue
from nmt_prep.config.corpus import Corpus, Tag, Translate
from nmt_prep.config.documents import DocumentSettings
from nmt_prep.config.engine import EngineSettings, LocalSettings
from nmt_prep.config.language_pairs import MULTIPLE, CheckedTag, ConfigLanguages, Pairs
from nmt_prep.config.limits import TOKENS, LimitSettings
from nmt_prep.config.outputs import LAYOUT, ROW_LENGTH, AnyOutput, Layout, RowLength, Shards
from nmt_prep.config.problems import did_you_mean
from nmt_prep.config.prompts import CausalSettings
from nmt_prep.config.section import UNKNOWN_NAME, Amount, Count, Languages, Location, Name, Section
from nmt_prep.config.training import TrainingSettings
from nmt_prep.config.vocab import ExistingVocab, T2TVocab, Vocab, steps_of_tokens

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
_URL = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/@?#\x00-\x1f\x7f]*(/[^?#\x00-\x1f\x7f]*)?$"
_SECRET = re.compile(r"secret|token|pass|pwd|cred|^key$|_key$|^sas", re.IGNORECASE)
Publishable: TypeAlias = Literal["compile", "clean", "sample", "vocab", "encode", "outputs", "report"]


class DownloadSettings(Section):
    """Options for fetching files; they do not change the results."""

    parallel: Count = Field(4, ge=1, le=64)
    """an integer from 1 to 64: files that are fetched at the same time"""
    retries: Count = Field(5, ge=0, le=100)
    """an integer from 0 to 100: attempts after the first; progress restarts the count"""
    max_file_bytes: Amount = Field(100_000_000_000, ge=1)
    """an amount of bytes >= 1, such as 100GB: the maximum size of a file"""
    max_bytes_per_second: Amount | None = Field(None, ge=1)
    """an amount of bytes >= 1, or null for no limit: the bandwidth of all downloads together"""
    cache: bool = True
    """true or false: share fetched files with other runs, in the cache directory"""

    connect_seconds: ClassVar[float] = 10.0  # how long a server may take to accept a connection
    stall_seconds: ClassVar[float] = 60.0  # how long a connection may be slower than 1 KiB per second


class ExtractSettings(Section):
    """Limits that protect against hostile archives; they do not change the results."""

    max_member_bytes: Amount = Field(100_000_000_000, ge=1)
    """an amount of bytes >= 1, such as 100GB: the maximum size of an archive member"""

    max_ratio: ClassVar[int] = 250  # of an archive's unpacked size to its own size
    max_members: ClassVar[int] = 1_000_000  # of an archive


class SampleSettings(Section):
    """The lines that vocabularies are built from."""

    bytes_per_corpus: Annotated[Count, Field(ge=1)] | Literal["all"] = 100_000_000
    """a number of bytes >= 1, or all: the sample size per corpus and side"""
    bytes_per_file: Count | None = Field(None, ge=1)
    """a number of bytes >= 1, or null: raw bytes to sample per file instead, as Tensor2Tensor does"""
    origin: Literal["cleaned", "raw"] = Field("cleaned", alias="from")
    """cleaned or raw: sample the pairs after cleaning, hold_out and limit, or all lines in the files but those that
    positions: lines holds out"""
    temperature: Annotated[float, Field(ge=1, strict=False)] | Literal["equal"] | None = None
    """a number >= 1, or equal, or null for no balancing: balance languages in a config with pairs: shares are bytes to
    the power 1 / temperature, or equal"""

    made: bool = False
    """true or false: also sample texts that programs made (translate)"""

    @property
    def budget(self) -> int:
        """The characters of each text, or its bytes with a temperature."""
        if self.bytes_per_file is not None:
            return self.bytes_per_file
        return 1 << 62 if self.bytes_per_corpus == "all" else self.bytes_per_corpus

    @property
    def raw(self) -> bool:
        """True if the lines come from the files, not from cleaned pairs."""
        return self.origin == "raw" or self.bytes_per_file is not None

    def _problems(self) -> Iterator[str]:
        if self.bytes_per_file is not None and {"bytes_per_corpus", "temperature"} & self.model_fields_set:
            yield "bytes_per_file cannot be combined with bytes_per_corpus and temperature; remove one of them"
        if self.bytes_per_file is not None and "origin" in self.model_fields_set and self.origin == "cleaned":
            yield "bytes_per_file counts the lines of files; set from: raw, or bytes_per_corpus"
        if self.made and self.raw:
            yield "the files of corpora hold no texts that programs made; remove made, or from: raw"


class AlignSettings(Section):
    """Word alignment, for training that needs links."""

    symmetrize: Symmetrization = "grow-diag-final-and"
    """intersection, union, grow-diag, grow-diag-final or grow-diag-final-and: how to join the links of the two
    directions"""
    splits: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """a list of splits, or null for all: the splits to align"""
    pairs: Count = Field(1_000_000, ge=1000)
    """an integer >= 1000: the maximum number of random pairs to learn from"""
    model: Location | None = None
    """a path, or null to learn from the pairs: a model from nmt-prep align --save"""
    learn: bool = False
    """true or false: with a model, start from it and also learn from the pairs"""
    words: Literal["text", "vocab"] = "text"
    """text or vocab: link the words of the text, or the words that vocab.words makes"""

    @property
    def learns(self) -> bool:
        """True if a model is learned from the pairs."""
        return self.model is None or self.learn


class Records(CausalSettings):
    """How shards are written; the prompt keys are for layout causal."""

    shards: Shards = Field(default_factory=dict)
    """a mapping from splits to integers from 1 to 99999: the shard count of each split, 1 by default"""
    layout: Layout = Field("example", description=LAYOUT)
    row_length: RowLength = Field(256, description=ROW_LENGTH)

    @property
    def causal(self) -> bool:
        """True if pairs become rows with one ID sequence, in the records or when loaders encode text."""
        described = {"prompts", "template"} & self.model_fields_set
        return self.layout == "causal" or (self.layout == "text" and bool(described))

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        given = sorted(set(CausalSettings.model_fields) & self.model_fields_set)
        if given and self.layout not in ("causal", "text"):
            yield f"{given[0]} is for layout causal, or text with rows for a language model; this is {self.layout}"
        if self.causal and self.template is None and "prompts" not in self.model_fields_set:
            example = "Translate into {target_language}: {source}\\n"
            yield f'layout {self.layout} needs prompt, such as "{example}", or template: chat'


class Input(Section):
    """Defaults of the functions that return batches."""

    batch_tokens: Count = Field(4096, ge=1)
    """an integer >= 1: the maximum number of tokens per batch and side, with padding"""
    max_length: Count = Field(256, ge=1)
    """an integer >= 1: skip pairs with more IDs on a side"""


class PublishSettings(Section):
    """An object store, or another place that fsspec can write to, for the run's copy."""

    url: Annotated[str, StringConstraints(pattern=_URL), AfterValidator(lambda url: url.rstrip("/"))]
    """a URL such as s3://bucket/prefix or hf://datasets/owner/name, without user and password: where the copy goes"""
    stages: Annotated[tuple[Publishable, ...], Field(min_length=1)] | None = None
    """a list of compile, clean, sample, vocab, encode, outputs and report, or null for vocab, encode, report and any
    outputs: the stages to copy"""
    options: dict[str, Any] = Field(default_factory=dict)
    """a mapping without credentials: options of the fsspec file system"""

    @field_validator("options")
    @classmethod
    def _no_secrets(cls, options: dict[str, Any]) -> dict[str, Any]:
        secrets = sorted(_secret_keys(options))
        if secrets:
            raise ValueError(f"leave {secrets[0]} out of the config; credentials come from the environment")
        return options


def _secret_keys(options: object) -> set[str]:
    """Returns the keys, at any depth, whose names suggest a secret."""
    if isinstance(options, dict):
        named = {str(key) for key in options if _SECRET.search(str(key))}
        return named.union(*map(_secret_keys, options.values()))
    return set().union(*map(_secret_keys, options)) if isinstance(options, tuple | list) else set()


class WeightSettings(Section):
    """Each pair's weight in the loss, from one of its scores."""

    origin: str = Field(alias="from", pattern=r"^score:.+$")
    """score:NAME: the score to use, from a corpus or a cleaning rule"""
    default: float = Field(1.0, ge=0, le=3.4e38, allow_inf_nan=False)  # float32
    """a number >= 0: the weight of pairs without the score"""


class Config(Section):
    """The whole config."""

    name: Name
    """letters, digits, dots, dashes and underscores: the data set's name, part of file names"""
    languages: ConfigLanguages
    """{source: …, target: …}: the language pair; for several, give pairs instead"""
    pairs: Pairs | None = None
    """a list of pairs such as en-de, {english-centric: [de, cs]}, all, or null for languages: the directions to
    prepare; all means every direction in the train corpora"""
    tag: Tag | None = None
    """{source: <2{target}>}: the default tag in a config with pairs; {source} and {target} stand for languages"""
    codes: dict[CheckedTag, Annotated[str, StringConstraints(pattern=r"^\S+$")]] = Field(default_factory=dict)
    """a mapping such as {en: eng_Latn}: names for the languages in tags"""
    output_dir: Location
    """a path, relative to the working directory: where the run writes"""
    seed: int = Field(ge=0, lt=2**63)
    """an integer >= 0: the seed for the sample, the shuffle and other random choices"""
    splits: dict[Name, Annotated[tuple[Corpus, ...], Field(min_length=1)]]
    """lists of corpora by split: the split train is required"""
    download: DownloadSettings = Field(default_factory=lambda: DownloadSettings())
    """a mapping: how files are fetched"""
    extract: ExtractSettings = Field(default_factory=lambda: ExtractSettings())
    """a mapping: archive limits"""
    sample: SampleSettings = Field(default_factory=lambda: SampleSettings())
    """a mapping: the lines to build vocabularies from"""
    computed: dict[Name, ComputedValue] = Field(default_factory=dict)
    """a mapping from names to values: numbers and texts from programs or functions"""
    clean: CleanSettings | None = None
    """a mapping, or null for no cleaning: what to drop and what to repair"""
    limits: LimitSettings = Field(default_factory=lambda: LimitSettings())
    """a mapping: token and piece limits, as in clean-corpus-n.perl"""
    align: AlignSettings | None = None
    """a mapping, or null for no alignment: word alignment"""
    vocab: Vocab = Field(default_factory=lambda: T2TVocab())
    """a mapping: the vocabularies"""
    records: Records = Field(default_factory=lambda: Records())
    """a mapping: how shards are written"""
    documents: DocumentSettings | None = None
    """a mapping, or null for single segments: how document segments become examples"""
    weight: WeightSettings | None = None
    """a mapping, or null for no weights: the weight of each pair in the loss"""
    outputs: tuple[AnyOutput, ...] = ()
    """a list of mappings with the key kind: files for other trainers, beside the records"""
    input: Input = Field(default_factory=lambda: Input())
    """a mapping: the defaults of the functions that return batches"""
    training: TrainingSettings = Field(default_factory=lambda: TrainingSettings())
    """a mapping: training stages and modifiers"""
    engine: EngineSettings = Field(default_factory=lambda: LocalSettings())
    """a mapping: where tasks run, and their memory"""
    publish: PublishSettings | None = None
    """a mapping, or null for no copy: an object store for a copy of the run"""

    @model_validator(mode="before")
    @classmethod
    def _has_languages(cls, values: object) -> object:
        if not isinstance(values, dict) or values.get("pairs") is None:
            return values
        if "languages" in values:
            raise ValueError("give either languages (one pair) or pairs (several), not both")
        return {**values, "languages": {"source": MULTIPLE, "target": MULTIPLE}}

    @field_validator("output_dir")
    @classmethod
    def _is_local(cls, path: str) -> str:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
            raise PydanticCustomError(
                UNKNOWN_NAME,
                "{path} is a URL, but a run works in a local directory; name a directory, and to upload the results, "
                "set publish.url",
                {"path": path},
            )
        return path

    def _problems(self) -> Iterator[str]:
        yield from self._split_problems()
        yield from self._hold_out_problems()
        yield from self._limit_problems()
        if (
            self.align is not None
            and self.align.words == "vocab"
            and not (self.vocab.words or isinstance(self.vocab, ExistingVocab))
        ):
            yield "align.words is vocab, and vocab.words has no steps; list them, or set align.words to text"
        yield from self._document_problems()
        yield from self._computed_problems()
        yield from self._translate_problems()
        yield from self._weight_problems()
        yield from self._training_problems()
        yield from self._frame_problems()
        yield from self._causal_problems()

    def _causal_problems(self) -> Iterator[str]:
        if not self.records.causal:
            return
        if not self.vocab.shared:
            yield "records: a row has the IDs of both sides, which needs one vocabulary; set vocab.shared: true"
        if self.records.template is not None and not isinstance(self.vocab, ExistingVocab):
            yield (
                "records.template: a chat template belongs to an existing vocabulary (vocab.from); set records.prompt "
                "for a vocabulary that is trained"
            )
        if self.documents is not None and self.records.template is None:
            yield "documents: the segments of a document are turns of a conversation; set records.template: chat"

    def _split_problems(self) -> Iterator[str]:
        if "train" not in self.splits:
            yield "splits has no train: the vocabularies are built from it"
        known = dict.fromkeys([*self.splits, *(each.split for _, corpus in self.corpora for each in corpus.hold_out)])
        for split, corpora in self.splits.items():
            names = [corpus.name for corpus in corpora]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                yield f"splits.{split} names the corpus {repeated[0]!r} twice; names must differ"
            if all(corpus.role == "vocab" for corpus in corpora):
                yield f"all corpora of splits.{split} are for the vocabularies (role vocab); add one with pairs"
            if split != "train" and any(corpus.role == "vocab" for corpus in corpora):
                yield f"splits.{split} has a corpus of role vocab, but the vocabularies are built from train"
        named = {
            "clean.splits": [] if self.clean is None else self.clean.splits,
            "align.splits": (self.align and self.align.splits) or (),
            "records.shards": self.records.shards,
        }
        for key, splits in named.items():
            for split in sorted(set(splits) - set(known)):
                near = did_you_mean(split, known)
                yield f"{key} names {split!r}{near or ';'} the splits are {', '.join(known)}"
            for split in splits:
                if [*splits].count(split) > 1:
                    yield f"{key} names {split!r} twice; name each split once"

    def _hold_out_problems(self) -> Iterator[str]:
        for split, corpus in self.corpora:
            if corpus.hold_out and split != "train":
                yield f"splits.{split}.{corpus.name}: hold_out is for corpora of train; remove it"
            for each in corpus.hold_out:
                if any(other.name == corpus.name for other in self.splits.get(each.split, ())):
                    yield (
                        f"splits.{each.split} has the corpus {corpus.name!r}, and hold_out adds another with this "
                        "name; rename one"
                    )

    def _limit_problems(self) -> Iterator[str]:
        if self.limits.tokens is None:
            return
        for side in SIDES:
            for step in steps_of_tokens(self.vocab.words.of(side)):
                options = step.get("truecase") if isinstance(step, dict) else None
                if "train" in (options, options.get("model") if isinstance(options, dict) else None):
                    yield "limits.tokens: tokens are counted before truecase is learned; put it after the other steps"
                    return
            files = self.vocab.files.of(side) if isinstance(self.vocab, ExistingVocab) else ()
            if any(address.endswith(".words.json") for address in files):
                yield (
                    f"limits.tokens: {files[0]} has its own steps, which are not known here; give them as vocab.words, "
                    "and its vocabulary as vocab.from"
                )
                return

    def _document_problems(self) -> Iterator[str]:
        if self.documents is None:
            return
        if not any(corpus.document is not None for _, corpus in self.corpora):
            yield "documents: no corpus has documents; give the key document to one"
        if self.records.layout == "packed":
            yield "documents: records of layout packed hold no documents; set records.layout to chunk"
        if self.documents.max_tokens > self.input.max_length:
            yield (
                f"documents.max_tokens is {self.documents.max_tokens}, and loaders skip rows of more than "
                f"input.max_length = {self.input.max_length} IDs; raise the latter, or lower the former"
            )
        if self.documents.piece is not None:
            yield from self._piece_problems("documents.separator", self.documents.piece)

    def _piece_problems(self, key: str, piece: str) -> Iterator[str]:
        """Yields a problem if a vocabulary to train lacks a piece; the pieces of a file are not known yet."""
        if isinstance(self.vocab, ExistingVocab):
            return
        known = (*self.vocab.special_pieces, *self.vocab.own_pieces)
        if piece not in known:
            yield (
                f"{key}: {piece!r} is not a piece of the vocabulary; add it to vocab.reserved (it has "
                f"{', '.join(known)})"
            )

    def _translate_problems(self) -> Iterator[str]:
        for split, corpus in self.corpora:
            if corpus.translate is None:
                continue
            where = f"splits.{split}.{corpus.name}"
            yield from (f"{where}.translate{problem}" for problem in self._made_problems(corpus, corpus.translate))
            if self.clean is not None and split not in self.clean.splits:
                yield f"{where}: pairs are made before they are cleaned; add {split} to clean.splits"
        if isinstance(self.vocab, ExistingVocab) or self.vocab.shared or self.sample.made:
            return
        real = {side for corpus in self.splits.get("train", ()) for side in self.real_sides(corpus)}
        for side in SIDES:
            if side not in real:
                yield (
                    f"sample: programs make the {side} side of all corpora of train, so its vocabulary has no text to "
                    "learn from; set made: true"
                )

    def _made_problems(self, corpus: Corpus, made: Translate) -> Iterator[str]:
        """Yields the problems of texts that become a side of a corpus."""
        value, sides = self.computed.get(made.by), corpus.read_sides
        if value is None:
            near, known = did_you_mean(made.by, self.computed), ", ".join(self.computed) or "none"
            yield f" names {made.by!r}{near or ';'} the section computed has {known}"
            return
        if value.output != "text":
            yield f" needs a text, and computed.{made.by}.output is number"
        if value.input not in (*sides, *((None,) if len(sides) == 1 else ())):
            wanted = f"set it to {sides[0]}" if len(sides) == 1 else "set it to source or target, the side to keep"
            yield f": computed.{made.by}.input is {value.input or 'pair'}; {wanted}"
        if made.keep != "first" and value.candidates == 1:
            yield f".keep chooses among candidates, and computed.{made.by}.candidates is 1; raise it"
        if made.context and corpus.document is None:
            yield ".context takes lines of the same document; give document, the name of each line's document"
        number = self.computed.get(made.best)
        if made.best == "chrf":
            if len(sides) == 1:
                yield (
                    ".keep: chrf compares candidates with the side that they replace, and the corpus has none; name a "
                    "value of computed, or use first or sample"
                )
        elif made.best and (number is None or number.output != "number" or number.input not in (None, "pair")):
            yield f".keep names {made.best!r}; name a value of computed with output: number and input: pair, or chrf"

    def _computed_problems(self) -> Iterator[str]:
        for name, value in self.computed.items():
            if name in ("corpus", "translation", "adequacy"):
                yield f"computed.{name}: the name has another meaning in rules; choose another one"
            translates = any(corpus.translate is not None for _, corpus in self.corpora)
            if value.output == "number" and self.clean is None and not translates:
                yield f"computed.{name}: numbers are computed for pairs that are cleaned; add the section clean"

    def _weight_problems(self) -> Iterator[str]:
        if self.weight is None:
            return
        name = self.weight.origin.removeprefix("score:")
        known = {score for _, corpus in self.corpora for score in corpus.scores}
        if self.clean is not None:
            known |= {"translation", "adequacy", *self.computed}
        if name not in known:
            yield (
                f"weight.from: no corpus has the score {name!r} (there is {', '.join(sorted(known)) or 'none'}); name "
                "one of scores of a corpus"
            )
        if self.records.layout == "packed":
            yield "weight: records of layout packed hold no weights; set records.layout to chunk"

    def _training_problems(self) -> Iterator[str]:
        if self.pairs is not None:
            return  # checked when corpora are divided by pairs
        corpora = {corpus.name for corpus in self.splits.get("train", ()) if corpus.role != "vocab"}
        if problem := self.training.problem(corpora):
            yield f"training.{problem}"

    def _frame_problems(self) -> Iterator[str]:
        """Yields the problems of tags and frames, whose pieces are known unless the vocabularies are files."""
        own = None if isinstance(self.vocab, ExistingVocab) else self.vocab.own_pieces
        tags = (
            (f"splits.{split}.{corpus.name}", *item) for split, corpus in self.corpora for item in corpus.tags.items()
        )
        for where, side, tag in tags:
            if self.vocab.frame.lacks_tag(side):
                yield f"{where}.tag.{side}: vocab.frame.{side} has no place for it; put {{tag}} into the frame"
            if own is not None and tag not in own and not (self.pairs and "{" in tag):
                yield (
                    f"{where}.tag.{side} is {tag!r}, which is not in vocab.reserved; add it there to make it a single "
                    "piece"
                )
        for side in SIDES:
            for piece in self.vocab.frame.pieces(side):
                yield from self._piece_problems(f"vocab.frame.{side}", piece)

    _file: Path | None = PrivateAttr(None)
    _base_dir: Path | None = PrivateAttr(None)

    @property
    def file(self) -> Path | None:
        """The absolute path of the file that the config was read from; None for a config from a mapping."""
        return self._file

    @property
    def base_dir(self) -> Path:
        """The base for relative local paths: by default the file's directory, else the working directory."""
        return self._base_dir or Path.cwd()

    def read_from(self, file: Path) -> Config:
        """Returns the config with the file that it was read from."""
        copy = self.model_copy()
        copy._file = file.absolute()
        copy._base_dir = copy._file.parent
        return copy

    def within(self, base_dir: str | os.PathLike[str]) -> Config:
        """Returns a config that was not read from a file, with a directory that its local paths are relative to."""
        copy = self.model_copy()
        copy._base_dir = Path(base_dir).absolute()
        return copy

    def languages_of(self, corpus: Corpus) -> Languages:
        """Returns the languages of a corpus's two sides."""
        return corpus.pair.languages if corpus.pair else self.languages

    def real_sides(self, corpus: Corpus) -> tuple[Side, ...]:
        """Returns the sides of a corpus's pairs that no program makes."""
        if corpus.translate is None or len(corpus.read_sides) == 1:
            return corpus.read_sides
        value = self.computed[corpus.translate.by]
        return tuple(side for side in SIDES if value.input == side)

    def made_side(self, corpus: Corpus) -> dict[str, str]:
        """Returns the corpus side that a program makes, the value's name, the program and its version, and `keep`."""
        if corpus.translate is None:
            return {}
        (side,) = (side for side in SIDES if side not in self.real_sides(corpus))
        value = self.computed[corpus.translate.by]
        facts = {"side": side, "value": corpus.translate.by, "program": value.name, "version": value.version}
        facts |= {"keep": corpus.translate.best or str(corpus.translate.keep)} if value.candidates > 1 else {}
        return {name: text for name, text in facts.items() if text}

    @property
    def corpora(self) -> list[tuple[str, Corpus]]:
        """All corpora with their splits, in order."""
        return [(split, corpus) for split, corpora in self.splits.items() for corpus in corpora]

    @property
    def divides(self) -> bool:
        """True if a corpus has a hold-out or a limit."""
        return any(corpus.is_divided for _, corpus in self.corpora)

    @property
    def own_splits(self) -> dict[str, tuple[Corpus, ...]]:
        """The corpora of each split, without hold-outs from train."""
        own = {split: tuple(each for each in corpora if not each.is_held_out) for split, corpora in self.splits.items()}
        return {split: corpora for split, corpora in own.items() if corpora}

    def with_held_out(self) -> Config:
        """Returns the config with the corpora that are held out from train, after the other corpora in their splits."""
        splits = {**self.splits}
        for corpus in self.splits["train"]:
            for each in corpus.hold_out:
                splits[each.split] = (*splits.get(each.split, ()), corpus.held_out())
        return self.model_copy(update={"splits": splits})

    def with_cleaning(self) -> Config:
        """Returns the config, with a section ``clean`` if a corpus is translated: the ``clean`` stage translates."""
        splits = tuple(dict.fromkeys(split for split, corpus in self.corpora if corpus.translate is not None))
        if self.clean is not None or not splits:
            return self
        return self.model_copy(update={"clean": CleanSettings(preset="none", splits=splits)})

    def with_limits(self) -> Config:
        """Returns the config with the token limits as the last cleaning rule."""
        if self.limits.tokens is None:
            return self
        clean = CleanSettings(preset="none") if self.clean is None else self.clean
        words = {side: self.vocab.words.of(side) for side in SIDES}
        rule = {**self.limits.tokens.model_dump(), "words": {side: steps_of_tokens(words[side]) for side in SIDES}}
        return self.model_copy(update={"clean": clean.model_copy(update={"rules": {**clean.rules, TOKENS: rule}})})

    def directed(self, split: str) -> tuple[Corpus, ...]:
        """Returns the corpora of a split, each followed by its other direction if both directions are used."""
        return tuple(each for corpus in self.splits[split] for each in (corpus, corpus.reverse) if each is not None)

    def shards(self, split: str) -> int:
        """Returns a split's shard count."""
        return self.records.shards.get(split, 1)

    def cleans(self, split: str) -> bool:
        """Returns true if the pairs of a split are cleaned."""
        return self.clean is not None and split in self.clean.splits

    @property
    def run_dir(self) -> Path:
        """The output directory as a path."""
        return Path(os.path.expanduser(self.output_dir))  # noqa: PTH111 - Path.expanduser fails without a home directory
