"""Matches the language pair of a catalogue with the config's."""

from __future__ import annotations

from nmt_prep.config.section import Languages
from nmt_prep.errors import ConfigError


def ordered(pair: tuple[str, str], languages: Languages, address: str) -> tuple[str, str]:
    """Returns the pair with the config's source first; ``zh_CN`` matches ``zh`` if there is no exact match.

    Raises:
        ConfigError: the languages differ.
    """
    wanted = languages.source, languages.target
    for spelling in (_tag, _language):
        first, second = spelling(pair[0]), spelling(pair[1])
        if (first, second) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair
        if (second, first) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair[1], pair[0]
    raise ConfigError(f"{address} is for {'-'.join(pair)}, but languages is {'-'.join(wanted)}; correct one of them")


def _tag(code: str) -> str:
    return code.lower().replace("_", "-")


def _language(code: str) -> str:
    return _tag(code).partition("-")[0]
