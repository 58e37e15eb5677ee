"""Shapes: what a chat template writes around a turn's texts, found once, so that rows need no rendering.

A conversation is rendered with marks in place of its texts. What stands between the marks is the same for all rows, and
is divided at added tokens into ids and texts. A text next to a mark is encoded with the row's text, since a
tokenizer's pieces may cross the border.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.subwords.added import AddedToken, AddedTokenFinder
from nmt_prep.subwords.chat.template import ChatTemplate, Message, Rendered
from nmt_prep.subwords.tokenizer import Tokenizer

USER, ANSWER = "\ue0d0", "\ue0d1"
"""Stand for a turn's texts in a shape. Private characters, which no template writes."""

_START, _END = "\ue0d2", "\ue0d3"  # Begin and end what counts for the loss
_OPEN, _CLOSE = "\ue0d4", "\ue0d5"  # Around the number of a turn
_TURN = re.compile(f"{_OPEN}(\\d)([{USER}{ANSWER}]){_CLOSE}")
_NAMES = re.compile(r"<\|[^|<>\s]+\|>")  # Texts that look like added tokens
_PROBES = ("x", "  x  ", "\nx\n", "\tx\n\ny", "<b>&\"'\\x</b>", "İß X.", "[x] {y}", "x ")


class Treatment(NamedTuple):
    """What a template does with a text: ``keep``, a method of ``str``, or ``render`` for anything else."""

    method: Literal["keep", "strip", "lstrip", "rstrip", "render"]
    characters: str | None = None  # the characters that the method strips; None for white space

    def of(self, text: str) -> str:
        """Returns the text as the template writes it."""
        return text if self.method == "keep" else str(getattr(text, self.method)(self.characters))


_TREATMENTS = (
    Treatment("keep"),
    *(Treatment(method, own) for own in (None, "\n") for method in ("strip", "lstrip", "rstrip")),
)


class Segment(NamedTuple):
    """A text to encode, in which :data:`USER` and :data:`ANSWER` stand for the row's texts."""

    text: str
    first: bool  # True if it begins the row; False if it follows an id
    # True if an added token swallows white space before or after it
    stripped: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Border:
    """A border of what counts for the loss."""

    part: int  # index of the part that it is in, or before which it is
    # text of the segment before the border; None for a border before the part
    before: str | None = None
    in_text: bool = False  # True for a border of a generation block, whose place is that of characters


@dataclass(frozen=True)
class TurnShape:
    """The ids and segments of a turn."""

    parts: tuple[int | Segment, ...]
    start: Border
    end: Border


@dataclass(frozen=True)
class Shapes:
    """A template's shapes for one system turn."""

    only: TurnShape
    # shapes for the first turn among several, later turns and the last turn; or why there are none
    several: tuple[TurnShape, TurnShape, TurnShape] | str
    user: Treatment  # what the template does with the text of a user
    answer: Treatment  # likewise for answers
    searched: tuple[str, ...]  # texts may be rendered in another way if they contain one of these
    around: tuple[str, str, str]  # the texts around a single turn


def shapes_of(template: ChatTemplate, system: str | None, tokenizer: Tokenizer) -> Shapes:
    """Returns a template's shapes.

    Raises:
        VocabularyError: the template cannot be rendered, or divided at the texts of messages.
    """
    one, texts, blocks = _turns(template, system, 1)
    names = {str(name) for role, name in json.loads(template.variables).items() if role.endswith("_token")}
    for name in sorted({*filter(None, names), *_NAMES.findall(one[0])}):
        if name in one[0] and name not in tokenizer.added:
            raise template.error(f"the vocabulary has no added token {name!r}", template.line_of(name))
    only = _shape(one[0], tokenizer, blocks, first=True)
    around = (texts[0], texts[1], texts[2])
    several: tuple[TurnShape, TurnShape, TurnShape] | str
    try:
        several = _several(template, system, tokenizer, blocks)
    except VocabularyError as error:
        several = str(error)
    user, answer = (_treatment(template, system, around, answers) for answers in (False, True))
    searched, more = template.asked()
    if more:  # such as a length: any text may change what the template writes
        user = answer = Treatment("render")
    return Shapes(only, several, user, answer, tuple(searched), around)


def conversation(system: str | None, texts: Sequence[str]) -> list[Message]:
    """Returns the messages with the texts of users and answers by turns."""
    first: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    roles = ("user", "assistant")
    return [*first, *({"role": roles[number % 2], "content": text} for number, text in enumerate(texts))]


