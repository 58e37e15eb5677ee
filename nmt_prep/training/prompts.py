"""Prompts for language model rows: templates that are filled with the pairs' texts, a batch at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import concatenated, joined_items
from nmt_prep.base.digests import check_regular, seed_of
from nmt_prep.base.errors import ConfigError
from nmt_prep.base.runtime import kept, needed_extra
from nmt_prep.config import Config
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.prompts import LANGUAGES, LanguageNames, PromptSettings, prompt_parts
from nmt_prep.training.modifiers.draws import mixed, scrambled

_LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "ig": "Igbo", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "ky": "Kyrgyz", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "mg": "Malagasy", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch",
    "nn": "Norwegian Nynorsk", "no": "Norwegian", "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sd": "Sindhi", "si": "Sinhala", "sk": "Slovak",
    "sl": "Slovenian", "so": "Somali", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "tg": "Tajik", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "tt": "Tatar",
    "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "xh": "Xhosa", "yo": "Yoruba", "zh": "Chinese",
    "zu": "Zulu",
}  # fmt: skip

_LARGEST_GLOSSARY = 1 << 26  # bytes
_TERMS_OF_PAIR = 50
_WORD = re.compile(r"\w")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def language_name(code: str, names_in: str = "en") -> str | None:
    """Returns a language's name, given its tag, in another language; None for an unknown language."""
    own = code.replace("_", "-")
    if names_in == "en" and (known := _LANGUAGES.get(own.partition("-")[0].lower())) is not None:
        return known
    langcodes = needed_extra("langcodes", "chat", f"the name of the language {code} in {names_in}", ConfigError)
    needed_extra("language_data", "chat", f"the name of the language {code} in {names_in}", ConfigError)
    try:
        language = langcodes.Language.get(own)
        name = str(language.display_name(names_in))
    except ValueError:
        return None
    return None if not language.is_valid() or name.endswith("]") else name  # an unknown code is in brackets


