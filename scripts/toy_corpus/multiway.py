"""Draws sentences in English, German, Czech and French at once, and writes them as tables.

Each list has a phrase on a line, in all languages. Subjects are women's names, so that verbs have one form; objects are
definite and in the accusative.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

LANGUAGES = ("en", "de", "cs", "fr")

_NAMES = "Anna Maria Eva Sofia Laura Julia Emma Klara Helena Martina Nina Olga Petra Diana Irena Monika Tereza Lucie"

_VERBS = """\
bought|kaufte|koupila|a acheté
saw|sah|viděla|a vu
found|fand|našla|a trouvé
sold|verkaufte|prodala|a vendu
painted|malte|namalovala|a peint
forgot|vergaß|zapomněla|a oublié
carried|trug|nesla|a porté
cleaned|putzte|vyčistila|a nettoyé
photographed|fotografierte|vyfotila|a photographié
repaired|reparierte|opravila|a réparé
hid|versteckte|schovala|a caché
lost|verlor|ztratila|a perdu
opened|öffnete|otevřela|a ouvert
looked for|suchte|hledala|a cherché
described|beschrieb|popsala|a décrit"""

_OBJECTS = """\
the book|das Buch|knihu|le livre
the letter|den Brief|dopis|la lettre
the bicycle|das Fahrrad|kolo|le vélo
the old house|das alte Haus|starý dům|la vieille maison
the red car|das rote Auto|červené auto|la voiture rouge
the suitcase|den Koffer|kufr|la valise
the map|die Karte|mapu|la carte
the picture|das Bild|obraz|le tableau
the small box|die kleine Schachtel|malou krabici|la petite boîte
the newspaper|die Zeitung|noviny|le journal
the umbrella|den Regenschirm|deštník|le parapluie
the door|die Tür|dveře|la porte
the camera|die Kamera|fotoaparát|l'appareil photo
the green bag|die grüne Tasche|zelenou tašku|le sac vert
the watch|die Uhr|hodinky|la montre
the key|den Schlüssel|klíč|la clé
the chair|den Stuhl|židli|la chaise
the guitar|die Gitarre|kytaru|la guitare
the white shirt|das weiße Hemd|bílou košili|la chemise blanche
the bread|das Brot|chléb|le pain
the computer|den Computer|počítač|l'ordinateur
the boat|das Boot|loď|le bateau"""

_PLACES = """\
in the city|in der Stadt|ve městě|en ville
at the station|am Bahnhof|na nádraží|à la gare
in the garden|im Garten|v zahradě|dans le jardin
at school|in der Schule|ve škole|à l'école
in the forest|im Wald|v lese|dans la forêt
at the market|auf dem Markt|na trhu|au marché
by the river|am Fluss|u řeky|au bord de la rivière
in the library|in der Bibliothek|v knihovně|à la bibliothèque
in front of the theatre|vor dem Theater|před divadlem|devant le théâtre
in the mountains|in den Bergen|v horách|à la montagne
on the train|im Zug|ve vlaku|dans le train
behind the church|hinter der Kirche|za kostelem|derrière l'église"""

_TIMES = """\
yesterday|gestern|včera|hier
today|heute|dnes|aujourd'hui
last week|letzte Woche|minulý týden|la semaine dernière
in the morning|am Morgen|ráno|le matin
on Monday|am Montag|v pondělí|lundi
in summer|im Sommer|v létě|en été
three years ago|vor drei Jahren|před třemi lety|il y a trois ans
on Friday|am Freitag|v pátek|vendredi
before noon|am Vormittag|dopoledne|avant midi
in winter|im Winter|v zimě|en hiver"""

_PATTERNS = (
    ("{0} {1} {2} {3} {4}.", "{0} {1} {4} {3} {2}.", "{0} {4} {1} {3} {2}.", "{0} {1} {2} {3} {4}."),
    ("{4} {0} {1} {2} {3}.", "{4} {1} {0} {2} {3}.", "{4} {0} {3} {1} {2}.", "{4}, {0} {1} {2} {3}."),
    ("I know that {0} {1} {2} {3}.", "Ich weiß, dass {0} {3} {2} {1}.", "Vím, že {0} {3} {1} {2}.",
     "Je sais que {0} {1} {2} {3}."),
)  # fmt: skip


def sentences(seed: int) -> Iterator[tuple[str, ...]]:
    """Yields sentences in the languages of :data:`LANGUAGES` without end; only ``random()`` is used."""
    uniform = random.Random(seed).random
    tables = [[(name,) * len(LANGUAGES) for name in _NAMES.split()]]
    tables += [[tuple(line.split("|")) for line in text.split("\n")] for text in (_VERBS, _OBJECTS, _PLACES, _TIMES)]
    while True:
        patterns = _PATTERNS[int(uniform() * len(_PATTERNS))]
        words = [table[int(uniform() * len(table))] for table in tables]
        texts = [pattern.format(*forms) for pattern, forms in zip(patterns, zip(*words, strict=True), strict=True)]
        yield tuple(text[0].upper() + text[1:] for text in texts)


def package_multiway(output: Path, seed: int, pairs: int, dev_pairs: int, max_bytes: int | None) -> int:
    """Writes dev.tsv and train.tsv under `output`, a column for each language; returns the number of training rows.

    No sentence of one is in the other.
    """
    dev = dict.fromkeys(itertools.islice(sentences(2 * seed + 1), dev_pairs))
    _write(output / "dev.tsv", dev, None, None)
    rows = (row for row in sentences(2 * seed) if row not in dev)
    return _write(output / "train.tsv", rows, None if max_bytes else pairs, max_bytes)


def _write(path: Path, rows: Iterable[tuple[str, ...]], most: int | None, max_bytes: int | None) -> int:
    count = written = 0
    with path.open("wb") as stream:
        stream.write(("\t".join(LANGUAGES) + "\n").encode())
        for row in rows:
            if count == most or (max_bytes is not None and written >= max_bytes):
                break
            written += stream.write(("\t".join(row) + "\n").encode())
            count += 1
    return count
