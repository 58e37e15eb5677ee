"""Readable twins of the Moses scripts in the native core: tokenizer, detokenizer, truecaser and small scripts.

They take their classes of characters from the ``regex`` package: compare them on characters of Unicode 14.0 only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import regex

WS = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
ALNUM = r"\p{Alphabetic}\p{Nd}\x01"
ALPHA = r"\p{Alphabetic}\x01"
ESCAPES = {
    "&": "&amp;",
    "|": "&#124;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&apos;",
    '"': "&quot;",
    "[": "&#91;",
    "]": "&#93;",
}


def squeezed(line: str) -> str:
    return regex.sub("^ | $", "", regex.sub(" +", " ", line))


def is_tag(line: str) -> bool:
    return regex.fullmatch("<.+>", line) is not None


def tokenize(
    line: str,
    language: str,
    prefixes: tuple[set[str], set[str]],
    *,
    aggressive: bool = False,
    escape: bool = True,
    skip_tags: bool = False,
    protected: Sequence[str] = (),
) -> str:
    """Returns the tokens of a line. ``prefixes``: those of any word, and those before numbers only."""
    if regex.fullmatch(f"[{WS}]*", line):
        return line
    if skip_tags and is_tag(line):
        return line
    text = regex.sub("[\x00-\x1f]", "", regex.sub(f"[{WS}]+", " ", f" {line} "))
    found = [match[0] for pattern in protected for match in regex.finditer(pattern, text)]
    for number, part in enumerate(found):
        text = text.replace(part, f" THISISPROTECTED{number:03} ")
    text = split_signs(squeezed(text), language)
    if aggressive:
        text = regex.sub(f"(?<=[{ALNUM}])-(?=[{ALNUM}])", " @-@ ", text)
    text = split_dots(text)
    text = split_apostrophes(split_commas(text), language)
    text = squeezed(split_last_dots(text, *prefixes))
    text = regex.sub(r"\.' ?$", " . ' ", text)
    for number, part in enumerate(found):
        text = text.replace(f"THISISPROTECTED{number:03}", part)
    text = text.replace("\x01", ".")
    for sign, escaped in ESCAPES.items() if escape else ():
        text = text.replace(sign, escaped)
    return text


def split_signs(text: str, language: str) -> str:
    kept = f"{WS}{ALNUM}.'`,\\-" + {"fi": ":", "sv": ":", "ca": "\xc2\xb7"}.get(language, "")
    text = regex.sub(f"([^{kept}])", r" \1 ", text)
    after = {"fi": ":", "sv": ":", "tdt": "'", "ca": "\xc2\xb7"}.get(language)
    return regex.sub(rf"{after}(?!\p{{Ll}})", f" {after} ", text) if after else text


def split_dots(text: str) -> str:
    text = regex.sub(r"\.{2,}", lambda match: f" {chr(1) * len(match[0])} ", text)
    for name in regex.findall(r"(?:DOT)*DOTMULTI\.?", text):
        dots = name.count("DOT") + name.count(".")
        text = text.replace(name, chr(1) * dots + " " * name.count("."), 1)
    return text


def split_commas(text: str) -> str:
    text = regex.sub(r"([^\p{N}]),", r"\1 , ", text)
    text = regex.sub(r",([^\p{N}])", r" , \1", text)
    return regex.sub(r"(\p{N}),$", r"\1 ,", text)


def split_apostrophes(text: str, language: str) -> str:
    if language not in {"en", "fr", "it", "ga", "ca", "so", "tdt"}:
        return text.replace("'", " ' ")
    second = rf"[^{ALPHA}\p{{N}}]" if language == "en" else f"[^{ALPHA}]"
    text = regex.sub(f"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2", text)
    text = regex.sub(f"({second})'([{ALPHA}])", r"\1 ' \2", text)
    text = regex.sub(f"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2", text)
    if language == "en":
        text = regex.sub(f"([{ALPHA}])'([{ALPHA}])", r"\1 '\2", text)
        return regex.sub(r"(\p{N})'s", r"\1 's", text)
    return text if language in {"so", "tdt"} else regex.sub(f"([{ALPHA}])'([{ALPHA}])", r"\1' \2", text)


def split_last_dots(text: str, always: set[str], before_numbers: set[str]) -> str:
    words = regex.sub(f"[{WS}]+$", "", text)
    made = []
    split = regex.split(f"[{WS}]", words)
    for word, after in zip(split, [*split[1:], None], strict=True):
        if len(word) < 2 or not word.endswith("."):
            made.append(word)
            continue
        start = word[:-1]
        stays = after is not None and (
            ("." in start and regex.search(f"[{ALPHA}]", start))
            or start in always
            or regex.match(r"\p{Lowercase}", after)
            or (start in before_numbers and regex.match("[0-9]", after))
        )
        made.append(word if stays else f"{start} .")
    return " ".join(made)


UNESCAPES = [
    *(("&bar;", "|"), ("&#124;", "|"), ("&lt;", "<"), ("&gt;", ">"), ("&bra;", "["), ("&ket;", "]"), ("&quot;", '"')),
    *(("&apos;", "'"), ("&#91;", "["), ("&#93;", "]"), ("&amp;", "&")),
]
CJK = (
    r"[\u1100-\u11ff\u2e80-\ua4cf\ua840-\ua87f\uac00-\ud7af\uf900-\ufaff"
    r"\ufe30-\ufe4f\uff65-\uffdc\U00020000-\U0002ffff]"
)
FINNISH_ENDING = (
    "(N|n|A|a|Ä|ä|ssa|Ssa|ssä|Ssä|sta|stä|Sta|Stä|hun|Hun|hyn|Hyn|han|Han|hän|Hän|hön|Hön|un|Un|yn|Yn|an|An|än|Än|ön|Ön"
    "|seen|Seen|lla|Lla|llä|Llä|lta|Lta|ltä|Ltä|lle|Lle|ksi|Ksi|kse|Kse|tta|Tta|ine|Ine)"
    "(ni|si|mme|nne|nsa)?(ko|kö|han|hän|pa|pä|kaan|kään|kin)?"
)


def unescape(line: str) -> str:
    for escaped, sign in UNESCAPES:
        line = line.replace(escaped, sign)
    return line


def detokenize(line: str, language: str, *, upper: bool = False) -> str:
    """Returns the text of tokens."""
    if is_tag(line) or regex.fullmatch(f"[{WS}]*", line):
        return line
    words = unescape(f" {line} ".replace(" @-@ ", "-")).rstrip(" ").split(" ")
    text, before = "", " "
    quotes: dict[str, int] = {}
    number = 0
    while number < len(words):
        word, last, (after, *_) = words[number], words[number - 1] if number else "", [*words[number + 1 :], ""]
        space, glue = before, False
        if regex.match(CJK, word):
            space = "" if language != "ko" and regex.search(f"{CJK}$", last) else before
        elif regex.fullmatch(r"[\p{Sc}(\[{¿¡]+", word):
            glue = True
        elif is_joined(words, number, language):
            space = " " if language == "fr" and regex.fullmatch(r"[?!:;\\%]", word) else ""
        elif language in {"fr", "it"} and regex.search(r"\p{Alphabetic}'$", word):
            glue = regex.match(r"\p{Alphabetic}", after) is not None
        elif language == "cs" and precedes_li(words, number):
            word, glue, number = word + after, True, number + 1
        elif regex.fullmatch("['\"„“`]+", word):
            glue = opens(word, last, language, quotes)
            space = before if glue else ""
        elif language == "fi" and last.endswith(":") and regex.fullmatch(FINNISH_ENDING, word):
            space, word = "", lower(word)
        text += space + word
        before = "" if glue else " "
        number += 1
    text = squeezed(text)
    if upper:
        leading = rf"^([\p{{P}}$+<=>^`|~{WS}]*)(\p{{Alphabetic}})"
        text = regex.sub(leading, lambda match: match[1] + match[2].upper(), text)
    return text


def is_joined(words: list[str], number: int, language: str) -> bool:
    """True if there is no space before a word because of it and those before."""
    before, last, word = ["", "", *words][number : number + 3]
    return bool(
        regex.fullmatch(r"[,.?!:;\\%}\])]+", word)
        or (language == "en" and regex.match(r"'\p{Alphabetic}", word) and regex.search(rf"[{ALNUM}]$", last))
        or (language == "cs" and regex.fullmatch("[0-9]+ [.,] [0-9]+", f"{before} {last} {word}"))
    )


def precedes_li(words: list[str], number: int) -> bool:
    word, after, later, *more = [*words[number : number + 4], "", ""]
    return len(more) == 3 and bool(
        regex.search(r"\p{Alphabetic}$", word) and after in {"-", "–"} and regex.match("(?i)li$|mail", later)
    )


def opens(word: str, last: str, language: str, quotes: dict[str, int]) -> bool:
    kind = '"' if regex.fullmatch("[„“]+", word) else word
    quotes.setdefault(kind, 0)
    if language == "cs" and word in {"„", "“"}:
        quotes[kind] = "„“".index(word)
    if quotes[kind] % 2 == 0 and language == "en" and word == "'" and last.endswith("s"):
        return False
    quotes[kind] += 1
    return quotes[kind] % 2 == 1


def lower(text: str) -> str:
    """Unicode's lower case of each character by itself: no rule for the last sigma."""
    return "".join(character.lower() for character in text)


