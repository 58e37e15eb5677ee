"""Rule ``noise``: signs that a text is not running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

KINDS = ["breadcrumbs", "glued_words", "spaced_letters", "escapes", "mojibake", "unassigned"]
PARTS = [
    *("Home > ", " » ", " « ", " | ", "x" * 29, "About", "Contact", "NewsÜber"),
    *("H ", "e ", "ль ", "字 ", "\\u00", "\\x4", "%C3", "%e2"),
    *("Ã", "¤", "â€", "™", "Â", "\xa0", "Ð", "Ñ", "\x80", "“", "»", "ï»¿", "€", "…", "\ufffd", "\x85", "\ue000", "."),
]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("Home > Products > Shoes > Boots", ["breadcrumbs"]),
        ("News | Sport | Weather | Travel", ["breadcrumbs"]),
        ("a > b and c > d", []),
        ("Accueil » Produits » Chaussures » Bottes", ["breadcrumbs"]),
        ("Direction (« left » (gauche), « right » (droite), « up » (haut)).", []),
        ("• the first item of a list • the second one" + " of these items" * 5 + " • the third", []),
        ("HomeAboutContactNews", ["glued_words"]),
        ("McDonald's, YouTube, PowerPoint, JavaScript, MacBook, LaTeX, MacBookPro, eBay", []),
        ("www.HomeAboutContactNews.de #HomeAboutContactNews", []),
        ("H e l l o World", ["spaced_letters"]),
        ("我 爱 北 京 天 安 门", []),
        ("I a m 5 a", []),
        ("a \\u00e4 b", ["escapes"]),
        ("C:\\users 50%, 20%CE", []),
        ("%C3%A4", ["escapes"]),
        ("Ich mÃ¶chte dasâ€™s", ["mojibake"]),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", ["mojibake"]),
        ("SÃO PAULO, „MENÜ“, IRMÃ», Âge, Ñ“ Château, 5 Â, «\xa0Oui\xa0»", []),
        ("a\ufffdb", ["mojibake"]),
        ("a\ue000b\x85", ["unassigned"]),
        ("👨\u200d👩 नमस्ते می\u200cخواهم", []),
    ],
)
def test_kinds(line: str, kinds: list[str]) -> None:
    assert values(rule_of("noise"), (line, "")) == [[len(kinds), 0]]
    assert [kind for kind in KINDS if values(rule_of("noise", {"kinds": [kind]}), (line, "")) == [[1, 0]]] == kinds
    assert decisions("noise", True, ("", line)) == [not kinds]


@given(st.lists(lines(PARTS), max_size=3))
def test_values_are_those_of_the_twin(batch: list[str]) -> None:
    for kind in KINDS:
        expected = [[float(kind in reference.noise(line))] * 2 for line in batch]
        assert values(rule_of("noise", {"kinds": [kind]}), *[(line, line) for line in batch]) == expected, kind
