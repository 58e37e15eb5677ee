"""Checks BCP 47 language tags, with the languages of ISO 639-1 and 639-3 and private-use ones."""

from __future__ import annotations

import locale
import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from nmt_prep.config.problems import UNKNOWN_NAME
from nmt_prep.config.section import LANGUAGE, Languages, Tag

_TWO_LETTERS = re.compile(
    r"a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]"
    r"|i[adegiknostuw]|j[aivw]|k[agijklmnorsuvwy]|l[abginotuv]|m[ghiklnorsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]"
    r"|q[u]|r[mnouw]|s[acdeghiklmnoqrstuvw]|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|x[h]|y[io]|z[ahu]"
)
"""The two-letter languages of BCP 47. Tags of most configs match, so that langcodes need not be loaded."""


def check_language(tag: str) -> None:
    """Checks a language tag.

    Raises:
        PydanticCustomError: the tag is not valid; the message suggests the tag that was probably meant.
    """
    if _TWO_LETTERS.fullmatch(tag):
        return
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    if "_" not in tag and langcodes.tag_is_valid(tag):
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

    hyphened = tag.replace("_", "-")
    if langcodes.tag_is_valid(hyphened):
        return str(langcodes.standardize_tag(hyphened))
    first = hyphened.partition("-")[0].lower()
    alias = locale.locale_alias.get(first, "").partition("_")[0]
    if langcodes.tag_is_valid(alias):
        return alias
    if len(first) == 2:
        spoken = str(langcodes.Language.get(f"und-{first.upper()}").maximize().language)
        return None if spoken == "en" else spoken  # langcodes says en for unknown countries
    return None


def _checked(tag: str) -> str:
    check_language(tag)
    return tag


CheckedTag = Annotated[Tag, AfterValidator(_checked)]


class ConfigLanguages(Languages):
    """The languages of the two sides. Files and records may use other tags for them."""

    source: CheckedTag = Field(description=f"{LANGUAGE}: the language of the source side")
    target: CheckedTag = Field(description=f"{LANGUAGE}: the language of the target side")