ENDS = frozenset(".:?!")
DELAYED = frozenset(["(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;"])


def split_markup(line: str) -> tuple[list[str], list[str]]:
    """Returns the tokens of a line, and the tags before each, and after the last one."""
    words, tags = [], [""]
    rest = line
    while rest := regex.sub(f"^[{WS}]+", "", rest):
        if match := regex.match(rf"<[^{WS}][^>]*>", rest):
            tags[-1] += match[0] + " "
        else:
            match = regex.match(f"[^{WS}<>]+", rest) or regex.match(f"[^{WS}]+", rest)
            words.append(match[0])
            tags.append("")
            tag = regex.compile(rf"<[^{WS}][^>]*>").match(rest, match.end()) if match[0].endswith("|") else None
            if tag:
                words[-1] += tag[0]
                match = tag
        rest = rest[match.end() :]
    tags[-1] = tags[-1].removesuffix(" ")
    return words, tags


def truecase(line: str, best: Mapping[str, str], known: set[str], *, asr: bool = False) -> str:
    words, tags = split_markup(line)
    text, start = "", True
    for number, whole in enumerate(words):
        word, factors = regex.fullmatch(r"([^|]*)(.*)", whole).groups()
        if asr:
            word = lower(word)
        if number and not tags[number]:
            text += " "
        text += tags[number]
        form = best.get(lower(word))
        if start and form is not None:
            text += form
        elif word in known or form is None:
            text += word
        else:
            text += form
        text += factors
        start = word in ENDS or (start and word in DELAYED)
    return text + tags[-1]


