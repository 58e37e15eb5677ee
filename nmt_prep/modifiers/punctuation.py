"""RemoveEndPunct: the punctuation mark at the end of both sides."""

from __future__ import annotations

from nmt_prep.modifiers.block import Block, Line, LineModifier

_MARKS = {
    "period": ".．｡。﹒︒।॥۔။።։",
    "exclamation": "!！﹗︕‼❢❣՜",
    "question": "?？﹖︖؟\u037e՞፧⁇⁈⁉",
    "comma": ",，､﹐︐、﹑︑،၊՝",
    "colon": ":：﹕︓፥፦\u0387\u00b7",
    "semicolon": ";；﹔︔؛፤",
    "ellipsis": "…⋯︙",
}
_KINDS = {mark: kind for kind, marks in _MARKS.items() for mark in marks}


class RemoveEndPunct(LineModifier):
    """Removes the last mark of both sides if they are of one kind, and neither has another mark before it.

    Links of the last words are removed.
    """

    def __call__(self, block: Block) -> Block:
        """Returns the block without the last marks of some pairs."""
        places = block.drawn(self.probability)
        lines = block.lines(places)
        marked = [number for number, line in enumerate(lines) if _has_mark(line)]
        places, lines = places[marked], [lines[number] for number in marked]
        if block.links is None:
            edits = [Line(source[:-1].rstrip(), target[:-1].rstrip(), None) for source, target, _ in lines]
        else:
            last = [counts - 1 for counts in block.taken(places).word_counts()]
            edits = [_without_last(*line) for line in zip(lines, *(side.tolist() for side in last), strict=True)]
        return block.edited(places, edits)


def _has_mark(line: Line) -> bool:
    """Returns true if both sides end in a mark of one kind, with no other before it."""
    source, target, _ = line
    kind = _KINDS.get(source[-1:])
    return kind is not None and _KINDS.get(target[-1:]) == kind and not _repeats(source) and not _repeats(target)


def _without_last(line: Line, source: int, target: int) -> Line:
    """Returns a pair without its last marks, and without the links of the words of these numbers."""
    begin, end = f"{source}-", f"-{target}"
    kept = [link for link in (line.links or "").split() if not link.startswith(begin) and not link.endswith(end)]
    return Line(line.source[:-1].rstrip(), line.target[:-1].rstrip(), " ".join(kept))


def _repeats(text: str) -> bool:
    return text[-2:-1] in _KINDS or (text[-2:-1] == " " and text[-3:-2] in _KINDS)
