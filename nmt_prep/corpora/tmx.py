"""Reader of Translation Memory eXchange (TMX) up to version 1.4: units with one variant per language."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.markup import Document, XmlReader, matches
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.errors import CorpusError


class _Tmx(Document):
    """Gives a pair for each ``tu``: per language the variant with the same tag, or the first regional one."""

    root: ClassVar[str] = "tmx"
    codes: ClassVar[frozenset[str]] = frozenset({"bpt", "ept", "it", "ph", "ut"})

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        super().__init__(corpus, languages, path, builder)
        self._fits: dict[str, tuple[int, int]] = {}
        self._fit = (0, 0)
        self._best = [0, 0]
        self._texts: list[str | None] = [None, None]
        self._faults = [0, 0]
        self._seen = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "seg":
            if self._fit != (0, 0):
                self.gather()
        elif name == "tuv":
            tag = attributes.get("xml:lang") or attributes.get("lang", "")
            self._fit = self._fits.get(tag) or self._fit_of(tag)
        elif name == "tu":
            self._best, self._texts, self._faults = [0, 0], [None, None], [0, 0]

    def end(self, name: str) -> None:
        if name == "seg":
            if self._gathering:
                text = self.gathered()
                for side in (0, 1):
                    if self._fit[side] > self._best[side]:
                        self._best[side], self._texts[side] = self._fit[side], text
                        self._faults[side] = self.fault
        elif name == "tuv":
            self._fit = (0, 0)
        elif name == "tu":
            source, target = self._texts
            self._seen = self._seen or (source is not None and target is not None)
            self.builder.add(source, target, self._faults[0] or self._faults[1])

    def finish(self) -> None:
        if self._fits and not self._seen:
            raise CorpusError(
                f"{self.path} has no unit in both {self.languages.source} and {self.languages.target}, only in "
                f"{', '.join(sorted(self._fits))}; set languages of the corpus in the config to the tags in the file"
            )

    def _fit_of(self, tag: str) -> tuple[int, int]:
        if len(self._fits) >= 1000:
            raise self.error("more than 1000 different languages are refused")
        fit = matches(self.languages.source, tag), matches(self.languages.target, tag)
        self._fits[tag] = fit
        return fit


class TmxReader(XmlReader):
    """Reads TMX; formatting codes inside a segment are removed, the text of highlights is kept."""

    suffixes: ClassVar[tuple[str, ...]] = (".tmx",)
    document: ClassVar[type[Document]] = _Tmx
