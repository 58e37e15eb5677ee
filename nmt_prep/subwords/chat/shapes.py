"""Shapes: what a chat template writes around the texts of a conversation, found once, so that rows need no rendering.

A conversation is rendered with marks in place of its texts. What stands between the marks is the same for all rows. It
is divided at special tokens into IDs and segments. A segment is encoded with the texts of the row, since a tokenizer's
pieces may cross the border between the template's text and theirs.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import Ragged, concatenated
from nmt_prep.base.errors import EncodeError
from nmt_prep.base.runtime import kept
from nmt_prep.subwords.added import AddedTokenFinder
from nmt_prep.subwords.chat.template import ChatTemplate, Message, Rendered
from nmt_prep.subwords.tokenizer import Tokenizer

_MARK = re.compile("\ue0d0(\\d+)\ue0d1")
_HIDING = "\ue0d2"  # Within the name of a special token that is text
_NAMES = re.compile(r"<\|[^|<>\s]+\|>")  # Texts that look like special tokens
_PROBES = ("x", "  x  ", "\nx\n", "\tx\n\ny", "<b>&\"'\\x</b>", "İß X.", "[x] {y}", "x ")
_WHITE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


def mark(text: int) -> str:
    """Returns what stands for a text of the conversation, given its index."""
    return f"\ue0d0{text}\ue0d1"


def conversation(system: str | None, texts: Sequence[str]) -> list[Message]:
    """Returns the messages with the texts of users and answers by turns."""
    first: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    roles = ("user", "assistant")
    return [*first, *({"role": roles[number % 2], "content": text} for number, text in enumerate(texts))]


class Segment(NamedTuple):
    """A text to encode, which may contain marks."""

    text: str
    first: bool  # True if it begins the row; False if it follows an ID

    def ids(self, texts: Sequence[pa.Array], tokenizer: Tokenizer, threads: int | None) -> Ragged:
        """Returns the IDs with each row's texts in place of the marks, or a single row if there are no marks."""
        columns = [
            texts[int(piece)] if number % 2 else piece
            for number, piece in enumerate(_MARK.split(self.text))
            if number % 2 or piece
        ]
        if len(columns) == 1:
            lines = columns[0] if isinstance(columns[0], pa.Array) else pa.array([self.text], pa.large_string())
        else:
            lines = concatenated(*columns)
        return (tokenizer.encode_batch if self.first else tokenizer.encode_after_token)(lines, threads)


class Border(NamedTuple):
    """A border of what counts for the loss."""

    part: int  # index of the part that it is in, or before which it is
    before: Segment | None = None  # what the part has before the border; None for a border before the part