@dataclass(frozen=True)
class Prompter:
    """Fills the prompts for a split's pairs."""

    prompts: tuple[tuple[str, ...], ...]  # texts and fields of each prompt by turns
    shares: tuple[int, ...]  # a prompt is drawn if a number below 2**32 is below its entry, and not below earlier ones
    languages: tuple[tuple[str, ...], ...]  # for each corpus, the texts for the fields `LANGUAGES`
    system: str | None
    seed: int
    split: str
    glossary: Path | None = None
    examples: int = 0  # number of examples in a row
    pools: tuple[Path | None, ...] = ()  # for each corpus the file of the pairs that examples are drawn from

    @classmethod
    def of(
        cls,
        settings: PromptSettings,
        pairs: Sequence[LanguagePair],
        split: str,
        seed: int,
        glossary: Path | None = None,
        pools: Sequence[Path | None] = (),
    ) -> Self:
        """Returns a split's prompts, given each corpus's language pair."""
        total = sum(Fraction(prompt.share) for prompt in settings.prompts)
        below, shares = Fraction(0), list[int]()
        for prompt in settings.prompts:
            below += Fraction(prompt.share)
            shares.append(-(-(below * 2**32) // total))
        return cls(
            prompts=tuple(tuple(prompt_parts(prompt.text)) for prompt in settings.prompts),
            shares=tuple(map(int, shares)),
            languages=tuple(_language_texts(settings, pair) for pair in pairs),
            system=settings.system,
            seed=seed,
            split=split,
            glossary=glossary,
            examples=settings.examples if "examples" in settings.fields else 0,
            pools=tuple(pools),
        )

    def has(self, field: str) -> bool:
        """Returns true if a prompt has a field."""
        return any(field in parts[1::2] for parts in self.prompts)

    @property
    def systems(self) -> list[str | None]:
        """The system turn of each corpus."""
        if self.system is None:
            return [None] * len(self.languages)
        parts, names = prompt_parts(self.system), [dict(zip(LANGUAGES, own, strict=True)) for own in self.languages]
        return ["".join(own[part] if number % 2 else part for number, part in enumerate(parts)) for own in names]

    def filled(
        self,
        sources: pa.Array,
        targets: pa.Array,
        corpora: npt.NDArray[np.int32],
        first: int,
        context: pa.Array | None = None,
    ) -> pa.Array:
        """Returns the prompts of consecutive pairs, ``large_string``.

        Args:
            sources: texts of the source side, ``large_string``.
            targets: texts of the target side, ``large_string``.
            corpora: corpus index of each pair.
            first: index of the first pair, by which prompts and examples are drawn.
            context: what precedes the sources in their documents, ``large_string``; None for nothing.
        """
        choice = drawn(self.seed, self.split, first, len(sources), self.shares)
        groups = np.asarray(corpora, np.int64) * len(self.prompts) + choice
        made, places = list[pa.Array](), list[npt.NDArray[np.int64]]()
        for group in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == group)
            taken = pa.array(rows)
            corpus, prompt = divmod(group, len(self.prompts))
            fields: dict[str, pa.Array | str] = dict(zip(LANGUAGES, self.languages[corpus], strict=True))
            fields["source"] = sources.take(taken)
            parts = self.prompts[prompt]
            if "document context" in parts[1::2]:
                fields["document context"] = "" if context is None else context.take(taken)
            if "glossary" in parts[1::2]:
                assert self.glossary is not None
                fields["glossary"] = _glossary(self.glossary).column(fields["source"], targets.take(taken))
            if "examples" in parts[1::2]:
                fields["examples"] = self._examples(corpus, fields["source"], first + rows)
            columns = (fields[part] if number % 2 else part for number, part in enumerate(parts))
            made.append(concatenated(*columns))
            places.append(rows)
        if len(made) == 1:
            return made[0]
        joined = pa.concat_arrays(made) if made else sources
        return joined.take(pa.array(np.argsort(np.concatenate([np.empty(0, np.int64), *places]))))

    def _examples(self, corpus: int, sources: pa.Array, numbers: npt.NDArray[np.int64]) -> pa.Array | str:
        """Returns the examples for rows: as many from the pool as requested, without the row's own source."""
        path = self.pools[corpus]
        pool = None if path is None else _pool(path)
        if pool is None or not len(pool[0]):
            return ""
        size = len(pool[0])
        count = min(self.examples + 1, size)
        keys = np.array([seed_of(f"nmt_prep examples 1\n{self.seed}\n{self.split}")], np.uint64)
        random = mixed(keys, numbers)
        start, step = random % np.uint64(size), scrambled(random) % np.uint64(max(size - 1, 1)) + np.uint64(1)
        # A prime number of pairs is visited whole by any step, so that the examples of a row differ.
        chosen = (start[:, None] + np.arange(count, dtype=np.uint64) * step[:, None]) % np.uint64(size)
        flat = pa.array(chosen.ravel().astype(np.int64))
        repeated = sources.take(pa.array(np.repeat(np.arange(len(sources)), count)))
        own = np.asarray(pc.equal(pool[0].take(flat), repeated)).reshape(-1, count)
        own[~own.any(axis=1), -1] = count > self.examples  # one more was drawn than is needed
        names = self.languages[corpus]
        lines = concatenated(f"{names[0]}: ", pool[0].take(flat), f"\n{names[1]}: ", pool[1].take(flat))
        offsets = np.concatenate([[0], np.cumsum((~own).sum(axis=1))])
        return joined_items(lines.filter(pa.array(~own.ravel())), offsets, "\n\n")


def drawn(seed: int, split: str, first: int, count: int, shares: Sequence[int]) -> npt.NDArray[np.int64]:
    """Draws prompts for consecutive pairs of a split; int64, shape ``[count]``.

    A draw depends only on the pair's index, seed and split.
    """
    key = np.array([seed_of(f"nmt_prep prompts 1\n{seed}\n{split}")], np.uint64)
    random = mixed(key, np.arange(first, first + count) - 1) >> np.uint64(32)
    return np.searchsorted(np.array(shares, np.uint64), random, side="right")


def _language_texts(settings: PromptSettings, pair: LanguagePair) -> tuple[str, ...]:
    names = settings.language_names
    if isinstance(names, LanguageNames):
        return names.source, names.target, *pair
    if not settings.names_languages:
        return "", "", *pair
    return *(language_name(code, names or "en") or "" for code in pair), *pair


def language_problems(settings: PromptSettings, config: Config) -> Iterator[str]:
    """Yields the problems of the ``language_names`` key: a language without a name, if prompts name it."""
    names_in = settings.language_names or "en"
    if isinstance(names_in, LanguageNames):
        if config.pairs is not None:
            yield "is for one language pair; remove it"
        return
    pairs = {config.languages_of(corpus) for split in config.splits for corpus in config.directed(split)}
    for code in sorted(
        {code for pair in pairs for code in (pair.source, pair.target)} if settings.names_languages else ()
    ):
        if language_name(code, names_in) is None:
            name = "English name" if names_in == "en" else f"name in {names_in}"
            yield f"the {name} of the language {code} is not known; set this key to {{source: …, target: …}}"


@kept(8)
def _pool(path: Path) -> tuple[pa.Array, pa.Array]:
    """Returns the pairs that examples are drawn from; their number is prime."""
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        table = reader.read_all()
    size = next(
        (size for size in range(len(table), 1, -1) if all(size % factor for factor in range(2, int(size**0.5) + 1))),
        len(table),
    )
    columns = [table.column(name).combine_chunks().cast(pa.large_string()) for name in ("source", "target")]
    return columns[0][:size], columns[1][:size]


class Glossary:
    """A list of terms, which are found in texts whatever their case."""

    def __init__(self, terms: Sequence[tuple[str, str]]) -> None:
        self._begins: dict[str, list[tuple[str, str, str]]] = {}
        for source, target in sorted(terms, key=lambda term: -len(term[0])):
            own = source.lower()
            self._begins.setdefault(own[:2], []).append((own, target.lower(), f"{source} = {target}"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file with a term per line, its source and target separated by a tab."""
        try:
            check_regular(path)
            if path.stat().st_size > _LARGEST_GLOSSARY:
                raise ConfigError(f"{path}: a glossary has at most {_LARGEST_GLOSSARY >> 20} MiB; shorten it")
            lines = path.read_bytes().decode().removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"{path}: the glossary cannot be read: {reason}; name a UTF-8 file") from error
        terms = []
        for number, line in enumerate(lines, 1):
            sides = [side.strip() for side in line.split("\t")]
            if len(sides) < 2 or not sides[0] or not sides[1]:
                raise ConfigError(
                    f"{path}, line {number}: a term is its source, a tab and its target; correct the line"
                )
            terms.append((sides[0], sides[1]))
        return cls(terms)

    def terms(self, source: str, target: str) -> list[str]:
        """Returns the terms whose source is in the source text and whose target is in the target text."""
        source, target = source.lower(), target.lower()
        found: dict[str, None] = {}
        for place in range(len(source)):
            for own, other, shown in self._begins.get(source[place : place + 2], ()) or self._begins.get(
                source[place], ()
            ):
                if shown not in found and _is_at(own, source, place) and _occurs(other, target):
                    found[shown] = None
                    break
            if len(found) >= _TERMS_OF_PAIR:
                break
        return list(found)

    def column(self, sources: pa.Array, targets: pa.Array) -> pa.Array:
        """Returns the terms of pairs, a line each."""
        rows = zip(sources.to_pylist(), targets.to_pylist(), strict=True)
        return pa.array(["\n".join(self.terms(*row)) for row in rows], pa.large_string())


_glossary = kept(2)(Glossary.load)


def _is_at(term: str, text: str, place: int) -> bool:
    """Returns True if a term is at a place in a text, and is not part of a longer word."""
    end = place + len(term)
    return (
        text.startswith(term, place)
        and _apart(text[place - 1 : place], term[0])
        and _apart(term[-1], text[end : end + 1])
    )


def _apart(before: str, after: str) -> bool:
    if not before or not after or _UNSPACED.match(before) or _UNSPACED.match(after):
        return True
    return not (_WORD.match(before) and _WORD.match(after))


def _occurs(term: str, text: str) -> bool:
    place = text.find(term)
    while place >= 0 and not _is_at(term, text, place):
        place = text.find(term, place + 1)
    return place >= 0
