"""The fix ``mojibake``: it restores misread text, and does not alter correct text in any language."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.text.step import Altered, apply_native, named_step
from tests.conftest import examples
from tests.reference.mojibake import fix_mojibake

SHARED = Path(__file__).parents[3] / "shared"
TEXTS = {
    "de": "Über größere Öfen: „Spaß“ für 5 €",
    "fr": "« C’est déjà l’été », dit-il à Noël",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "pl": "Zażółć gęślą jaźń",
    "pt": "Não, amanhã às três é cedo",
    "ro": "Știință și țară",
    "tr": "İstanbul'da şişe ağacı",
    "vi": "Tiếng Việt: đường phố Hà Nội ở đây",
    "ru": "Съешь ещё этих мягких французских булок",
    "el": "Γαζέες και μυρτιές",
    "he": "שלום עולם",
    "ar": "اللغة العربية",
    "hi": "हिन्दी में लिखा",
    "th": "ภาษาไทย",
    "ko": "한국어 문장",
    "ja": "日本語の文、カタカナ。",
    "zh": "他说：“你好。”",
    "en": "It’s “smart” — 20 °C … ½ ™ 😀",
}


def applied(lines: Sequence[str], language: str = "en") -> Altered:
    return apply_native((named_step("mojibake", language),), pa.array(lines, pa.large_string()), 1)


def fixed(*lines: str, language: str = "en") -> list[str]:
    return applied(lines, language).lines.to_pylist()


def as_latin_1(text: str) -> str:
    return text.encode().decode("latin-1")


def as_windows_1252(text: str) -> str:
    """Returns the text as browsers misread it: bytes that Windows-1252 lacks become control characters."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize("language", TEXTS)
def test_misread_text_is_restored(language: str) -> None:
    text = TEXTS[language]
    damaged = [as_latin_1(text), as_windows_1252(text)]
    damaged += [as_windows_1252(as_windows_1252(text)), as_latin_1(as_windows_1252(text)), as_latin_1(as_latin_1(text))]
    assert fixed(*damaged, language=language) == [text] * 5
    assert fixed(text, language=language) == [text]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fÃ¼r die GRÃ–SSE", "für die GRÖSSE"),
        ("weiÃ\x9f", "weiß"),
        ("Itâ€™s", "It’s"),
        ("20Â°C, 5Â£, endÂ\xa0: Â½", "20°C, 5£, end\xa0: ½"),
        ("1920Ã—1080, 3 Ã— 4", "1920×1080, 3 × 4"),
        ("ESPAÃ‘A", "ESPAÑA"),
        ("Ã–sterreich", "Österreich"),
        ("the unit Î¼m", "the unit μm"),
        ("romÃ¢nÃ„Æ’, limbÃ„Æ’", "română, limbă"),  # in part misread twice
        ("“real quotes” and cafÃ©", "“real quotes” and café"),
        ("«\xa0été\xa0» and cafÃ©", "«\xa0été\xa0» and café"),
        ("don\x92t", "don’t"),  # Windows-1252 read as Latin-1
        ("donÂ’t", "don’t"),  # and then also UTF-8 read as Windows-1252
    ],
)
def test_fragments_are_restored(line: str, expected: str) -> None:
    assert fixed(line) == [expected]


def test_a_grave_is_restored_where_a_plain_space_replaced_its_second_byte() -> None:
    assert fixed("VoilÃ  le cafÃ© Ã  Paris", language="fr") == ["Voilà le café à Paris"]
    assert fixed("La cittÃ di notte", language="it") == ["La città di notte"]
    assert fixed("Ã s vezes nÃ£o", language="pt") == ["às vezes não"]
    assert fixed("pagÃ ria", language="ca") == ["pagÃ ria"]  # Catalan has à within words


