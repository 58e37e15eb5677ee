"""The scripts in which text of a language may be written."""

from __future__ import annotations

from nmt_prep.cleaning.scripts import script_number, scripts_of_language

_OTHERS = {
    "Latin": "az be ber bs cnr crh ff ha hbs iu kab kk kok ku ky lad mn ms sh shi sr tg tk tt ug uz wo yi zgh",
    "Cyrillic": "az bs cnr crh hbs kk ku mo ro sh sr tk tt ug uz",
    "Arabic": "az ber ha kab kk ks ku ky ms pa sd shi tg tk uz wo zgh",
    "Devanagari": "kok ks pi sa sat sd",
    "Gurmukhi": "pa",
    "Bengali": "mni sat",
    "Meetei Mayek": "mni",
    "Mongolian": "mn",
    "Tifinagh": "ber kab shi zgh",
    "Canadian Aboriginal": "cr iu",
    "Adlam": "ff",
    "Hebrew": "lad",
}
"""Languages that are also written in a script that their tag does not imply, by script."""


def scripts_in_use(tag: str) -> list[int]:
    """Returns the numbers of the scripts of a language; empty if they are unknown.

    A script in the tag excludes the others: ``sr`` is Cyrillic or Latin, ``sr-Latn`` is Latin.
    """
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    try:
        language = langcodes.Language.get(tag)
        scripts = scripts_of_language(tag)
    except ValueError:
        return []
    likely = language.maximize()
    if language.script is None and likely.language != "en" and (likely.script, likely.territory) == ("Latn", "US"):
        return []  # CLDR does not know the language, and answers with American English
    if language.script is not None:
        return scripts
    return [*scripts, *(script_number(name) for name, tags in _OTHERS.items() if language.language in tags.split())]
