"""What the native kernels of the rules about numbers and currencies compute, by its definition, in plain Python."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import regex

CURRENCIES = (
    *("$ USD AUD CAD NZD SGD HKD MXN ＄", "€ EUR", "£ GBP ￡", "¥ JPY CNY RMB ￥", "₹ INR", "₽ RUB", "₩ KRW"),
    *("₺ TRY", "₴ UAH", "₪ ILS", "₫ VND", "฿ THB", "₱ PHP", "₦ NGN", "₸ KZT", "CHF", "SEK", "NOK", "DKK", "PLN"),
    *("CZK", "HUF", "RON", "BRL", "ZAR"),
)


def currencies(line: str) -> set[str]:
    names = regex.findall(r"\p{Sc}|(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])", line)
    return {spellings for spellings in CURRENCIES for name in names if name in spellings.split()}


def currency_similarity(source: str, target: str, missing: bool) -> float:
    a, b = currencies(source), currencies(target)
    if not (a or b) or (not missing and not (a and b)):
        return 1.0
    return 2 * len(a & b) / (len(a) + len(b))


class Number(NamedTuple):
    """A number without zeros at its ends: 1,200 is 12 and 2."""

    digits: str
    exponent: int
    spelled: bool = False


def number(digits: str, exponent: int, spelled: bool = False) -> Number:
    stripped = digits.lstrip("0")
    short = stripped.rstrip("0")
    return Number(short, exponent + len(stripped) - len(short), spelled) if short else Number("0", 0, spelled)


HAN_DIGITS = {digit: str(value) for value, digit in enumerate("〇一二三四五六七八九")} | {
    "零": "0",
    "两": "2",
    "兩": "2",
}
HAN_UNITS = {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12}
_MARKS = {".": ".", "٫": ".", ",": ",", "٬": ",", "'": "'", "’": "'"} | dict.fromkeys(" \xa0\u2009\u202f", " ")
_DIGITS = regex.compile(
    rf"(?P<plain>[0-9]+(?:[{''.join(map(regex.escape, _MARKS))}][0-9]+)*)(?P<units>[{''.join(HAN_UNITS)}]*)"
    rf"|(?P<han>[{''.join(HAN_DIGITS)}{''.join(HAN_UNITS)}--兆]{{1,18}})",
    regex.V1,
)


def digits(line: str) -> str:
    """The line with the decimal digits of all scripts as ASCII digits."""
    return "".join(str(unicodedata.decimal(c)) if unicodedata.category(c) == "Nd" else c for c in line)


def numbers(line: str) -> list[Number]:
    found: list[Number] = []
    for match in _DIGITS.finditer(digits(line)):
        if match["han"]:
            found.append(number(str(_han_value(match["han"]) % 2**64), 0, spelled=True))
            continue
        groups, marks = regex.findall(r"[0-9]+", match["plain"]), regex.findall(r"[^0-9]", match["plain"])
        found.extend(_plain_numbers(groups, [_MARKS[mark] for mark in marks], sum(map(HAN_UNITS.get, match["units"]))))
    return found


def _plain_numbers(groups: list[str], marks: list[str], power: int) -> list[Number]:
    found = []
    first = 0
    after = dict(enumerate(marks))  # the mark after each group
    while first < len(groups):
        last = first
        while (
            len(groups[first]) <= 3 and last < len(marks) and marks[last] == marks[first] and len(groups[last + 1]) == 3
        ):
            last += 1
        decimals = (
            after.get(last, "") in (".", ",")
            and (last == first or after[last] != marks[first])
            and after.get(last + 1) not in (".", ",")
            and after.get(first - 1) not in (".", ",")
        )
        text, exponent = "".join(groups[first : last + 1]), 0
        if decimals:
            last += 1
            text, exponent = text + groups[last], -len(groups[last])
        found.append(number(text, exponent + (power if last == len(groups) - 1 else 0)))
        first = last + 1
    return found


def _han_value(text: str) -> int:
    total = section = 0
    pending = ""
    for character in text:
        if character in HAN_DIGITS:
            pending += HAN_DIGITS[character]
            continue
        factor = 10 ** HAN_UNITS[character]
        if factor < 10_000:
            section += int(pending or "1") * factor
        else:
            total = (total + section + int(pending or "0") + (not pending and not section)) * factor
            section = 0
        pending = ""
    return total + section + int(pending or "0")


def number_similarity(source: str, target: str, small: int) -> float:
    a, b = numbers(source), numbers(target)
    matches = _take(a, b, lambda x, y: x == y and not x.spelled)
    in_digits = [sum(not x.spelled for x in side) for side in (a, b)]
    excess = [max(in_digits[0] - in_digits[1], 0), max(in_digits[1] - in_digits[0], 0)]  # may match spelled numbers

    def within_excess(x: Number, y: Number) -> bool:
        if x.spelled != y.spelled:
            excess[x.spelled] -= 1
            return excess[x.spelled] >= 0
        return True

    matches += _take(a, b, lambda x, y: x[:2] == y[:2] and within_excess(x, y))
    matches += _take(
        a,
        b,
        lambda x, y: x.digits == y.digits != "0" and abs(x.exponent - y.exponent) >= 3 and within_excess(x, y),
    )
    facing = min(sum(not x.spelled for x in side) for side in (a, b))
    differ = sum(max(facing, sum(not _may_be_spelled(x, small) for x in side)) for side in (a, b))
    return 2 * matches / (2 * matches + differ) if matches + differ else 1.0


def _take(a: list[Number], b: list[Number], match: Callable[[Number, Number], bool]) -> int:
    count = 0
    for x in list(a):
        y = next((y for y in b if match(x, y)), None)
        if y is not None:
            a.remove(x)
            b.remove(y)
            count += 1
    return count


def _may_be_spelled(x: Number, small: int) -> bool:
    return x.spelled or (0 <= x.exponent <= 2 and int(x.digits) * 10**x.exponent <= small)
