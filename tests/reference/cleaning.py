"""What the native kernels of cleaning rules compute, by its definition: one line or pair at a time, in plain Python."""

from __future__ import annotations

import difflib
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from itertools import groupby

import regex

CHARACTERS_PER_WORD = {
    "Han": 16,
    "Hiragana": 20,
    "Katakana": 40,
    "Thai": 40,
    "Lao": 40,
    "Khmer": 50,
    "Myanmar": 50,
    "Tibetan": 50,
}
"""In tenths."""


def words(line: str) -> int:
    return sum(map(_words_of_token, line.split()))


def _words_of_token(token: str) -> int:
    runs = [(script, "".join(run)) for script, run in groupby(token, unspaced_script)]
    if all(script is None for script, _ in runs):
        return 1
    return sum(
        bool(regex.search(r"[\p{L}\p{N}]", run))
        if script is None
        else max(math.floor(len(run) * 10 / CHARACTERS_PER_WORD[script] + 0.5), 1)
        for script, run in runs
    )


@cache
def unspaced_script(character: str) -> str | None:
    if character == "ー":
        return "Katakana"
    return next((name for name in CHARACTERS_PER_WORD if regex.match(rf"\p{{Script={name}}}", character)), None)


def length(line: str, unit: str) -> int:
    if unit == "letter":
        return len(regex.findall(r"\p{L}", line))
    if unit == "word":
        return words(line)
    return {"char": len(line), "byte": len(line.encode()), "token": len(line.split())}[unit]


def longest_token(line: str) -> int:
    return max(map(len, line.split()), default=0)


def longest_word(line: str) -> int:
    runs = ("".join(run) for token in line.split() for run in _spaced_runs(token))
    return max(map(len, runs), default=0)


def _spaced_runs(token: str) -> list[str]:
    return ["".join(run) for script, run in groupby(token, unspaced_script) if script is None]


def average_token(line: str) -> float:
    tokens = line.split()
    return len("".join(tokens)) / len(tokens) if tokens else 0


def alphabetic_share(line: str, spaces: bool) -> float:
    text = line if spaces else regex.sub(r"\s", "", line)
    return len(regex.findall(r"\p{Alphabetic}", text)) / len(text) if text else 1.0


def letter_word_share(line: str) -> float:
    tokens = line.split()
    return sum(bool(regex.search(r"\p{L}", token)) for token in tokens) / len(tokens) if tokens else 1.0


def script_share(line: str, scripts: Sequence[str]) -> float:
    letters = regex.findall(r"\p{Alphabetic}", line)
    found = [letter for letter in letters if any(regex.match(rf"\p{{Script={name}}}", letter) for name in scripts)]
    return len(found) / len(letters) if letters else 1.0


def word_character_share(line: str) -> float:
    text = "".join(line.split())
    return len(regex.findall(r"[\p{L}\p{M}\p{N}]", text)) / len(text) if text else 1.0


def number_share(line: str) -> float:
    found = regex.findall(r"[\p{L}\p{M}\p{N}]", line)
    return len(regex.findall(r"\p{N}", line)) / len(found) if found else 0.0


def terminal_punctuation(source: str, target: str) -> float:
    a, b = (sum(character in ".?!…" for character in line) for line in (source, target))
    return -math.log(abs(a - b) + max(a - 1, 0) + max(b - 1, 0) + 1)


SENTENCE_ENDS = frozenset(".!?:;…;։؛؟۔।॥።፧፨၊။។៕‼‽⁇⁈⁉。﹖﹗！．：；？｡")


def sentence_ends(line: str) -> bool:
    for character in reversed(line):
        if character in SENTENCE_ENDS:
            return True
        if regex.match(r"[\p{L}\p{M}\p{N}]", character):
            return False
    return False


def numerals(source: str, target: str) -> float:
    a, b = ([digit for digit in line if digit in "123456789"] for line in (source, target))
    return difflib.SequenceMatcher(None, a, b).ratio()


def common_substring(source: str, target: str) -> float:
    match = difflib.SequenceMatcher(None, source, target).find_longest_match(0, len(source), 0, len(target))
    return match.size / min(len(source), len(target)) if source and target else 0.0