@dataclass(frozen=True)
class Shape:
    """The IDs and segments of a conversation, and the borders of each answer: its begin and its end by turns."""

    text: str  # the conversation with marks
    parts: tuple[int | Segment, ...]
    borders: tuple[Border, ...]
    blocks: bool  # True for borders of generation blocks, which are places of characters
    gaps: tuple[int, ...] = ()  # for each turn but the last, the characters from its end to the text of the next user
    odd: OddTexts | None = None  # the texts whose rows must be rendered; None for none

    @classmethod
    def of(cls, template: ChatTemplate, system: str | None, turns: int, tokenizer: Tokenizer) -> Shape:
        """Returns the shape of a template for a number of turns.

        Raises:
            VocabularyError: the template cannot be rendered, or divided at the texts of messages.
        """
        marks = [mark(number) for number in range(2 * turns)]
        [(text, spans)] = template.render([(conversation(system, marks), False)])
        if _MARK.findall(text) != [str(number) for number in range(2 * turns)]:
            raise template.error(
                "the texts of the messages are not in its text once, in their order and unchanged, so the part that "
                "counts for the loss cannot be found",
                template.line_of("content"),
            )
        places = [match.span() for match in _MARK.finditer(text)]
        finder, _ = _special(tokenizer)
        special = {str(name) for role, name in json.loads(template.variables).items() if role.endswith("_token")}
        for name in sorted({*filter(None, special), *_NAMES.findall(text[places[-1][1] :])}):
            if name in text and name not in tokenizer.added:
                raise template.error(f"the vocabulary has no added token {name!r}", template.line_of(name))
        bounds = _blocks(template, spans, places[1::2]) or _prefixes(
            template, text, [_prompt(template, system, turn) for turn in range(turns)], places, finder
        )
        parts = _parts(text, tokenizer)
        starts = [0]
        for start, end, _ in finder.places(text):
            starts += [start, end] if start > starts[-1] else [end]
        borders = [_border(text, parts, starts, place) for bound in bounds for place in bound]
        gaps = [places[2 * turn + 2][0] - bounds[turn][1] for turn in range(turns - 1)]
        shape = cls(text, tuple(parts), tuple(borders), bool(spans), tuple(gaps))
        return replace(shape, odd=OddTexts.of(template, system, shape, tokenizer))

    def rows(self, texts: Sequence[pa.Array], tokenizer: Tokenizer, threads: int | None) -> tuple[Ragged, Ragged]:
        """Returns the IDs of rows, given the columns of their texts, and the bounds of what counts."""
        count = len(texts[0])
        parts = [
            Ragged.from_lists([[part]]) if isinstance(part, int) else part.ids(texts, tokenizer, threads)
            for part in self.parts
        ]
        firsts = np.cumsum([0, *map(len, parts)])[:-1]
        items = np.stack([first + np.arange(count) % len(part) for first, part in zip(firsts, parts, strict=True)])
        ids = Ragged.joined(parts).taken(items.T.ravel())
        offsets = ids.offsets[np.arange(count)[:, None] * len(parts) + np.arange(len(parts) + 1)]
        starts = offsets - offsets[:, :1]
        rows = Ragged(ids.values, ids.offsets[:: len(parts)])
        borders = []
        for number, (part, before) in enumerate(self.borders):
            places = starts[:, part]
            if before is not None:
                alone = before.ids(texts, tokenizer, threads)
                alone, whole = (each.taken(np.arange(count) % len(each)) for each in (alone, parts[part]))
                is_end = np.full(count, number % 2 == 1) if self.blocks else None
                places = places + _places(alone, whole, tokenizer, is_end)
            borders.append(places)
        bounds = np.stack(borders, axis=1).astype(np.int32)
        return rows, Ragged(bounds.ravel(), np.arange(0, bounds.size + 1, bounds.shape[1]))

    def filled(self, text: str) -> str:
        """Returns the conversation with one text in place of each mark."""
        return text.join(_MARK.split(self.text)[::2])

    def texts_in(self, text: str, tokenizer: Tokenizer) -> list[str]:
        """Returns the texts in a rendered conversation, or an empty list if what is around them differs."""
        finder, swallow = _special(tokenizer)
        before, *between, after = _MARK.split(self.text)[::2]
        counted = all(piece and text.count(piece) == self.text.count(piece) for piece in between)
        if not (counted and text.startswith(before) and text.endswith(after)):
            return []
        texts, at = list[str](), len(before)
        for piece in between:
            end = text.find(piece, at)
            texts.append(text[at:end])
            at = end + len(piece)
        texts.append(text[at : len(text) - len(after)])
        odd = swallow and any(text != text.strip() for text in texts)
        return [] if odd or any(map(finder.occurs, texts)) else texts

    def ends_joined(self, texts: Sequence[pa.Array], tokenizer: Tokenizer) -> list[str]:
        """Returns the prompts whose last ID is joined with the beginning of the first answer."""
        part, before = self.borders[0]
        if before is None or not isinstance(own := self.parts[part], Segment):
            return []
        alone, whole = (segment.ids(texts, tokenizer, 1) for segment in (before, own))
        alone = alone.taken(np.arange(len(texts[0])) % len(alone))
        return [tokenizer.decode(alone[row]) for row in np.flatnonzero(_common(alone, whole) < alone.lengths).tolist()]


def rendered_rows(
    template: ChatTemplate, shape: Shape, system: str | None, rows: Mapping[int, Sequence[str]], tokenizer: Tokenizer
) -> Iterator[tuple[list[int], Ragged, Ragged]]:
    """Yields rows, given by their last pairs, that are rendered as a whole: those pairs, their IDs and bounds."""
    finder, _ = _special(tokenizer)
    hidden = [
        [finder.replaced(text, lambda name: f"{name[0]}{_HIDING}{name[1:]}") for text in row] for row in rows.values()
    ]
    wholes = template.render([(conversation(system, texts), False) for texts in hidden], [*rows])
    inserted = [shape.texts_in(whole.text, tokenizer) for whole in wholes]
    kept = [pair for pair, texts in zip(rows, inserted, strict=True) if texts]
    each = zip(rows, inserted, wholes, hidden, strict=True)
    others = {pair: (whole, row) for pair, texts, whole, row in each if not texts}
    if kept:
        columns = ([text.replace(_HIDING, "") for text in texts] for texts in zip(*filter(None, inserted), strict=True))
        yield kept, *shape.rows([pa.array(texts, pa.large_string()) for texts in columns], tokenizer, 1)
    if others:
        borders = _row_borders(template, shape, system, others)
        yield [*others], *_whole_rows([whole.text for whole, _ in others.values()], borders, tokenizer, shape.blocks)