def _several(
    template: ChatTemplate, system: str | None, tokenizer: Tokenizer, blocks: bool
) -> tuple[TurnShape, TurnShape, TurnShape]:
    turns = {count: _turns(template, system, count)[0] for count in (2, 3, 4)}
    first, middle, last = turns[3]
    if turns[2] != [first, last] or turns[4] != [first, middle, middle, last]:
        raise template.error(
            "documents cannot be divided into turns, because a turn depends on how many follow",
            template.line_of("loop.last"),
        )
    later = (_shape(turn, tokenizer, blocks, first=False) for turn in (middle, last))
    shapes = _shape(first, tokenizer, blocks, first=True), *later
    for before, after in ((shapes[0], shapes[1]), (shapes[1], shapes[2])):
        if not isinstance(before.parts[-1], int) and not isinstance(after.parts[0], int):
            raise template.error(
                "documents cannot be divided into turns, because no added token is between turns", None
            )
    return shapes[0], shapes[1], shapes[2]


def _turns(template: ChatTemplate, system: str | None, count: int) -> tuple[list[str], list[str], bool]:
    """Returns each turn's text with marks and borders, the texts between the marks, and if there are blocks."""
    marks = [f"{_OPEN}{turn}{kind}{_CLOSE}" for turn in range(count) for kind in (USER, ANSWER)]
    asked = [(conversation(system, marks[: 2 * turn - 1]), True) for turn in range(1, count + 1)]
    asked += [(conversation(system, marks[: 2 * turn]), False) for turn in range(1, count + 1)]
    rendered = template.render(asked)
    whole = rendered[-1]
    found = [(int(match[1]), match[2]) for match in _TURN.finditer(whole.text)]
    if found != [(turn, kind) for turn in range(count) for kind in (USER, ANSWER)]:
        raise template.error(
            "the texts of the messages are not in its text once, in their order and unchanged, so that what counts for "
            "the loss cannot be found",
            template.line_of("content"),
        )
    places = [(match.start(), match.end()) for match in _TURN.finditer(whole.text)]
    last = (max((match.end() for match in _TURN.finditer(answered.text)), default=0) for answered in rendered[count:])
    ends = [len(answered.text) - end for answered, end in zip(rendered[count:], last, strict=True)]  # after each answer
    cuts = [0, *(places[2 * turn + 1][1] + ends[turn] for turn in range(count))]
    borders = _blocks(template, whole, places) if whole.spans else _prefixes(template, rendered, places, ends)
    turns = []
    for turn, (start, end) in enumerate(borders):
        text = whole.text
        cut, stop = cuts[turn], max(cuts[turn + 1], end)
        turns.append(text[cut:start] + _START + text[start:end] + _END + text[end:stop])
        cuts[turn + 1] = stop
    pieces = [
        whole.text[a:b] for a, b in zip([0, *(b for _, b in places)], [*(a for a, _ in places), None], strict=True)
    ]
    return [_TURN.sub(r"\2", turn) for turn in turns], pieces, bool(whole.spans)


