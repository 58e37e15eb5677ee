"""Tables of inflected phrases, built from the lexicon: one row per phrase, with a weight and one column per form.

A weight of 1/rank within every list (words, determiners, places) makes the product follow Zipf's law roughly.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from . import facts, lexicon, people
from .inflection import verb_forms, with_article
from .phrases import ADJECTIVES, NOUNS, Noun, bare, definite, indefinite, members

Row = tuple[str, ...]


@dataclass
class Table:
    """Rows of forms under named columns; `weights[i]` is proportional to how often row i is drawn."""

    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, row: Row, weight: float) -> None:
        """Appends a row, one form for each column."""
        assert len(row) == len(self.columns), row
        self.rows.append(row)
        self.weights.append(weight)

    def extend(self, rows: list[Row], scale: float = 1.0) -> None:
        """Appends rows in rank order; together they weigh `scale`."""
        harmonic = sum(1 / rank for rank in range(1, len(rows) + 1))
        for rank, row in enumerate(rows, 1):
            self.add(row, scale / rank / harmonic)

    def where(self, column: str, accept: Callable[[str], bool]) -> "Table":
        """Returns the rows whose form in `column` is accepted."""
        at = self.columns.index(column)
        kept = [(row, weight) for row, weight in zip(self.rows, self.weights, strict=True) if accept(row[at])]
        return Table(self.columns, [row for row, _ in kept], [weight for _, weight in kept])


_VERB_COLUMNS = ("base", "s", "past", "done", "ing", "zh", "le", "guo", "verb", "at", "to", "zai", "qu")


def _verb_phrases(determine: str) -> Table:
    """Builds the verb phrases whose objects are "indefinite", "definite" or, for habits only, "bare"."""
    phrases = {"indefinite": indefinite, "definite": definite, "bare": bare}[determine]
    table = Table(_VERB_COLUMNS)
    for verb_rank, frame in enumerate(lexicon.VERBS.splitlines(), 1):
        verb, zh_verb, objects, group = frame.split("=")
        if determine == "bare" and not group.endswith("*"):
            continue
        forms = verb_forms(verb)
        places = [tuple(place.strip().split(";")) for place in lexicon.PLACES[group.rstrip("*")].split("|")]
        # Rows get the places in turn; a row for each place would be too many.
        turn = itertools.cycle(places[:1] * 2 + places)
        for noun, noun_weight in members(objects):
            for en, zh, weight in phrases(noun):
                at, to, zai, qu = next(turn)
                english = tuple(f"{form} {en}" for form in forms)
                chinese = (zh_verb + zh, f"{zh_verb}了{zh}", f"{zh_verb}过{zh}", zh_verb)
                table.add((*english, *chinese, at, to, zai, qu), weight * noun_weight / (verb_rank + 1))
    return table


def _results() -> Table:
    """Builds the 把 phrases: "washed the red shirt" with 把那件红色的衬衫洗干净; 了 is the pattern's."""
    table = Table(("done", "past", "passive", "the", "zh", "thing", "verb"))
    for verb_rank, frame in enumerate(lexicon.RESULTS.splitlines(), 1):
        verb, zh_verb, objects = frame.split("=")
        _, _, past, done, _ = verb_forms(verb)
        for noun, noun_weight in members(objects):
            for en, zh, weight in definite(noun):
                # One has not "lost this key": what is at hand would be odd here.
                if en.startswith("the "):
                    row = (f"{done} {en}", f"{past} {en}", done, en, f"把{zh}{zh_verb}", zh, zh_verb)
                    table.add(row, weight * noun_weight / (verb_rank + 1))
    return table