@pytest.mark.parametrize("line", ["fÃ¼r â€œQuoteâ€ ", "mÃ©xico AmÃrica", "schÃ¶n weiÃ da"])
def test_lines_with_lost_bytes_stay_as_they_are(line: str) -> None:
    assert fixed(line) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "„Spaß“ und „GRÖSSE“, „Ä“, ß“",
        "«\xa0été\xa0» « à\xa0» déjà\xa0! arrivé…»",
        "AMANHÃ” IRMÃ… MAÇÃ— NÃO «IRMû CRISTÃ™ ROMûnia",
        "«CAFÉ» “CAFÉ” CAFÉ… CAFÉ™ CAFÉ€5 CAFÉ²",
        "É…É… Ã…Ã… Ê…Ê…",
        "«está»… «está»— dijo «José»”, está¹²",
        "Úžasné ÚŽASNÉ Úšp ÝŠÍŽ",
        "Skånes Å “Å” 1,54 Ű0,2 Ø½ 2×½ ߀",
        "COSÌ” È… LUNEDÌ» È—",
        "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
        "VIỆT NAM ngã” xã… đã»",
        "né\xa0£5, coûté\xa0½, à\xa0±5",
        "¡ESPAÑA! ¿QUÉ?",
    ],
)
def test_correct_text_stays(line: str) -> None:
    assert fixed(line) == [line]
    assert fixed(line, language="fr") == [line]


WORDS = ["AMANHÃ", "IRMÃ", "CAFÉ", "Café", "café", "été", "à", "À", "Ä", "Å", "É", "È", "É»", "Spaß", "GRÖßE"]
WORDS += ["está", "JOSÉ", "Úžasné", "COSÌ", "già", "ROMÂNIA", "Ñandú", "MÃE", "ngã"]
BEFORE = ["", "„", "“", "«", "«\xa0", "‘", "(", "—", "¡", "¿"]
AFTER = [*"”“’»…™®²°—!.", "", "\xa0»", "…»", "…”", "»…", " –", "\xa0:", "’s", ", "]


@given(st.lists(st.tuples(*map(st.sampled_from, (BEFORE, WORDS, AFTER)))))
@settings(max_examples=examples(400))
def test_quoted_words_stay(parts: list[tuple[str, str, str]]) -> None:
    line = " ".join(map("".join, parts))
    assert fixed(line) == [line]


PIECES = [*"aZ 1.â€™œÃÂÄÅÉáéºªêðŸ»«”“’…–—\xa0\xad¼½©®°²³¹×ßØ¿¡™žŠ›‡•\x80\x81\x92\x94\x99Ñ£中ïëå", *TEXTS.values()]
PIECES += [as_latin_1(text) for text in TEXTS.values()] + [as_windows_1252(text) for text in TEXTS.values()]


@given(
    lines=st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), min_size=1),
    language=st.sampled_from(["en", "pt", "fr"]),
)
@settings(max_examples=examples(300))
def test_core_gives_the_same_as_the_python_twin(lines: list[str], language: str) -> None:
    once = fixed(*lines, language=language)
    assert once == [fix_mojibake(line, language) for line in lines]
    assert fixed(*once, language=language) == once


@pytest.mark.skipif(not SHARED.exists(), reason="needs the reference corpora")
def test_real_text_stays() -> None:
    aligned = gzip.decompress((SHARED / "golden/align/en-cs.tsv.gz").read_bytes()).decode()
    chinese = gzip.decompress((SHARED / "corpora/wmt22-enzh/references-v22.en-zh.tsv.gz").read_bytes()).decode()
    dirty = gzip.decompress((SHARED / "corpora/dirty-ende/train.tsv.gz").read_bytes()).decode().split("\n")
    labels = gzip.decompress((SHARED / "corpora/dirty-ende/train.labels.gz").read_bytes()).decode().split("\n")
    for text in (aligned, chinese, "\n".join(d for d, label in zip(dirty, labels, strict=True) if label == "clean")):
        lines = text.replace("\t", "\n").split("\n")
        assert applied(lines).counts.tolist() == [0]
    misread = [line.split("\t")[1] for line, label in zip(dirty, labels, strict=True) if label == "mojibake"]
    assert fixed(*misread, language="de") == [line.encode("latin-1").decode() for line in misread]