def _row_borders(
    template: ChatTemplate, shape: Shape, system: str | None, rows: Mapping[int, tuple[Rendered, Sequence[str]]]
) -> list[list[str]]:
    """Returns for each row its text before the begin and before the end of each answer."""
    if shape.blocks:
        return [[text[:place] for span in spans for place in span] for (text, spans), _ in rows.values()]
    asked = [  # an answer begins after its prompt, and ends at a distance from the next user's text
        (conversation(system, texts[:end] if end % 2 else [*texts[:end], mark(0)]), end % 2 == 1)
        for _, texts in rows.values()
        for end in range(1, len(texts))
    ]
    rendered = iter(template.render(asked, [pair for pair, (_, texts) in rows.items() for _ in texts[1:]]))
    borders = [[*(next(rendered).text for _ in texts[1:]), text] for (text, _), texts in rows.values()]
    for row in borders:
        row[1:-1:2] = [after[: after.rfind(mark(0)) - gap] for after, gap in zip(row[1::2], shape.gaps, strict=False)]
    return borders


def _whole_rows(
    texts: Sequence[str], borders: Sequence[Sequence[str]], tokenizer: Tokenizer, blocks: bool
) -> tuple[Ragged, Ragged]:
    """Returns the IDs and bounds of rows, given each row's text before its borders."""
    counts = [len(row) for row in borders]
    ids, alone = _all_ids(texts, tokenizer), _all_ids([text for row in borders for text in row], tokenizer)
    is_end = np.arange(len(alone)) % 2 == 1 if blocks else None
    places = _places(alone, ids.taken(np.repeat(np.arange(len(ids)), counts)), tokenizer, is_end)
    return ids, Ragged(places.astype(np.int32), np.concatenate([[0], np.cumsum(counts)]))


