"""Which language of a catalogue's pair is the config's source."""

from __future__ import annotations

from nmt_prep.config.section import Languages
from nmt_prep.errors import ConfigError


def ordered(pair: tuple[str, str], languages: Languages, address: str) -> tuple[str, str]:
    """The pair with the config's source first; ``zh_CN`` and ``zh`` are the same language where nothing fits better.

    Raises:
        ConfigError: the languages are others.
    """
    wanted = languages.source, languages.target
    for spelling in (_tag, _language):
        first, second = spelling(pair[0]), spelling(pair[1])
        if (first, second) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair
        if (second, first) == (spelling(wanted[0]), spelling(wanted[1])):
            return pair[1], pair[0]
    raise ConfigError(f"{address} is for {'-'.join(pair)}, but languages are {'-'.join(wanted)}; correct one of them")


def _tag(code: str) -> str:
    return code.lower().replace("_", "-")


def _language(code: str) -> str:
    return _tag(code).partition("-")[0]
