"""Finds the scripts of languages, as the numbers that the native core uses for scripts."""

from __future__ import annotations

from _nmt_prep_core import script_names, script_of_name

_SCRIPTS_OF_SYSTEMS = {
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Jpan": ("Han", "Hiragana", "Katakana"),
    "Kore": ("Hangul", "Han"),
    "Hanb": ("Han", "Bopomofo"),
}
_COMMON, _INHERITED = 0, 1


def script_number(name: str) -> int:
    """Returns the number that native functions use for a script.

    Raises:
        ValueError: there is no such script.
    """
    number = script_of_name(name)
    if number < 0:
        names = ", ".join(long.capitalize() for long, _ in script_names()[3:])
        raise ValueError(f"there is no script {name!r} (scripts: {names})")
    return number


def scripts_of_language(tag: str) -> list[int]:
    """Returns the numbers of the scripts that a language is written in, Common and Inherited included.

    Raises:
        ValueError: the script of the language is not known.
    """
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    system = langcodes.Language.get(tag).maximize().script
    if system is None:
        raise ValueError(f"the script of the language {tag!r} is not known; name it with the key script")
    names = _SCRIPTS_OF_SYSTEMS.get(system, (system,))
    return [*(script_number(name) for name in names), _COMMON, _INHERITED]
