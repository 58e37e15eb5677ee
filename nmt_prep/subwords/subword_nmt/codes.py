"""Files of subword-nmt: codes (the merges) and vocabularies (tokens and their counts)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.tokenizer import read_vocabulary
from nmt_prep.subwords.tokenizer_json import parse_json, text_of

WORD_END = "</w>"  # Ends the last symbol of a word; in version 0.1, a symbol of its own at first

_log = logging.getLogger(__name__)
_VERSION = re.compile(r"#version:\s*(\d+(?:\.\d+)*)\s*(\S.*)?")
_FAST = re.compile(r"\S+ \S+ \d+")
_COUNT = re.compile("[0-9]{1,18}")
_MOST_MERGES = (1 << 22) - 1

_OTHERS = (
    (re.compile(r"\{"), "JSON, perhaps a tokenizer.json"),
    (re.compile(r"\d+ \d+$"), "a model of YouTokenToMe"),
    (re.compile(r"v3;"), "codes of OpenNMT's Tokenizer; learn them with subword-nmt"),
    (re.compile(r"[^\t]+\t-?\d+(\.\d+)?$"), "a list of pieces, such as SentencePiece's .vocab"),
    (re.compile(r"[A-Za-z0-9+/]+=* \d+$"), "a list of tokens and numbers; name the codes themselves"),
)
"""What another file kind's first line looks like, and the kind's name."""


@dataclass(frozen=True)
class Codes:
    """Merges in order of rank."""

    merges: tuple[tuple[str, str], ...]  # the two symbols of each merge
    word_end_apart: bool = False  # True for version 0.1, where the end of a word is a symbol of its own at first

    def text(self) -> str:
        """Returns the content of a codes file."""
        version = "" if self.word_end_apart else "#version: 0.2\n"
        return version + "".join(f"{left} {right}\n" for left, right in self.merges)


def looks_like_codes(head: bytes) -> bool:
    """Returns True if a file that starts with these bytes has codes: with a version, fastBPE's, or version 0.1."""
    first, end, _ = head.decode("utf-8", "replace").partition("\n")
    if first.startswith("#version:") or _FAST.fullmatch(first):
        return True
    return bool(end) and WORD_END.encode() in head and _starts_codes(first.removesuffix("\r"))


def looks_like_words(head: bytes) -> bool:
    """Returns True if a file that starts with these bytes is a list of words that begins with special words, or IDs.

    Tensor2Tensor's lists begin with ``<pad>`` and ``<EOS>``, perhaps with underscores or in quotes.
    """
    if re.match(rb'\{\n    "<pad>": 0,\n|</s>: 0\n<unk>: 1', head):
        return True
    words = [re.split("[ \t]", line.removesuffix("\r"))[0] for line in head.decode("utf-8", "replace").split("\n")]
    return words[0] in ("<unk>", "<s>", "<blank>", "<pad>") and len(words) > 1 and words[1].removesuffix("_") != "<EOS>"


def looks_like_list(head: bytes) -> bool:
    """Returns True if a file that is said to be in this dialect may be a list of tokens, perhaps with counts."""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")[:2]
    return all(re.fullmatch(r"[^ \t{]+([ \t][0-9]+)?", line) and not line.startswith("v3;") for line in lines[:-1])


def read_pieces(path: Path) -> list[str]:
    """Returns the pieces in a trainer's vocabulary file in ID order, special pieces included.

    The files are Marian's and Sockeye's, token lists such as tensorflow/nmt's and OpenNMT-tf's, and lists to which the
    trainer adds its special pieces: fairseq's and subword-nmt's, OpenNMT-py's, JoeyNMT's.
    """
    text = text_of(path, read_vocabulary(path))
    first = text.partition("\n")[0]
    if text.startswith("{"):
        return _numbered(parse_json(path, text.encode()), path)
    if _MARIAN.fullmatch(first):
        return _numbered(dict(_entries(text, path)), path)
    pieces = [piece for piece, _ in read_counts(path)]
    if pieces[0] in _SPECIALS:
        return pieces if {*pieces} & {"<unk>", "<UNK>", "[UNK]"} else [*pieces, "<unk>"]
    between = next(iter(re.findall("[ \t]", first)), "")
    return [*(piece for piece in _ADDED[between] if piece not in pieces), *pieces]


_SPECIALS = ("<unk>", "<s>", "<blank>", "<pad>", "</s>", "<UNK>", "[UNK]", "[PAD]")
_ADDED = {
    " ": ("<s>", "<pad>", "</s>", "<unk>"),
    "\t": ("<blank>", "<s>", "</s>", "<unk>"),
    "": ("<unk>", "<pad>", "<s>", "</s>"),
}
"""What trainers add to lists: fairseq to tokens and counts, OpenNMT-py if a tab is between them, JoeyNMT to tokens."""

_MARIAN = re.compile(r"(.+): ([0-9]{1,9})")
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|.)")


