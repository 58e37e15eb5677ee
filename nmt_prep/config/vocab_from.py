"""The ``vocab`` section of a config that takes existing vocabulary files, instead of training new ones."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from nmt_prep.config.section import Section
from nmt_prep.config.url import Mirrors, is_hub_id, per_side
from nmt_prep.config.vocab_frame import FrameTexts
from nmt_prep.sides import SIDES, Side

_TRAINING = ("size", "shared", "reserved")

_MEANING = "a path relative to the config file, a URL, an id (hf:…), or a list of mirrors: the vocabulary file"


class VocabFiles(Section):
    """The vocabulary files of the two sides: one for both, or one each."""

    both: Mirrors | None = Field(None, description=f"{_MEANING} of both sides")
    source: Mirrors | None = Field(None, description=f"{_MEANING} of the source side")
    target: Mirrors | None = Field(None, description=f"{_MEANING} of the target side")

    @model_validator(mode="after")
    def _fits(self) -> VocabFiles:
        sides = (self.source is not None) + (self.target is not None)
        if sides != (0 if self.both is not None else 2):
            raise ValueError("give one file for both sides, or {source: …, target: …}")
        for mirrors in filter(None, (self.both, self.source, self.target)):
            if len(mirrors) > 1 and any(map(is_hub_id, mirrors)):
                raise ValueError("an hf: id names a whole repository, and has no mirrors")
        return self

    def of(self, side: Side) -> Mirrors:
        """Returns the addresses of the file of a side."""
        mirrors = self.both or getattr(self, side)
        assert mirrors is not None
        return tuple(mirrors)


class ExistingVocab(Section):
    """Vocabularies that exist already, in files of any dialect."""

    kind: str | None = Field(None, description="t2t, byte_bpe or sentencepiece: the dialect, which the files must have")
    files: Annotated[VocabFiles, BeforeValidator(per_side)] = Field(
        alias="from",
        description="a path relative to the config file, a URL, an id of a model (hf:owner/name), a list of mirrors, "
        "or {source: …, target: …}: existing vocabulary files, used instead of training",
    )
    id_layout: Literal["sentencepiece", "fairseq"] | None = Field(
        None, description="sentencepiece or fairseq: how the pieces of a SentencePiece model are numbered"
    )
    ids: Annotated[VocabFiles, BeforeValidator(per_side)] | None = Field(
        None,
        description="as from, or null: JSON files that give each piece of a SentencePiece model its id, such as the "
        "vocab.json of a MarianTokenizer",
    )
    frame: FrameTexts = Field(
        FrameTexts(),
        description="{source: …, target: …}: the special pieces around the ids of each row",
    )

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_trained(cls, values: object) -> object:
        if isinstance(values, dict):
            for key in _TRAINING:
                if key in values:
                    raise ValueError(f"{key} is for a vocabulary that is trained, and from names one; remove {key}")
        return values

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the names of the files, by side."""
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
        """Returns the key of the numbering of a side."""
        return "vocab.ids" if self.ids is None or self.ids.both is not None else f"vocab.ids.{side}"


def _suffix(address: str) -> str:
    return PurePosixPath(urlsplit(address).path if "://" in address else address).suffix
