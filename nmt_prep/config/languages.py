"""Checks BCP 47 language tags, with the languages of ISO 639-1 and 639-3 and private-use ones."""

from __future__ import annotations

import locale
import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from nmt_prep.config.problems import UNKNOWN_NAME
from nmt_prep.config.section import LANGUAGE, Languages

_TAG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_TWO_LETTERS = re.compile(
    r"a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]"
    r"|i[adegiknostuw]|j[aivw]|k[agijklmnorsuvwy]|l[abginotuv]|m[ghiklnorsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]"
    r"|q[u]|r[mnouw]|s[acdeghiklmnoqrstuvw]|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|x[h]|y[io]|z[ahu]"
)
"""The two-letter languages of BCP 47. Tags of most configs match, so that langcodes need not be loaded."""


_SCRIPTS = {"@latin": "-Latn", "@cyrillic": "-Cyrl", "@devanagari": "-Deva"}


def hyphened(tag: str) -> str:
    """Returns a tag of a file or of OPUS in the form of BCP 47: de-DE for de_DE, sr-Latn for sr@latin."""
    for modifier, script in _SCRIPTS.items():
        tag = tag.replace(modifier, script)
    return tag.replace("_", "-").replace("@", "-")


def check_language(tag: str) -> None:
    """Checks a language tag."""
    if _TWO_LETTERS.fullmatch(tag):
        return
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    if _TAG.fullmatch(tag) and langcodes.tag_is_valid(tag):
        return
    near = suggestion(tag)
    hint = f"; did you mean {near}?" if near else ""
    raise PydanticCustomError(
        UNKNOWN_NAME,
        "found the text {tag}, which is not a language tag{hint} (allowed: a language tag such as en, zh or pt-BR)",
        {"tag": repr(tag), "hint": hint},
    )


def suggestion(tag: str) -> str | None:
    """Returns the tag that was probably meant by an invalid one, or None.

    ``de_DE`` gives de-DE. A language's name is looked up in the locale aliases; a country's code gives its language.
    """
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    name = hyphened(tag)
    if langcodes.tag_is_valid(name):
        return str(langcodes.standardize_tag(name))
    first = name.partition("-")[0].lower()
    alias = locale.locale_alias.get(first, "").partition("_")[0]
    if langcodes.tag_is_valid(alias):
        return alias
    if len(first) == 2:
        spoken = str(langcodes.Language.get(f"und-{first.upper()}").maximize().language)
        return None if spoken == "en" else spoken  # langcodes says en for unknown countries
    return None


def _checked_tag(tag: str) -> str:
    check_language(tag)
    return tag


CheckedTag = Annotated[
    str, AfterValidator(_checked_tag), WithJsonSchema({"type": "string", "pattern": f"^{_TAG.pattern}$"})
]


def spoken_of(tag: str, otherwise: str) -> str:
    """Returns the language of a tag in a file, or another one for a tag such as ``English``, which is not of BCP 47."""
    try:
        check_language(hyphened(tag))
    except PydanticCustomError:
        return otherwise
    return hyphened(tag)


_FileTag = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
_IN_FILE = "a text such as en, en_US, sr@latin or English"


class FileLanguages(Languages):
    """The languages of the two sides as a file names them, or in a config with pairs, language tags."""

    source: _FileTag = Field(description=f"{_IN_FILE}: the language of the source side")
    target: _FileTag = Field(description=f"{_IN_FILE}: the language of the target side")


class ConfigLanguages(Languages):
    """The languages of the two sides. Files and records may use other tags for them."""

    source: CheckedTag = Field(description=f"{LANGUAGE}: the language of the source side")
    target: CheckedTag = Field(description=f"{LANGUAGE}: the language of the target side")
