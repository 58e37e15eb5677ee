"""Language identification with lid.176.ftz: nmt_prep and fasttext-predict; same lines, same process, one thread each.

    python -m benchmarks.language_identification           # real corpora beside the checkout, or the toy corpus
    python -m benchmarks.language_identification --model lid.176.bin train.en

The first part finds the most probable label of every line: labels must be equal, and probabilities within 1e-6. The
second part compares the expected language with its rivals on both sides of a pair, as the rule ``language`` does. The
packages take turns. The best of several runs counts, by the clock and by processor time.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa

from benchmarks.bpe_texts import REPOSITORY, texts
from benchmarks.figures import Figure, Spent, record, with_version
from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.languages import LanguageIdentifier, load_identifier, model_file
from nmt_prep.cleaning.rule import Context, Pairs
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages

CORPORA = REPOSITORY.parent / "shared" / "corpora"

Side = tuple[str, list[str]]


def lines_of(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def pairs_of_lines() -> Iterator[tuple[str, Side, Side]]:
    """Yields real corpora as name, source and target; the toy corpus if there are none."""
    captions = CORPORA / "multi30k-ende"
    if not captions.is_dir():
        toy = texts([])
        yield "toy", ("en", toy["toy en"]), ("zh", toy["toy zh"])
        return
    yield "captions", ("en", lines_of(captions / "train.en.gz")), ("de", lines_of(captions / "train.de.gz"))
    for name, path, languages in (
        ("news en-zh", CORPORA / "wmt22-enzh" / "references-v22.en-zh.tsv.gz", ("en", "zh")),
        ("news en-de", CORPORA / "dirty-ende" / "train.tsv.gz", ("en", "de")),
    ):
        source, target = zip(*(line.split("\t")[:2] for line in lines_of(path)), strict=True)
        yield name, (languages[0], list(source)), (languages[1], list(target))


def best_times(functions: list[Callable[[], object]], runs: int) -> list[tuple[float, float]]:
    """Returns the shortest clock time and processor time of each function; they take turns."""
    best = [(np.inf, np.inf)] * len(functions)
    for _ in range(runs):
        for number, function in enumerate(functions):
            clock, processor = time.perf_counter(), time.process_time()
            function()
            taken = time.perf_counter() - clock, time.process_time() - processor
            best[number] = min(best[number][0], taken[0]), min(best[number][1], taken[1])
    return best


def compare_labels(ours: LanguageIdentifier, theirs: fasttext.FastText._FastText, lines: list[str]) -> str:
    labels, values = ours.top(TextColumn.from_strings(lines))
    worst = 0.0
    for number, line in enumerate(lines):
        their_labels, their_values = theirs.predict(line)
        if list(their_labels) != [ours.labels[label] for label in labels[number] if label >= 0]:
            sys.exit(f"line {number}: {ours.labels[labels[number, 0]]}, but fasttext says {their_labels}: {line}")
        worst = max(worst, float(np.abs(np.asarray(their_values) - values[number][: len(their_values)]).max(initial=0)))
    if worst > 1e-6:
        sys.exit(f"probabilities differ by {worst}")
    return "labels equal, " + ("probabilities too" if worst == 0 else f"probabilities within {worst:.1g}")


def identify(
    name: str, lines: list[str], ours: LanguageIdentifier, theirs: fasttext.FastText._FastText, runs: int
) -> None:
    column, terminated = TextColumn.from_strings(lines), [f"{line}\n" for line in lines]
    agreement = compare_labels(ours, theirs, lines)
    (our_clock, our_time), (their_clock, their_time) = best_times(
        [
            lambda: ours.top(column),
            lambda: theirs.f.multilinePredict(terminated, 1, 0.0, "strict"),
        ],
        runs,
    )
    record(
        Figure(
            f"language identification, lid.176.ftz, {name}, one thread, identical",
            "lines/s",
            [Spent(our_clock, our_time)],
            with_version("fasttext-predict"),
            [Spent(their_clock, their_time)],
            len(lines),
        )
    )
    words = sum(len(line.split()) for line in lines) / len(lines)
    print(
        f"{name:14} {len(lines):6} lines of {words:4.1f} tokens   nmt_prep {our_time / len(lines) * 1e6:5.2f} µs   "
        f"fasttext-predict {their_time / len(lines) * 1e6:6.2f} µs   ratio {their_time / our_time:4.1f} "
        f"(clock {their_clock / our_clock:4.1f})   {agreement}"
    )


def judge(name: str, source: Side, target: Side, model: str, runs: int) -> None:
    languages = Languages(source=source[0], target=target[0])
    (rule,) = make_rules({"language": {"model": model}}, Context(languages, ("source", "target"), Path.cwd()))
    size = min(len(source[1]), len(target[1]))
    first, second = (pa.array(lines[:size], pa.large_string()) for _, lines in (source, target))
    ((clock, processor),) = best_times([lambda: rule.values(Pairs({"source": first, "target": second}))], runs)
    print(
        f"{name:14} rule language, both sides   {processor / size * 1e6:5.2f} µs a pair   "
        f"{size / processor:9,.0f} pairs/s of processor time, one thread   {size / clock:9,.0f} by the clock"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "files", nargs="*", type=Path, help="text, plain or gzipped; corpora beside the checkout if none"
    )
    parser.add_argument("--model", default="lid.176", help="lid.176, or the path of a fastText model")
    parser.add_argument("--runs", type=int, default=5, help="how often each is timed; the best counts")
    options = parser.parse_args()
    ours, theirs = load_identifier(options.model), fasttext.load_model(str(model_file(options.model, Path.cwd())))
    if options.files:
        for path in options.files:
            identify(path.name, lines_of(path), ours, theirs, options.runs)
        return
    for name, source, target in pairs_of_lines():
        for language, lines in (source, target):
            identify(f"{name} {language}", lines, ours, theirs, options.runs)
        judge(name, source, target, options.model, options.runs)


if __name__ == "__main__":
    main()