def _blocks(template: ChatTemplate, whole: Rendered, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the borders that generation blocks give, one pair per turn; blocks side by side are one."""
    joined: list[tuple[int, int]] = []
    for start, end in whole.spans:
        first = joined.pop()[0] if joined and joined[-1][1] == start else start
        joined.append((first, end))
    answers = places[1::2]
    inside = [start <= first and last <= end for (start, end), (first, last) in zip(joined, answers, strict=False)]
    if len(joined) != len(answers) or not all(inside):
        raise template.error("its generation blocks do not hold each answer once", template.line_of("generation"))
    return joined


def _prefixes(
    template: ChatTemplate, rendered: Sequence[Rendered], places: Sequence[tuple[int, int]], ends: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns the borders between prompts and answers: an answer is what follows its prompt, and ends its turn."""
    count, whole = len(ends), rendered[-1].text
    borders = []
    for turn in range(count):
        prompt, answered = rendered[turn].text, rendered[count + turn].text
        after = answered[len(answered) - ends[turn] :]
        place = places[2 * turn + 1]
        if not whole.startswith(prompt) or len(prompt) > place[0] or not whole.startswith(after, place[1]):
            common = _common(prompt, whole)
            raise template.error(
                f"the prompt of an answer ends in {prompt[common:][-60:]!r}, which the conversation with the answer "
                "does not have, so that what counts for the loss cannot be found",
                template.line_of(prompt[common:].strip()),
            )
        borders.append((len(prompt), place[1] + ends[turn]))
    return borders


def _shape(turn: str, tokenizer: Tokenizer, blocks: bool, *, first: bool) -> TurnShape:
    """Divides a turn's text at added tokens, and encodes the texts that are the same in all rows."""
    parts: list[int | Segment] = []
    borders: dict[str, Border] = {}
    swallowing = False  # True if the last token swallows white space
    pieces = [*_pieces(turn, tokenizer.added)]
    for piece in pieces:
        if isinstance(piece, int):
            token = next(token for token in tokenizer.added.values() if token.id == piece)
            if token.lstrip and parts and isinstance(before := parts[-1], Segment) and _ends_open(before.text):
                parts[-1] = before._replace(stripped=(before.stripped[0], True))
            swallowing = token.rstrip
            parts.append(piece)
            continue
        text = re.sub(f"[{_START}{_END}]", "", piece)
        marks = {mark: piece[: piece.index(mark)].replace(_START, "") for mark in (_START, _END) if mark in piece}
        open_left = swallowing and _ends_open(text[:1])
        begins = first and not parts
        swallowing = swallowing and not text
        if USER in text or ANSWER in text:
            for mark, before_mark in marks.items():
                whole = before_mark == text
                borders[mark] = Border(len(parts) + whole, None if whole or not before_mark else before_mark, blocks)
            parts.append(Segment(text, begins, (open_left, False)))
            continue
        ids = encoded(tokenizer, [text], begins)[0]
        for mark, before_mark in marks.items():
            alone = encoded(tokenizer, [before_mark], begins)[0]
            borders[mark] = Border(len(parts) + _common(alone, ids))
        parts += ids
    return TurnShape(tuple(parts), borders[_START], borders[_END])


def _ends_open(text: str) -> bool:
    return text[-1:] in (USER, ANSWER)


def _pieces(turn: str, added: Mapping[str, AddedToken]) -> list[int | str]:
    """Returns the IDs of a text's added tokens, and the texts between them; borders hide no white space."""
    if not added:
        return [turn]
    return list(AddedTokenFinder(added).cut(turn))


def encoded(tokenizer: Tokenizer, texts: Sequence[str], first: bool) -> list[list[int]]:
    """Returns the IDs of texts without special token names; ``first`` if they begin a row."""
    encode: Callable[..., object] = tokenizer.encode_batch if first else tokenizer.encode_after_token
    return encode(texts, threads=1).to_lists()  # type: ignore[attr-defined, no-any-return]


def rendered_row(
    template: ChatTemplate, system: str | None, user: str, answer: str, tokenizer: Tokenizer
) -> tuple[list[int], tuple[int, int]]:
    """Returns the ids of a conversation that is rendered as a whole, and what counts of it."""
    prompt, whole = template.render(
        [(conversation(system, [user]), True), (conversation(system, [user, answer]), False)]
    )
    ids = _all_ids(whole.text, tokenizer)
    if not whole.spans:
        return ids, (_common(_all_ids(prompt.text, tokenizer), ids), len(ids))
    bounds = []
    for is_end, place in enumerate((whole.spans[0][0], whole.spans[-1][1])):
        before = whole.text[:place]
        same = _common(alone := _all_ids(before, tokenizer), ids)
        crossed = same < len(alone)
        bounds.append(ids_before(ids, before, tokenizer, same, is_end=is_end > 0) if crossed else same)
    return ids, (bounds[0], bounds[1])


def ids_before(ids: Sequence[int], before: str, tokenizer: Tokenizer, same: int, *, is_end: bool) -> int:
    """Returns the number of ids of the text before a border, with one that crosses the border if ``is_end``.

    Args:
        ids: ids of the whole text.
        before: the text before the border.
        same: number of first ids that are before the border anyway.
    """
    place, crossed = same, True
    for end in range(same + 1, len(ids) + 1):
        try:
            text = tokenizer.decode(ids[:end])
        except EncodeError:  # it ends within a character
            continue
        if not before.startswith(text):
            break
        place, crossed = end, text != before
    return place + (is_end and crossed)


def _all_ids(text: str, tokenizer: Tokenizer) -> list[int]:
    ids: list[int] = []
    for piece in _pieces(text, tokenizer.added):
        ids += [piece] if isinstance(piece, int) else encoded(tokenizer, [piece], not ids)[0]
    return ids


def _common(alone: Sequence[object], ids: Sequence[object]) -> int:
    """Returns the length of the common start."""
    return next((n for n, (a, b) in enumerate(zip(alone, ids, strict=False)) if a != b), min(len(alone), len(ids)))


def _treatment(template: ChatTemplate, system: str | None, around: tuple[str, str, str], answers: bool) -> Treatment:
    """Returns what the template does with the texts of users, or with answers."""
    pairs = [("x", probe) if answers else (probe, "x") for probe in _PROBES]
    outcomes = [pair and pair[answers] for pair in rendered_pairs(template, system, around, pairs)]
    for treatment in _TREATMENTS:
        if outcomes == [treatment.of(probe) for probe in _PROBES]:
            return treatment
    return Treatment("render")


def rendered_pairs(
    template: ChatTemplate, system: str | None, around: tuple[str, str, str], pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str] | None]:
    """Returns the template's output for prompts and answers, or None if it writes other text around them."""
    before, between, after = around
    made: list[tuple[str, str] | None] = []
    for text, _ in template.render([(conversation(system, pair), False) for pair in pairs]):
        whole = len(text) >= len(before) + len(after) and text.startswith(before) and text.endswith(after)
        parts = text[len(before) : len(text) - len(after)].split(between) if whole and between else []
        made.append((parts[0], parts[1]) if len(parts) == 2 else None)
    return made
