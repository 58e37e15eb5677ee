"""Understands what names a corpus on the command line or in an answer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from nmt_prep.archives import without_suffix
from nmt_prep.archives.compression import decompressed
from nmt_prep.archives.contents import Opened, contents_of
from nmt_prep.config import Corpus, ExtractSettings, Languages
from nmt_prep.config.url import is_hub_id
from nmt_prep.corpora import format_of, reader_of
from nmt_prep.errors import ArgumentError
from nmt_prep.file_kinds import kind_of
from nmt_prep.sources.catalogues import describe_mtdata, ordered, parse_id, sacrebleu_pairs
from nmt_prep.sources.hub import repository_address

_ARCHIVE = re.compile(r"\.(zip|tgz|tbz2?|txz|tar(\.(gz|bz2|xz|zst))?)$", re.IGNORECASE)


@dataclass(frozen=True)
class DraftCorpus:
    """A corpus of a draft: its name, and its other keys."""

    name: str
    keys: dict[str, Any]


def corpus_of(text: str, languages: Languages, config_dir: Path) -> DraftCorpus:
    """Returns the corpus that an option or an answer names.

    Args:
        text: an id (``opus:…``, ``mtdata:…``, ``sacrebleu:…``, ``hf:…``), a path or URL of a file with both sides, two
            of them with a comma between them, or an archive, followed by ``::`` and its members.
        languages: source and target.
        config_dir: directory of the config; local paths are relative to it there, and to the working directory here.

    Raises:
        ArgumentError: the text names nothing that can be a corpus.
        ConfigError: a catalogue has no such corpus, or is not installed.
    """
    if (corpus := _of_id(text, languages)) is not None:
        return corpus
    address, members = _without_members(text)
    files = [address] if Path(address).exists() else address.split(",")
    files = [os.path.expanduser(file) if _is_local(file) else file for file in files]  # noqa: PTH111 - as in configs
    if len(files) > 2 or not all(files):
        raise ArgumentError(f"{text}: expected a file, or two files with a comma between them")
    for file in files:
        _check_exists(file)
    urls = [_relative(file, config_dir) for file in files]
    name = _name_of(files)
    if len(files) == 2:
        return DraftCorpus(name, {"url": {"source": urls[0], "target": urls[1]}})
    if members or _ARCHIVE.search(_path_of(address)):
        return DraftCorpus(name, {"url": urls[0], **_members(text, address, members, languages)})
    return DraftCorpus(name, {"url": urls[0], **_format(text, address, languages)})


def _of_id(text: str, languages: Languages) -> DraftCorpus | None:
    """Returns the corpus of an id; None if the text is none."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "opus":
        return _of_opus(rest, languages)
    if colon and kind == "mtdata":
        describe_mtdata(text, languages)
        return of_mtdata(rest)
    if colon and kind == "sacrebleu":
        return _of_sacrebleu(text, languages)
    return _of_hub(text) if is_hub_id(text) else None


def _of_opus(rest: str, languages: Languages) -> DraftCorpus:
    parts = rest.split("/")
    if len(parts) == 2:
        parts.append(f"{languages.source}-{languages.target}")
    if len(parts) != 3 or not all(parts):
        raise ArgumentError(
            f"opus:{rest}: expected <corpus>/<version>, such as opus:Europarl/v8; https://opus.nlpl.eu lists them"
        )
    address = f"opus:{'/'.join(parts)}"
    named = parse_id(address)
    ordered(named.languages, languages, address)
    return DraftCorpus(safe_name(f"{named.corpus}-{named.version}"), {"url": address})


def of_mtdata(name: str) -> DraftCorpus:
    """Returns the corpus of an id of mtdata, without looking it up."""
    return DraftCorpus(safe_name("-".join(name.split("-")[:3])), {"url": f"mtdata:{name}"})


def _of_sacrebleu(text: str, languages: Languages) -> DraftCorpus:
    found = sacrebleu_pairs(text, languages)
    right = f"/{languages.source}-{languages.target}"
    address = next((each for each in found if each.endswith(right)), found[0])
    return DraftCorpus(safe_name(address.removeprefix("sacrebleu:").rpartition("/")[0]), {"url": address})


def _of_hub(text: str) -> DraftCorpus:
    repository, config = repository_address(text, "datasets")
    name = repository.repository.rpartition("/")[2]
    return DraftCorpus(safe_name(name if config is None else f"{name}-{config}"), {"url": text})


def _without_members(text: str) -> tuple[str, list[str]]:
    """Returns the address before ``::``, and the members after it. An IPv6 host contains ``::`` too."""
    address, marks, rest = text.rpartition("::")
    return (address, rest.split(",")) if marks and "]" not in rest else (text, [])


def _is_local(address: str) -> bool:
    return "://" not in address


def _path_of(address: str) -> str:
    return address if _is_local(address) else urlsplit(address).path


def _check_exists(file: str) -> None:
    """Checks that a local file exists.

    Raises:
        ArgumentError: it does not; the message names the nearest file of its directory.
    """
    path = Path(file)
    if not _is_local(file) or path.is_file():
        return
    if path.is_dir():
        raise ArgumentError(f"{file} is a directory; name a file")
    beside = [each.name for each in path.parent.iterdir() if each.is_file()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, sorted(beside), n=1)
    meant = f"; did you mean {path.parent / near[0]}?" if near else ""
    raise ArgumentError(f"{file} does not exist{meant}")


def _relative(file: str, config_dir: Path) -> str:
    if not _is_local(file) or Path(file).is_absolute():
        return file
    return Path(os.path.relpath(file, config_dir)).as_posix()