def _goods(kinds: tuple[str, ...]) -> Table:
    """Builds what one can buy: a noun, and an adjective that can be said of it."""
    table = Table(("en", "many", "a", "zh", "m", "adj", "er", "zhadj"))
    for kind_rank, kind in enumerate(kinds, 1):
        adjectives = [adjective for adjective in ADJECTIVES[kind] if adjective.predicate]
        for (rank, noun), adjective in itertools.product(enumerate(NOUNS[kind], 1), adjectives):
            said = (adjective.en, adjective.comparative, adjective.predicate)
            row = (noun.one, noun.many, with_article(noun.one), noun.zh, noun.measure, *said)
            table.add(row, 1 / kind_rank / rank)
    return table


def _clothes() -> Table:
    """Builds "a red hat" with 戴着一顶红色的帽子: the Chinese verb depends on what one wears."""
    table = Table(("en", "zh"))
    for noun, noun_weight in members("clothing,pairs,watch"):
        for en, zh, weight in indefinite(noun):
            if en.startswith(("a ", "an ")):
                table.add((en, f"{lexicon.WEARING.get(noun.bare, '穿')}着{zh}"), weight * noun_weight)
    return table


def _existence() -> Table:
    """Builds "on the table" + "is a red cup" with 桌子上放着一个红色的杯子."""
    table = Table(("at", "en", "s", "zh"))
    for spot_rank, spot in enumerate(facts.SPOTS.split("|"), 1):
        at, kinds, zh_at = spot.strip().split("=")
        for noun, noun_weight in members(kinds):
            for en, zh, weight in indefinite(noun):
                verb = "is" if en.startswith(("a ", "an ")) else "are"
                table.add((at, en, verb, zh_at + zh), weight * noun_weight / spot_rank)
    return table


def _persons() -> dict[str, Table]:
    person, names, plural_persons = Table(people.COLUMNS), Table(people.COLUMNS), Table(people.COLUMNS)
    names.extend(people.chinese_names(), 0.5)
    names.extend(people.foreign_names(), 0.5)
    person.extend(people.singular_persons(), 0.6)
    person.extend(people.chinese_names(), 0.25)
    person.extend(people.foreign_names(), 0.25)
    plural_persons.extend(people.plural_persons())
    who = Table(people.COLUMNS, person.rows + plural_persons.rows, person.weights + plural_persons.weights)
    return {"person": person, "name": names, "plural": plural_persons, "who": who}


@cache
def build() -> dict[str, Table]:
    """Builds every table, by the name that patterns call it."""
    tables = _persons()
    tables["do"] = _verb_phrases("indefinite")
    tables["dothe"] = _verb_phrases("definite")
    tables["dos"] = _verb_phrases("bare")
    tables["athome"] = tables["do"].where("at", lambda place: place == "at home")
    tables["go"] = tables["do"].where("to", bool)
    tables["chore"] = tables["do"].where("verb", lambda verb: verb in lexicon.CHORES)
    tables["purchase"] = tables["do"].where("verb", lambda verb: verb in ("买", "租"))
    tables["known"] = tables["dothe"].where("verb", lambda verb: verb not in lexicon.CONSUMPTION)
    tables["leisure"] = tables["dos"].where("verb", lambda verb: verb in lexicon.LEISURE)
    tables["result"] = _results()
    tables["drink"] = Table(("en", "zh"))
    tables["drink"].extend([phrase[:2] for noun in NOUNS["drink"] for phrase in itertools.islice(indefinite(noun), 1)])
    tables["goods"] = _goods(("clothing", "reading", "device", "household", "vehicle"))
    tables["food"] = _goods(("food",))
    tables["wear"] = _clothes()
    tables["there"] = _existence()
    tables["role"] = Table(("a", "en", "zh", "m"))
    roles = [Noun.parse(entry, "role") for entry in people.ROLES.split()]
    tables["role"].extend([(with_article(role.one), role.one, role.zh, role.measure) for role in roles])
    tables["profession"] = tables["role"].where("en", lambda role: role != "student")
    for name, (header, text) in facts.PHRASES.items():
        columns = tuple(header.split())
        rows = [tuple(row.strip().split("=")) for row in text.split("|")]
        tables[name] = Table(columns)
        tables[name].extend(rows)
    return tables
