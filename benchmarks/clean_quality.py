"""Measures the shares of defective and clean pairs that the presets of cleaning drop or restore.

    python -m benchmarks.clean_quality --clean TEXT.tsv … --languages en-zh --foreign OTHER.txt … [--each 200]
    python -m benchmarks.clean_quality --labelled TEXT.tsv LABELS --languages en-de

The first form puts defects into clean pairs (:mod:`benchmarks.dirty`); the second takes pairs with a label per line, of
which ``clean`` is one. Files may be gzipped, and clean pairs may also be gettext catalogues (``.mo``). For each label
the table has the share of pairs that are dropped or restored, and the shares of both. A pair is restored if it is kept
and its text is what it was before the defect, but for white space and normal form. Below the table are the rules that
drop clean pairs, and the clean pairs that fixes alter other than in control characters, white space and normal form.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks.catalogues import catalogue_pairs
from benchmarks.dirty import LabelledPair, Pair, Texts, dirty_pairs
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.cleaner import Cleaner, Judged
from nmt_prep.cleaning.rule import Context
from nmt_prep.runs.checks.corpus_checks import load_cleaning

PRESETS = ("light", "standard", "strict")
_WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my", "yue"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", required=True, metavar="SOURCE-TARGET")
    parser.add_argument("--clean", type=Path, nargs="+", help="clean pairs: two columns, or gettext catalogues")
    parser.add_argument("--swap", action="store_true", help="the target is in the first column of clean pairs")
    parser.add_argument("--foreign", type=Path, nargs="*", default=[], help="lines in other languages")
    parser.add_argument("--each", type=int, default=200, help="pairs with each kind of defect")
    parser.add_argument("--labelled", type=Path, nargs=2, metavar=("TSV", "LABELS"))
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    arguments = parser.parse_args()
    source, _, target = arguments.languages.partition("-")
    if arguments.labelled:
        rows = zip(pairs_of(arguments.labelled[0]), lines_of(arguments.labelled[1]), strict=True)
        pairs = [LabelledPair(label, pair, pair if label == "clean" else None) for pair, label in rows]
    else:
        foreign = [line for path in arguments.foreign for line in lines_of(path)]
        spaces = (source not in _WITHOUT_SPACES, target.split("-")[0] not in _WITHOUT_SPACES)
        clean = clean_pairs(arguments.clean, swapped=arguments.swap)
        pairs = dirty_pairs(Texts(clean, foreign, spaces), arguments.each)
    results = {preset: cleaned(pairs, (source, target), preset) for preset in arguments.presets}
    print_table(pairs, results)
    for preset, judged in results.items():
        print_losses(preset, pairs, judged)


def lines_of(path: Path) -> list[str]:
    """Returns the lines of a text file, which may be gzipped."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def pairs_of(path: Path) -> list[Pair]:
    """Returns the pairs of a file with two columns."""
    pairs = (line.split("\t") for line in lines_of(path))
    return [(pair[0], pair[1]) for pair in pairs]


def clean_pairs(paths: Sequence[Path], *, swapped: bool) -> list[Pair]:
    """Returns the pairs of tables and gettext catalogues."""
    catalogues = [path for path in paths if path.suffix == ".mo"]
    pairs = [pair for path in paths if path.suffix != ".mo" for pair in pairs_of(path)] + catalogue_pairs(catalogues)
    return [(target, source) for source, target in pairs] if swapped else pairs


def cleaned(pairs: Sequence[LabelledPair], languages: tuple[str, str], preset: str) -> Judged:
    """Returns the pairs after cleaning with a preset."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "clean.yaml"
        config.write_text(f"languages: {{source: {languages[0]}, target: {languages[1]}}}\nclean: {{preset: {preset}}}")
        loaded = load_cleaning(config)
        cleaner = Cleaner(loaded.cleaning, Context(loaded.languages, SIDES, config.parent), "text")
    text = {side: pa.array([pair.pair[n] for pair in pairs], pa.large_string()) for n, side in enumerate(SIDES)}
    return cleaner.clean(text)


def print_table(pairs: Sequence[LabelledPair], results: dict[str, Judged]) -> None:
    """Prints the share of each label that each preset drops, or restores."""
    labels = list(dict.fromkeys(pair.label for pair in pairs))
    width = max(map(len, labels))
    print(f"{'label':{width}} {'pairs':>6}" + "".join(f"{preset + ': dropped, restored':>30}" for preset in results))
    fates = {preset: fates_of(pairs, judged) for preset, judged in results.items()}
    for label in labels:
        places = [place for place, pair in enumerate(pairs) if pair.label == label]
        print(f"{label:{width}} {len(places):6,}", end="")
        for fate in fates.values():
            counts = Counter(fate[place] for place in places)
            dropped, restored = (100 * counts[what] / len(places) for what in ("dropped", "restored"))
            either = f"{dropped + restored:.1f} %" if label != "clean" else ""
            print(f"{either:>12}{dropped:8.1f} %{restored:6.1f} %", end="")
        print()


def fates_of(pairs: Sequence[LabelledPair], judged: Judged) -> list[str]:
    """Returns the result of each pair: ``dropped``, ``restored`` or ``kept``."""
    texts = [judged.text[side].to_pylist() for side in SIDES]
    fates = []
    for place, pair in enumerate(pairs):
        after = (texts[0][place], texts[1][place])
        if judged.reasons[place] >= 0:
            fates.append("dropped")
        elif pair.meant is not None and all(map(same, after, pair.meant)):
            fates.append("restored")
        else:
            fates.append("kept")
    return fates


def same(first: str, second: str) -> bool:
    """Returns true if two lines differ at most in control characters, white space and normal form."""
    return _essence(first) == _essence(second)


def _essence(line: str) -> str:
    visible = "".join(c for c in line if unicodedata.category(c) != "Cc" or c == "\t")
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", visible)).strip()


def print_losses(preset: str, pairs: Sequence[LabelledPair], judged: Judged) -> None:
    """Prints the rules that drop clean pairs, with an example, and the clean pairs that are altered."""
    clean = [place for place, pair in enumerate(pairs) if pair.label == "clean"]
    lost = [place for place in clean if judged.reasons[place] >= 0]
    print(f"\n{preset}: {len(lost):,} of {len(clean):,} clean pairs dropped ({100 * len(lost) / len(clean):.2f} %)")
    reasons = Counter(judged.names[judged.reasons[place]] for place in lost)
    for rule, count in reasons.most_common():
        example = next(place for place in lost if judged.names[judged.reasons[place]] == rule)
        print(f"  {rule} {count}, such as: {' ||| '.join(pairs[example].pair)[:200]}")
    altered = [
        place
        for place in clean
        if not all(same(judged.text[side][place].as_py(), pairs[place].pair[n]) for n, side in enumerate(SIDES))
    ]
    print(f"  clean pairs altered: {len(altered)}{' such as: ' if altered else ''}", end="")
    print(" ||| ".join(judged.text[side][altered[0]].as_py() for side in SIDES)[:200] if altered else "")


if __name__ == "__main__":
    main()