def _name_of(files: Sequence[str]) -> str:
    """Returns a name for a corpus from the names of its files: what they have in common."""
    names = [without_suffix(_path_of(file).rpartition("/")[2]) for file in files]
    if len(names) == 2:
        common = "".join(first for first, _ in takewhile(lambda both: both[0] == both[1], zip(*names, strict=False)))
    else:
        common = re.sub(r"(\.tar)?\.[A-Za-z0-9]+$", "", names[0])
    return safe_name(common) or safe_name(names[0]) or "corpus"


def safe_name(text: str) -> str:
    """Returns a text with the characters that names in a config may have; it may be empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-")[:100]


def _members(text: str, address: str, members: list[str], languages: Languages) -> dict[str, str]:
    """Returns the members of an archive: as given, or those of a local archive whose names end in the languages."""
    if len(members) == 2:
        return {"source": members[0], "target": members[1]}
    if len(members) == 1:
        return {"member": members[0]}
    if members:
        raise ArgumentError(f"{text}: expected one member, or two with a comma between them")
    if not _is_local(address):
        raise ArgumentError(f"{text}: name the members of the archive, such as {address}::train.en,train.de")
    names = _names_in(Path(address))
    sides = [[name for name in names if _ends_in(name, language)] for language in (languages.source, languages.target)]
    if len(sides[0]) == len(sides[1]) == 1:
        return {"source": sides[0][0], "target": sides[1][0]}
    tables = [name for name in names if reader_of(_format_of(address, name)).parts == ("both",)]
    if len(tables) == 1 and not any(sides):
        return {"member": tables[0]}
    listed = ", ".join(names[:10]) + f" and {len(names) - 10} more" * (len(names) > 10)
    raise ArgumentError(f"{text}: name the members of the archive after ::, with a comma between them; it has {listed}")


def _names_in(path: Path) -> list[str]:
    """Returns the names of the members of a local archive.

    Raises:
        ArgumentError: it is damaged, or no archive.
    """
    with path.open("rb") as file:
        opened = Opened(path, path.name, path.stat().st_size, file, whole=True, path=path)
        found = contents_of(opened, [], lambda _: path, ExtractSettings(), 1 << 62)
    if found.faults:
        raise ArgumentError(str(found.faults[0][1]))
    if found.kind == "file":
        raise ArgumentError(f"{path} is no archive, in spite of its name")
    return found.names


def _ends_in(name: str, language: str) -> bool:
    """Returns true if a member's name says that it is in a language: ``train.en``, ``train.en.gz``, ``src.en.sgm``."""
    stem = re.sub(r"\.(txt|sgm|sgml)$", "", without_suffix(name), flags=re.IGNORECASE)
    return stem.lower().endswith(f".{language.lower()}")


def _format(text: str, address: str, languages: Languages) -> dict[str, Any]:
    """Returns the keys that a file with both sides needs beside its address.

    Raises:
        ArgumentError: its format is not known, or its fields are not.
    """
    kind = _format_of(_path_of(address))
    keys: dict[str, Any] = {} if kind == _format_of(address) else {"format": kind}
    if kind == "plain" and _is_local(address):
        with Path(address).open("rb") as file:
            seen = kind_of(file.read(4096))
        if seen is not None and seen.format:
            kind = keys["format"] = seen.format
    if reader_of(kind).parts != ("both",):
        raise ArgumentError(
            f"{text}: a file of both sides has a name that ends in .tsv, .csv, .tmx or another format; for one file "
            "per side, give SOURCE,TARGET"
        )
    if "fields" in reader_of(kind).options:
        keys["fields"] = _fields(text, address, kind, languages)
    return keys


def _format_of(address: str, member: str | None = None) -> str:
    return format_of(Corpus.model_validate({"name": "c", "url": address, "member": member}))


def _fields(text: str, address: str, kind: str, languages: Languages) -> dict[str, str]:
    """Returns the fields of the two sides in a local file of rows: those named like the languages or the sides.

    Raises:
        ArgumentError: there are no such fields.
    """
    paths = _field_paths(Path(address), kind) if _is_local(address) else []
    by_language = tuple({language, language.partition("-")[0]} for language in (languages.source, languages.target))
    for source, target in (by_language, ({"source"}, {"target"}), ({"src"}, {"tgt", "trg"})):
        found = [[path for path in paths if path.rpartition(".")[2] in names] for names in (source, target)]
        if len(found[0]) == len(found[1]) == 1:
            return {"source": found[0][0], "target": found[1][0]}
    listed = f"; it has {', '.join(paths[:10])}" if paths else ""
    raise ArgumentError(
        f"{text}: no fields are named {languages.source} and {languages.target}, or source and target{listed}; write "
        "the config by hand, with the key fields of the corpus"
    )


def _field_paths(path: Path, kind: str) -> list[str]:
    """Returns the paths of the fields of the first row, joined by dots; none if it cannot be read."""
    try:
        if kind == "parquet":
            return list(pq.read_schema(path).empty_table().flatten().schema.names)
        with path.open("rb") as file:
            row: object = json.loads(decompressed(file).read(1 << 20).partition(b"\n")[0])
    except (OSError, ValueError, EOFError, RecursionError):
        return []
    return list(_text_paths(row, ""))


def _text_paths(value: object, path: str) -> Iterator[str]:
    if isinstance(value, str) and path:
        yield path
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield from _text_paths(inner, f"{path}.{name}" if path else name)
