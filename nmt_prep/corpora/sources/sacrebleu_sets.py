"""Test sets of sacrebleu: ``sacrebleu:<test set>/<pair>``, such as ``sacrebleu:wmt18/en-zh``.

``sacrebleu.dataset.DATASETS`` has the URLs of a set, and for each pair the members with the source and its references.
A corpus takes the first reference; an evaluation set takes all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.config import Languages
from nmt_prep.corpora.sources.catalogues import language_of, meant, ordered

SACREBLEU = "sacrebleu:"
ALL = "sacrebleu:all"  # stands for all sets that have the config's languages

_FORMATS = {
    "FakeSGMLDataset": "sgm",
    "IWSLTXMLDataset": "sgm",
    "PlainTextDataset": "plain",
    "TSVDataset": "tsv",
    "WMTAdditionDataset": "sgm",  # some references are plain text
    "WMTXMLDataset": "wmt_xml",
}


def sacrebleu_pairs(address: str, languages: Languages) -> tuple[str, ...]:
    """Returns the IDs of single pairs that an ID stands for."""
    sets = needed_extra("sacrebleu.dataset", "sacrebleu", address).DATASETS
    whole = address.removeprefix(SACREBLEU)
    name, _, pair = whole.rpartition("/")
    wanted = {language_of(languages.source), language_of(languages.target)}
    if address == ALL:
        found = tuple(f"{SACREBLEU}{name}/{pair}" for name in sorted(sets) for pair in _fitting(sets[name], wanted))
        if not found:
            raise ConfigError(f"{address}: sacrebleu has no test set of {' and '.join(sorted(wanted))}; remove it")
        return found
    if whole in sets:
        if not (fitting := _fitting(sets[whole], wanted)):
            pairs = ", ".join(sets[whole].langpairs)
            raise ConfigError(f"{address}: it has no pair of {' and '.join(sorted(wanted))}; its pairs are {pairs}")
        return tuple(f"{address}/{pair}" for pair in fitting)
    if name in sets:
        if pair not in sets[name].langpairs:
            raise ConfigError(f"{address}: the pairs of {name} are {', '.join(sets[name].langpairs)}")
        return (address,)
    near = meant(whole, sets) or meant(name, sets)
    raise ConfigError(
        f"{address}: sacrebleu has no test set {whole!r}{near}; an ID is sacrebleu:<test set> or sacrebleu:<test "
        "set>/<pair>, such as sacrebleu:wmt18/en-zh, and `sacrebleu --list` shows the sets"
    )


def _fitting(test_set: Any, wanted: set[str]) -> list[str]:
    spoken = {pair: set(map(language_of, pair.split("-"))) for pair in test_set.langpairs}
    return [pair for pair, both in spoken.items() if both == wanted or ("mul" in wanted and wanted - both == {"mul"})]


def describe_sacrebleu(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of a sacrebleu test set, with its first reference."""
    pairs = sacrebleu_pairs(address, languages)
    if pairs != (address,):
        raise ConfigError(f"{address} is a whole test set; name a pair of it: {', '.join(pairs)}")
    source, _, target = address.rpartition("/")[2].partition("-")
    swapped = ordered((source, target), languages, address) != (source, target)
    test_set, kind, members, references = _entry(address)
    if kind == "wmt_xml":
        return {**_in_one_file(test_set, kind, members), "swap": swapped, "references": references[:1] or None}
    if kind == "tsv":
        return _in_one_file(test_set, kind, members, swapped)
    if _kind(kind, members[0]) != _kind(kind, members[1]):
        raise ConfigError(f"{address}: its two sides are files of different formats; use it in decontaminate.against")
    return {**_files(test_set, members[:2], swapped), "format": kind}


def evaluation_corpora(address: str) -> list[dict[str, Any]]:
    """Returns the config keys of the corpora with all texts for one pair of a test set.

    Each reference file gives a corpus. A file that may not align with the source file is used for both sides.
    """
    test_set, kind, members, _ = _entry(address)
    if kind == "wmt_xml":
        return [{**_in_one_file(test_set, kind, members), "references": "all"}]
    if kind == "tsv":
        return [_in_one_file(test_set, kind, members)]
    source, *others = members
    alike = [each for each in others if _kind(kind, each) == _kind(kind, source) and not _in_two_archives(test_set)]
    pairs = [(source, each) for each in alike] or [(source, source)]
    pairs += [(each, each) for each in others if each not in alike]
    return [{**_files(test_set, pair), "format": _kind(kind, pair[1])} for pair in pairs]


def _entry(address: str) -> tuple[Any, str, list[str], tuple[str, ...]]:
    """Returns a test set, its format, and for one pair its members and the references in an XML file."""
    name, _, pair = address.removeprefix(SACREBLEU).rpartition("/")
    test_set = needed_extra("sacrebleu.dataset", "sacrebleu", address).DATASETS[name]
    kind = _FORMATS.get(type(test_set).__name__)
    if kind is None:
        raise ConfigError(f"{address}: {name} is in a format that nmt_prep does not read; use another set")
    members: Any = test_set.langpairs[pair]
    references = test_set.kwargs.get("refs", ())
    if isinstance(members, dict):
        members, references = [members["path"]], members.get("refs", references)
    return test_set, kind, members, tuple(filter(None, references))


def _kind(kind: str, member: str) -> str:
    return "plain" if re.search(r"\.(ref|txt)$", member) else kind


def _in_two_archives(test_set: Any) -> bool:
    return type(test_set).__name__ == "IWSLTXMLDataset"  # each language has an archive, with IDs of its own


def _in_one_file(test_set: Any, kind: str, members: list[str], swapped: bool = False) -> dict[str, Any]:
    known: dict[str, Any] = {"url": {"both": (test_set.data[0],)}, "format": kind}
    if kind == "wmt_xml":
        return {**known, "member": members[0]}
    columns = [int(entry.partition(":")[0]) for entry in members[:2]]  # members are written <column>:<member>
    columns_by_side = dict(zip(_sides(swapped), columns, strict=True))
    return {**known, "member": members[0].partition(":")[2], "columns": columns_by_side}


def _sides(swapped: bool) -> tuple[str, str]:
    return ("target", "source") if swapped else ("source", "target")


def _files(test_set: Any, members: Sequence[str], swapped: bool = False) -> dict[str, Any]:
    """Returns the keys ``url``, ``source`` and ``target`` for two text files."""
    places = [_place(test_set, member) for member in members]
    inside = {side: member for side, (_, member) in zip(_sides(swapped), places, strict=True) if member}
    if places[0][0] == places[1][0] and len(inside) == len(places):
        return {"url": {"both": (places[0][0],)}, **inside}
    return {"url": {side: (url,) for side, (url, _) in zip(_sides(swapped), places, strict=True)}, **inside}


def _place(test_set: Any, member: str) -> tuple[str, str | None]:
    """Returns a member's archive URL and the member, or a file's URL and None."""
    if len(test_set.data) == 1:
        return test_set.data[0], member
    top = member.partition("/")[0]
    for url in test_set.data:
        repository, _, file = url.split("/")[-3:]
        if member == f"{test_set.name.replace('/', '_')}.{file}":  # sacrebleu gives a file that is no archive this name
            return url, None
        stem = file.partition(".")[0]
        if top in (stem, f"{repository}-{stem}"):  # IWSLT archives, and archives of GitHub branches
            return url, member
    archives = [url for url in test_set.data if re.search(r"\.(tgz|tar\.gz|zip)$", url)]
    if not archives:
        raise ConfigError(f"sacrebleu:{test_set.name}: its file {member} is in none of its archives; use another set")
    return archives[-1], member