def _entries(text: str, path: Path) -> Iterator[tuple[str, int]]:
    seen = set[str]()
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        found = _MARIAN.fullmatch(line)
        if found is None or found[1] in seen:
            raise VocabularyError(f"{path}, line {number}: expected a new token and its ID, found {line[:40]!r}")
        seen.add(found[1])
        yield _key(found[1]), int(found[2])


def _key(text: str) -> str:
    """Returns a key as yaml-cpp has written it."""
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text
    named = {"t": "\t", "r": "\r", "b": "\b"}
    return _ESCAPED.sub(
        lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else named.get(match[1], match[1]), text[1:-1]
    )


def _numbered(ids: Mapping[str, object], path: Path) -> list[str]:
    if not all(type(number) is int for number in ids.values()) or {*ids.values()} != {*range(len(ids))}:
        raise VocabularyError(f"{path}: the IDs of its tokens are not the numbers from 0 to {len(ids) - 1}")
    return sorted(ids, key=lambda piece: int(str(ids[piece])))


def _starts_codes(line: str) -> bool:
    """Returns True for two symbols, or two symbols and a count; a token and its count is neither."""
    fields = line.split(" ")
    pair = len(fields) == 2 and all(fields) and "\t" not in line and not fields[1].isdigit() and line[0] not in "{'\""
    return pair or _FAST.fullmatch(line) is not None


def read_codes(path: Path) -> Codes:
    """Reads codes of subword-nmt or fastBPE."""
    data = read_vocabulary(path)
    if data.startswith(b"#version:") and data.partition(b"\n")[0].rstrip().endswith(b" byte"):
        raise VocabularyError(f"{path} has codes of bytes, which are not supported; learn codes without --bytes")
    return parse_codes(text_of(path, data), str(path))


def parse_codes(text: str, where: str) -> Codes:
    r"""Parses codes. Lines end at ``\n`` only; messages name the file ``where``."""
    lines = [line.strip(" \r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise VocabularyError(f"{where} is empty; codes have one merge on each line")
    first = 0
    version = _VERSION.match(lines[0])
    if version is not None:
        first = 1
        _check_version(version, where)
    elif not _starts_codes(lines[0]):
        kind = next((name for start, name in _OTHERS if start.match(lines[0])), None)
        what = f"looks like {kind}" if kind else f"starts with {lines[0][:40]!r}"
        raise VocabularyError(f"{where} has no codes of subword-nmt or fastBPE: it {what}")
    fast = version is None and all(map(_FAST.fullmatch, lines))
    merges = []
    for number, line in enumerate(lines[first:], first + 1):
        fields = line.split(" ")
        if len(fields) != (3 if fast else 2) or not all(fields):
            raise VocabularyError(
                f"{where}, line {number}: expected two symbols separated by a space, found {line[:40]!r}; fetch the "
                "file again, or check that it has codes of subword-nmt"
            )
        merges.append((fields[0], fields[1]))
    _check_merges(merges, where)
    apart = not fast and (version is None or version[1].split(".") < ["0", "2"])
    return Codes(tuple(merges), apart)


def _check_version(version: re.Match[str], where: str) -> None:
    if version[2] is not None:
        raise VocabularyError(f"{where} has merges of another tool: {version[0]!r}; use its tokenizer.json")
    if re.sub(r"(\.0+)*$", "", version[1]) not in ("0.1", "0.2"):
        raise VocabularyError(f"{where} has codes of version {version[1]}; subword-nmt has versions 0.1 and 0.2")


def _check_merges(merges: Sequence[tuple[str, str]], where: str) -> None:
    if len(merges) > _MOST_MERGES:
        raise VocabularyError(f"{where} has {len(merges):,} merges; at most {_MOST_MERGES:,} are supported")
    if any("Ġ" in left for left, _ in merges) and not any(right.endswith(WORD_END) for _, right in merges):
        raise VocabularyError(f"{where} has merges of byte-level BPE, as GPT-2's; use its tokenizer.json")
    seen: set[tuple[str, str]] = set()
    for merge in merges:
        if merge in seen:
            _log.warning("%s: the merge %r occurs twice; its first rank counts", where, " ".join(merge))
            return
        seen.add(merge)


def read_counts(path: Path) -> list[tuple[str, int | None]]:
    """Reads a vocabulary: a token on each line, with its count after a space or a tab, or without counts."""
    lines = text_of(path, read_vocabulary(path)).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    counts: dict[str, int | None] = {}
    for number, line in enumerate(lines, 1):
        token, *count = re.split("[ \t]", line.removesuffix("\r"))
        if not token or len(count) > 1 or not all(map(_COUNT.fullmatch, count)):
            raise VocabularyError(
                f"{path}, line {number}: expected a token and perhaps its count, found {line[:40]!r}; check that this "
                "is a vocabulary of subword-nmt or a list of tokens"
            )
        if token in counts:
            raise VocabularyError(f"{path}, line {number}: the token {token!r} occurs twice; list each token once")
        counts[token] = int(count[0]) if count else None
    if not counts:
        raise VocabularyError(f"{path} is empty; a vocabulary has one token on each line")
    return list(counts.items())
