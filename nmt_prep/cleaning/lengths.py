"""Line lengths in the units of rules, and usual text lengths per language.

- ``char``: code points, as in Python's ``len``.
- ``byte``: bytes of UTF-8.
- ``letter``: code points of the categories L*.
- ``token``: parts of ``str.split()``.
- ``word``: words, in languages with and without spaces between words. A token is one word if all its scripts are
  written with spaces. Other tokens are cut into runs of one script. A run of a script without spaces counts as its
  number of code points divided by the length of an average word, rounded to a whole number, at least 1. This length is
  1.6 for Han, 2 for Hiragana, 4 for Katakana (with ー), Thai and Lao, 5 for Khmer, Myanmar and Tibetan. A run of other
  characters counts as one word if it holds a letter or a number.

Usual lengths are relative to English translations. The numbers are estimates for general text in code points, rounded
to two digits. A language that is not in the table has Chinese's value if it is written in Han characters, otherwise
English's. For lengths in bytes, the number is multiplied by the average bytes of a code point in the language's script,
spaces and punctuation included.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from _nmt_prep_core import line_lengths

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Pairs, Values

Unit: TypeAlias = Literal["char", "byte", "letter", "token", "word"]


def lengths(pairs: Pairs, side: Side, unit: Unit) -> Values:
    """Returns every line's length on a side: float64, shape ``[pairs]``."""
    return pairs.keep(("length", side, unit), lambda: line_lengths(pairs.lines(side), unit))


# fmt: off
_CHARACTERS = {
    "af": 1.04, "am": 0.64, "ar": 0.90, "az": 1.06, "be": 1.04, "bg": 1.06, "bn": 0.97, "bs": 1.00, "ca": 1.13,
    "cs": 0.97, "cy": 1.04, "da": 1.03, "de": 1.13, "el": 1.19, "en": 1.00, "eo": 1.00, "es": 1.15, "et": 0.99,
    "eu": 1.06, "fa": 0.93, "fi": 1.06, "fil": 1.17, "fr": 1.17, "ga": 1.14, "gl": 1.13, "gu": 0.96, "ha": 1.06,
    "he": 0.80, "hi": 0.99, "hr": 1.00, "hu": 1.06, "hy": 1.06, "id": 1.10, "is": 1.01, "it": 1.15, "ja": 0.45,
    "ka": 1.08, "kk": 1.05, "km": 1.10, "kn": 1.05, "ko": 0.51, "ky": 1.04, "lo": 0.99, "lt": 1.00, "lv": 1.01,
    "mk": 1.05, "ml": 1.15, "mn": 1.05, "mr": 0.98, "ms": 1.10, "mt": 1.07, "my": 1.15, "nb": 1.00, "ne": 0.97,
    "nl": 1.10, "nn": 1.00, "no": 1.00, "pa": 0.97, "pl": 1.07, "ps": 0.95, "pt": 1.09, "ro": 1.12, "ru": 1.07,
    "si": 1.01, "sk": 0.99, "sl": 0.99, "so": 1.10, "sq": 1.08, "sr": 0.99, "sv": 1.01, "sw": 1.03, "ta": 1.18,
    "te": 1.01, "tg": 1.08, "th": 0.94, "tl": 1.17, "tr": 1.03, "uk": 1.02, "ur": 0.96, "uz": 1.10, "vi": 1.04,
    "xh": 1.04, "yue": 0.29, "zh": 0.29, "zu": 1.05,
}
_BYTES = {
    "Latn": 1.04, "Cyrl": 1.83, "Grek": 1.83, "Armn": 1.85, "Hebr": 1.80, "Arab": 1.80, "Hans": 2.85, "Hant": 2.85,
    "Jpan": 2.85, "Kore": 2.45, "Thai": 2.90, "Laoo": 2.85, "Khmr": 2.90, "Mymr": 2.90, "Geor": 2.75, "Ethi": 2.60,
    "Deva": 2.60, "Beng": 2.60, "Gujr": 2.60, "Guru": 2.55, "Taml": 2.75, "Telu": 2.70, "Knda": 2.75, "Mlym": 2.75,
    "Sinh": 2.60, "Tibt": 2.95,
}
# fmt: on
_VIETNAMESE_BYTES = 1.32


def expansion(tag: str, unit: Unit) -> float:
    """Returns a text's expected length in a language, divided by the code points in its English translation."""
    if unit in ("token", "word"):
        raise ValueError(f"factors: auto needs the unit char, letter or byte, but the unit is {unit}")
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    language = langcodes.Language.get(tag).maximize()
    characters = _CHARACTERS.get(language.language or "", 0.29 if language.script in ("Hans", "Hant") else 1.0)
    if unit != "byte":
        return characters
    return characters * (_VIETNAMESE_BYTES if language.language == "vi" else _BYTES.get(language.script or "", 1.04))