def _blocks(
    template: ChatTemplate, spans: list[tuple[int, int]], answers: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Returns the borders that generation blocks give, one pair per turn, or none without blocks."""
    inside = [start <= first and last <= end for (start, end), (first, last) in zip(spans, answers, strict=False)]
    if spans and (len(spans) != len(answers) or not all(inside)):
        raise template.error("its generation blocks do not hold each answer once", template.line_of("generation"))
    return spans


def _prefixes(
    template: ChatTemplate,
    text: str,
    prompts: Sequence[str],
    places: Sequence[tuple[int, int]],
    finder: AddedTokenFinder,
) -> list[tuple[int, int]]:
    """Returns the borders between prompts and answers: an answer is what follows its prompt, and ends its turn.

    An answer ends its turn as the last one does, as far as the text before the next turn allows.
    """
    bounds = list[tuple[int, int]]()
    told_apart = finder.replaced(text, lambda name: f"{_HIDING}{name[1:]}")  # special tokens and texts that begin so
    for turn, prompt in enumerate(prompts):
        start, place = _same(prompt, text), places[2 * turn + 1][1]
        is_last = turn == len(prompts) - 1
        # Before other answers, the template may leave out what it writes before the last one, such as thoughts
        if start < (len(prompt) if is_last else places[2 * turn][1]):
            written = _MARK.sub("…", prompt[start:])
            raise template.error(
                f"the prompt before an answer ends in {written[-60:]!r}, which is missing in the conversation with the "
                "answer, so the part that counts for the loss cannot be found",
                template.line_of(written.strip()),
            )
        bounds.append((start, place + _same(told_apart[places[-1][1] :], told_apart[place:])))
    return bounds


@kept(1024)
def _prompt(template: ChatTemplate, system: str | None, turn: int) -> str:
    """Returns the prompt for an answer, given the number of turns before it."""
    return template.render([(conversation(system, [mark(text) for text in range(2 * turn + 1)]), True)])[0].text


def _same(text: str, other: str) -> int:
    """Returns the number of characters that two texts have in common at their start."""
    if other.startswith(text):
        return len(text)
    return next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(other))


def _border(text: str, parts: Sequence[int | Segment], starts: Sequence[int], place: int) -> Border:
    """Returns the part of a place in the text, given the place where each part starts."""
    part = bisect_right(starts, place) - 1
    if place == starts[part] or part == len(parts) or isinstance(parts[part], int):
        return Border(part)
    return Border(part + 1) if place == len(text) else Border(part, Segment(text[starts[part] : place], part == 0))


@kept(8)
def _special(tokenizer: Tokenizer) -> tuple[AddedTokenFinder, bool]:
    """Returns what finds the special tokens of a vocabulary, and True if one includes the white space around it."""
    # Other added tokens stay in the text: a row may have more of their characters, such as a space
    special = {name: token for name, token in tokenizer.added.items() if token.special}
    return AddedTokenFinder(special), any(token.lstrip or token.rstrip for token in special.values())


def _parts(text: str, tokenizer: Tokenizer) -> list[int | Segment]:
    """Returns the IDs of a text's special tokens, and the segments between them."""
    pieces = enumerate(_special(tokenizer)[0].cut(text))
    return [piece if isinstance(piece, int) else Segment(piece, number == 0) for number, piece in pieces]


def _all_ids(texts: Sequence[str], tokenizer: Tokenizer) -> Ragged:
    """Returns the IDs of whole texts, in which the names of special tokens may be hidden."""
    rows = [_parts(text, tokenizer) for text in texts]
    parts = [part for row in rows for part in row]
    kinds = np.array([0 if isinstance(part, int) else 1 + part.first for part in parts])
    pools = [Ragged.from_lists([[part] for part in parts if isinstance(part, int)])]
    for first, encode in enumerate((tokenizer.encode_after_token, tokenizer.encode_batch)):
        held = [part.text for part in parts if isinstance(part, Segment) and part.first == bool(first)]
        pools.append(encode([text.replace(_HIDING, "") for text in held], threads=1))
    order = np.argsort(np.argsort(kinds, kind="stable"))
    ids = Ragged.joined(pools).taken(order)
    return Ragged(ids.values, ids.offsets[np.cumsum([0, *map(len, rows)])])


def _places(
    alone: Ragged, whole: Ragged, tokenizer: Tokenizer, is_end: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.int64]:
    """Returns the number of IDs before the border in each row, given the IDs of the text before it.

    Args:
        is_end: for each row True if the border is the end of a block, so that an ID that crosses it is before it; None
            for borders that are the first difference of IDs.
    """
    places = _common(alone, whole)
    for row in np.flatnonzero(places < alone.lengths).tolist() if is_end is not None else ():
        text, ids, crossed = tokenizer.decode(alone[row].tolist()), whole[row].tolist(), True
        for end in range(int(places[row]) + 1, len(ids) + 1):
            try:
                part = tokenizer.decode(ids[:end])
            except EncodeError:  # it ends within a character
                continue
            if not text.startswith(part):
                break
            places[row], crossed = end, part != text
        places[row] += is_end is not None and is_end[row] and crossed
    return places


def _common(alone: Ragged, whole: Ragged) -> npt.NDArray[np.int64]:
    """Returns the length of the rows' common start."""
    lengths = np.minimum(alone.lengths, whole.lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    row = np.repeat(np.arange(len(lengths)), lengths)
    differs = alone.values[alone.offsets[row] + within] != whole.values[whole.offsets[row] + within]
    common = lengths.copy()
    np.minimum.at(common, row[differs], within[differs])
    return common


@dataclass(frozen=True)
class OddTexts:
    """The texts that a template does not insert as they are, so that their rows must be rendered."""

    every: bool  # True for all texts
    outer: bool  # True for texts with outer white space
    searched: tuple[str, ...]  # the template searches these in texts, and writes something else where it finds them

    @classmethod
    def of(cls, template: ChatTemplate, system: str | None, shape: Shape, tokenizer: Tokenizer) -> OddTexts:
        """Finds out by examples."""
        template.render([(conversation(system, ["x"] * 6), False)])  # what it asks of messages may differ with turns
        rows = [[probe] * (2 * len(shape.gaps) + 2) for probe in _PROBES]
        rendered = template.render([(conversation(system, row), False) for row in rows])
        changed = [probe for probe, (text, _) in zip(_PROBES, rendered, strict=True) if text != shape.filled(probe)]
        searched, more = template.asked()
        every = more or any(probe == probe.strip() for probe in changed)
        return cls(every, bool(changed) or _special(tokenizer)[1], tuple(searched))

    def among(self, texts: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Returns True for rows with such a text, given the columns of their texts."""
        odd = np.full(len(texts[0]), self.every)
        for lines in texts if not self.every else ():
            inner = pc.utf8_trim(lines, characters=_WHITE)
            odd |= np.asarray(pc.equal(pc.binary_length(inner), 0))
            if self.outer:
                odd |= np.asarray(pc.not_equal(inner, lines))
            for searched in self.searched:
                odd |= np.asarray(pc.match_substring(lines, searched))
        return odd