def detruecase(line: str) -> str:
    made, start = [], True
    for word in regex.findall(f"[^{WS}]+", line):
        made.append(word[0].upper() + word[1:] if start else word)
        start = word in ENDS or (start and word in DELAYED)
    return " ".join(made)


def read_model(lines: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    best, known = {}, set()
    for line in lines:
        forms = regex.findall(f"[^{WS}]+", line)[::2]
        best[lower(forms[0])] = forms[0]
        known |= {*forms}
    return best, known


def train_truecaser(lines: Iterable[str], *, first_tokens: bool = False) -> list[str]:
    counts: dict[str, dict[str, int]] = {}
    for line in lines:
        words = split_markup(line)[0]
        while words and words[0] in DELAYED:
            words = words[1:]
        start = True
        for word in words:
            if not regex.search(r"[\p{Ll}\p{Lu}\p{Lt}]", word):
                start = word in ENDS
                continue
            tenths = 10
            if start:
                tenths = 0 if not first_tokens else 10 if lower(word[0]) == word[0] else 1 if len(words) == 1 else 0
            if tenths:
                forms = counts.setdefault(lower(word), {})
                forms[word] = forms.get(word, 0) + tenths
            start = word in ENDS
    made = []
    for forms in counts.values():
        ranked = sorted(forms.items(), key=lambda item: -item[1])
        total = sum(forms.values()) / 10
        shown = [f"{form} ({count / 10:g})" for form, count in ranked]
        made.append(" ".join([f"{shown[0][:-1]}/{total:g})", *shown[1:]]))
    return sorted(made, key=str.encode)
