"""Tags: hints in the source that translate single words, as for terminology."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from _nmt_prep_core import tag_lines

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block, LineModifier, check_share, check_text
from nmt_prep.training.modifiers.noise import RANGES
from nmt_prep.training.modifiers.retokenize import Side, retokenized


class Tags(LineModifier):
    """Changes words that are linked with a single, different word, each with the same probability.

    Args:
        probability: probability that such a word is changed.
        tag: share of words that get the target word as a hint, in the template's form.
        replace: share of the words whose target word and hint become random words.
        augment: share of the words after which random words are inserted on both sides.
        template: text in place of the source word.
        custom_detok_src: detokenizer of the source, see :class:`~nmt_prep.training.modifiers.retokenize.Retokenize`.
        custom_detok_trg: detokenizer of the target.
        spm_vocab_src: vocabulary of the source, whose pieces the links then count.
        spm_vocab_trg: vocabulary of the target.
        base_dir: the directory that the vocabularies' paths are relative to.
    """

    needs_links = True

    def __init__(
        self,
        probability: float,
        custom_detok_src: str | None = None,
        custom_detok_trg: str | None = None,
        spm_vocab_src: str | None = None,
        spm_vocab_trg: str | None = None,
        template: str = "__source__ {src} __target__ {trg} __done__",
        augment: float = 0,
        replace: float = 0,
        tag: float = 1,
        base_dir: Path = Path(),
    ) -> None:
        super().__init__(probability)
        check_share(augment=augment, replace=replace, tag=tag, augment_and_replace=augment + replace)
        check_text(template=template)
        if augment + replace + tag < 1:
            raise ValueError("augment, replace and tag sum to less than 1, so some words would have no change")
        if sorted(re.findall(r"\{\w*\}", template)) != ["{src}", "{trg}"]:
            raise ValueError(f"template is {template!r}; it must have {{src}} and {{trg}} once each")
        self.shares = (float(augment), float(replace), float(tag))
        before, first, between, _, after = re.split(r"(\{src\}|\{trg\})", template)
        self.form, self.source_first = (before, between, after), first == "{src}"
        detokenizers = [
            name if name is None or ":" in name else f"moses:{name}" for name in (custom_detok_src, custom_detok_trg)
        ]
        if any((name or "").startswith("icu") for name in detokenizers) and (replace or tag):
            raise ValueError("ICU tokens need augment: 1, replace: 0 and tag: 0")
        models = [name and f"spm:{name}" for name in (spm_vocab_src, spm_vocab_trg)]
        self.sides = [Side.of(detok, model, base_dir) for detok, model in zip(detokenizers, models, strict=True)]
        self.makes_pieces = any(models)

    def __call__(self, block: Block) -> Block:
        if block.links is not None:
            columns = (TextColumn.from_arrow(column) for column in (block.source, block.target, block.links))
            source, target, links = ((column.data, column.offsets) for column in columns)
            tagged = tag_lines(
                source,
                target,
                links,
                block.keys,
                self.probability,
                self.shares,
                self.form,
                self.source_first,
                (self.sides[0].detokenizer == "icu", self.sides[1].detokenizer == "icu"),
                RANGES,
                block.units == "spaced",
            )
            block = dataclasses.replace(
                block,
                source=TextColumn(*tagged[:2]).to_arrow(),
                target=TextColumn(*tagged[2:4]).to_arrow(),
                links=TextColumn(*tagged[4:]).to_arrow(),
            )
        return retokenized(block, self.sides[0], self.sides[1])