def edit_similarity(source: Sequence[str], target: Sequence[str]) -> float:
    row = list(range(len(target) + 1))
    for i, a in enumerate(source, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(target, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    longest = max(len(source), len(target))
    return 1.0 - row[-1] / longest if longest else 1.0


def equal_letters(source: str, target: str, min_letters: int) -> bool:
    a, b = ("".join(regex.findall(r"\p{L}", line)).casefold() for line in (source, target))
    return a == b and len(a) >= max(min_letters, 1)


def repetitions(line: str, times: int, shortest: int, longest: int) -> int:
    match = regex.search(rf"(\S.{{{shortest - 1},{longest}}}?)(?: *\1){{{times},}}", line)
    return match[0].count(match[1]) - 1 if match else 0


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.starts: list[str] = []
        self.ends: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.starts.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.ends.append(tag)


def html_tags(line: str) -> list[str]:
    """The start tags that Beautiful Soup finds with html.parser; none in text that the parser refuses."""
    parser = _Tags()
    try:
        parser.feed(line)
        parser.close()
    except AssertionError:
        return []
    return parser.starts


BRACKETS = ("(（", ")）", "[【〔［", "]】〕］", "{｛", "}｝", "⟨〈", "⟩〉")


def bracket_depths(line: str) -> list[int]:
    counts = [sum(character in kind for character in line) for kind in BRACKETS]
    return [opened - closed for opened, closed in zip(counts[::2], counts[1::2], strict=True)]


ADDRESS = regex.compile(r"[!-~--[<>\"{}|\\\^`]]+", regex.V1)
TOP_DOMAINS = frozenset(
    regex.findall(
        r"\w+",
        "com org net edu gov info io eu de uk fr es it nl pl cz ru cn jp kr br in ca au at ch be se no fi dk tv co biz",
    )
)


def addresses(line: str) -> list[str]:
    found = (word.lstrip("(['*_-").rstrip(".,;:!?)]'*_-") for word in ADDRESS.findall(line) if "." in word)
    return [word for word in found if is_url(word) or is_host(word)]


def is_url(word: str) -> bool:
    return regex.match(r"(?i)(https?://|ftp://|www\.).", word) is not None


def is_host(word: str) -> bool:
    host = regex.split("[/:?#]", word.partition("@")[2] if "@" in word[1:] else word)[0]
    name, dot, top = host.rpartition(".")
    return bool(regex.fullmatch(r"[A-Za-z0-9._-]+", name)) and top.lower() in TOP_DOMAINS and bool(dot)


def address_share(line: str) -> float:
    inside, whole = sum(map(len, addresses(line))), len("".join(line.split()))
    return inside / whole if inside else 0.0


def url_similarity(source: str, target: str) -> float:
    a, b = (Counter(filter(is_url, addresses(line))) for line in (source, target))
    whole = a.total() + b.total()
    return 2 * (a & b).total() / whole if whole else 1.0


def bin_of(value: float, edges: Sequence[float]) -> int:
    return min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2)


def noise(line: str) -> set[str]:
    tokens = line.split()
    kinds = {
        "breadcrumbs": has_breadcrumbs(line),
        "glued_words": any(map(is_glued, tokens)),
        "spaced_letters": regex.search(r"x{5}", "".join("x" if is_spaced_letter(token) else "-" for token in tokens)),
        "escapes": regex.search(r"\\[ux][0-9a-fA-F]{2}", line)
        or len(regex.findall(r"%[A-Fa-f][0-9A-Fa-f]", line)) >= 2,
        "mojibake": regex.search(MOJIBAKE, line),
        "unassigned": regex.search(r"[\p{Cn}\p{Co}\x80-\x9f]", line),
    }
    return {kind for kind, found in kinds.items() if found}


def has_breadcrumbs(line: str) -> bool:
    separators = [">", ">>", "|", "||", "::", "→", "•", "·", "⟩"]
    quotes = ["»", "›"]
    others = sum(len(token.encode()) for token in line.split() if token not in separators + quotes)
    if "«" not in line and "‹" not in line:
        separators += quotes
    count = sum(token in separators for token in line.split())
    return count >= 3 and others <= 30 * count


def is_glued(token: str) -> bool:
    names = regex.search(r"[/.@#_\\:=&?%0-9\0]", token) is None
    return names and len(token.encode()) >= 12 and len(regex.findall(r"(?:^|(?<=\p{Ll}))\p{Lu}", token)) >= 4


def is_spaced_letter(token: str) -> bool:
    return regex.fullmatch(r"\p{L}", token) is not None and (token == "ー" or unspaced_script(token) is None)


_WINDOWS = "".join(bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0))
_CONTINUATION = "[\x80-\xbf" + _WINDOWS + "]"
_UNQUOTED = "(?![‘’‚‛“”„…»])" + _CONTINUATION
MOJIBAKE = "|".join(
    [
        "\ufffd",
        "Â(?![«»])[\xa0-\xbf]",
        "Ã" + _UNQUOTED,
        f"[ÐÑ]{_UNQUOTED}[ÐÑ ](?=.)",
        "â[\x80\x82\x84€‚„]" + _CONTINUATION,
        "ï»¿",
    ]
)
