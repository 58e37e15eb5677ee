"""Quantities, prices, dates and times as each language writes them; each source draws one row."""

from collections.abc import Callable

Uniform = Callable[[], float]
Row = tuple[str, ...]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SMALL_ZH = ("两", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")
_CURRENCIES = (
    ("${}", "{} dollars", "美元"),
    ("€{}", "{} euros", "欧元"),
    ("£{}", "{} pounds", "英镑"),
    ("", "{} yuan", "元"),
)


def _between(uniform: Uniform, low: int, high: int) -> int:
    return low + int(uniform() * (high - low + 1))


def _count(uniform: Uniform) -> int:
    """Returns a count whose logarithm is uniform over the orders of magnitude, most often rounded as in speech."""
    scale = (10, 100, 1000, 10000)[int(uniform() * 4)]
    count = _between(uniform, 11, 99) * scale // 10
    return count if uniform() < 0.6 else count + _between(uniform, 0, scale // 10)


def _int(uniform: Uniform) -> Row:
    count = _count(uniform)
    return f"{count:,}", str(count)


def _few(uniform: Uniform) -> Row:
    i = int(uniform() * uniform() * len(_SMALL))
    return _SMALL[i], _SMALL_ZH[i]


def _price(uniform: Uniform) -> Row:
    symbol, words, zh = _CURRENCIES[int(uniform() * 4)]
    count = _between(uniform, 12, 98) * (1, 1, 10, 10, 100)[int(uniform() * 5)]
    return (symbol or words).format(f"{count:,}") if uniform() < 0.7 else words.format(f"{count:,}"), f"{count}{zh}"


def _money(uniform: Uniform) -> Row:
    symbol, words, zh = _CURRENCIES[int(uniform() * 4)]
    tenths = _between(uniform, 11, 999)
    number = str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
    billions = uniform() < 0.5
    en = f"{number} {'billion' if billions else 'million'}"
    # 1 billion is 10亿 and 1 million is 100万, so a tenth of them is 1亿 and 10万.
    amount = f"{tenths}亿" if billions else f"{tenths * 10}万"
    return (symbol or words).format(en) if uniform() < 0.6 else words.format(en), amount + zh


def _percent(uniform: Uniform) -> Row:
    tenths = _between(uniform, 2, 480)
    number = str(tenths // 10) if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
    return f"{number}%" if uniform() < 0.5 else f"{number} percent", f"{number}%"


def _year(uniform: Uniform) -> Row:
    year = _between(uniform, 1980, 2025)
    return str(year), f"{year}年"


def _later(uniform: Uniform) -> Row:
    year = _between(uniform, 2030, 2080)
    return str(year), f"{year}年"


def _date(uniform: Uniform) -> Row:
    year, month = _between(uniform, 1985, 2025), _between(uniform, 1, 12)
    day = _between(uniform, 1, _DAYS[month - 1])
    name = _MONTHS[month - 1]
    en = f"{day} {name} {year}" if uniform() < 0.6 else f"{name} {day}, {year}"
    return en, f"{year}年{month}月{day}日"


def _day(uniform: Uniform) -> Row:
    month = _between(uniform, 1, 12)
    day = _between(uniform, 1, _DAYS[month - 1])
    return f"{day} {_MONTHS[month - 1]}", f"{month}月{day}日"


def _clock(uniform: Uniform) -> Row:
    hour, minute = _between(uniform, 7, 21), 5 * _between(uniform, 0, 11)
    part, zh = (
        ("in the morning", "早上")
        if hour < 12
        else ("in the afternoon", "下午")
        if hour < 18
        else ("in the evening", "晚上")
    )
    if hour == 12:
        part, zh = "at noon" if minute == 0 else "in the afternoon", "中午"
    twelve = hour if hour <= 12 else hour - 12
    if minute == 0:
        return f"{twelve} o'clock {part}" if hour != 12 else "12 o'clock at noon", f"{zh}{twelve}点"
    zh_minute = "半" if minute == 30 else f"{minute:02}分"
    return f"{twelve}:{minute:02} {part}", f"{zh}{twelve}点{zh_minute}"


def _age(uniform: Uniform) -> Row:
    age = str(_between(uniform, 31, 69))
    return age, age


def _id(uniform: Uniform) -> Row:
    identifier = str(_between(uniform, 100, 99999))
    return identifier, identifier


def _digit(uniform: Uniform) -> Row:
    digit = str(_between(uniform, 1, 9))
    return digit, digit


def _degrees(uniform: Uniform) -> Row:
    degrees = _between(uniform, 2, 39)
    return str(degrees), str(degrees)


# Every source's columns are "en" and "zh".
NUMBERS: dict[str, Callable[[Uniform], Row]] = {
    "int": _int,
    "few": _few,
    "price": _price,
    "money": _money,
    "percent": _percent,
    "year": _year,
    "later": _later,
    "date": _date,
    "day": _day,
    "clock": _clock,
    "age": _age,
    "id": _id,
    "digit": _digit,
    "deg": _degrees,
}
