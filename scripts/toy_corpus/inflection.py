"""English inflection: articles, plurals and verb forms."""

_VOWELS = "aeiou"
# Words whose spelling does not show the first sound.
_SOUNDS_LIKE_CONSONANT = ("uni", "use", "eu", "one")
_SOUNDS_LIKE_VOWEL = ("hour", "honest", "heir")

_IRREGULAR = {
    "break": ("broke", "broken"),
    "buy": ("bought", "bought"),
    "choose": ("chose", "chosen"),
    "draw": ("drew", "drawn"),
    "drink": ("drank", "drunk"),
    "eat": ("ate", "eaten"),
    "feed": ("fed", "fed"),
    "hide": ("hid", "hidden"),
    "lose": ("lost", "lost"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "sell": ("sold", "sold"),
    "sing": ("sang", "sung"),
    "throw": ("threw", "thrown"),
    "write": ("wrote", "written"),
}
_DOUBLING = {"put"}


def with_article(phrase: str) -> str:
    """Returns `phrase` after "a" or "an", chosen by the first sound of its first word."""
    word = phrase.lower()
    vowel = word[0] in _VOWELS and not word.startswith(_SOUNDS_LIKE_CONSONANT)
    return ("an " if vowel or word.startswith(_SOUNDS_LIKE_VOWEL) else "a ") + phrase


def plural(noun: str) -> str:
    """Returns the regular plural of `noun`; irregular ones are given in the lexicon."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def verb_forms(verb: str) -> tuple[str, str, str, str, str]:
    """Returns base, third person, past, past participle and -ing form; only the first word of `verb` is inflected."""
    head, space, particle = verb.partition(" ")
    consonant_y = head.endswith("y") and head[-2] not in _VOWELS
    regular = head + "d" if head.endswith("e") else head[:-1] + "ied" if consonant_y else head + "ed"
    past, participle = _IRREGULAR.get(head, (regular, regular))
    stem = head + head[-1] if head in _DOUBLING else head.removesuffix("e")
    base, third, past, participle, gerund = (
        form + space + particle for form in (head, plural(head), past, participle, stem + "ing")
    )
    return base, third, past, participle, gerund
