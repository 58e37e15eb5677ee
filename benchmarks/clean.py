"""Compares cleaning with OpusFilter 3.3.1: scores and decisions of the same filters pair by pair, and speed.

    python -m benchmarks.clean [--text SOURCE TARGET] [--languages en de] [--pairs 300000] [--peer-pairs 2000]
                               [--threads 2] [--opusfilter PYTHON]

The filters are LengthFilter, LengthRatioFilter, LongWordFilter, HtmlTagFilter, CharacterScoreFilter,
TerminalPunctuationFilter and NonZeroNumeralsFilter. LangidFilter is only timed. The text is the toy corpus, or two
files of lines, which may be compressed with gzip; it is repeated until there are as many pairs as wanted. Our time is
that of a cleaner with all rules, counts and histograms, in threads. OpusFilter runs in one process, on fewer pairs.

OpusFilter is that of the extra `benchmark`, or of the interpreter that --opusfilter names: an environment with
``opusfilter==3.3.1`` and ``py3langid==0.3.0``.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import logging
import math
import subprocess
import sys
import tarfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Spent, record

TOY = Path(__file__).resolve().parent.parent / "data" / "toy" / "training-parallel-toy.tgz"
SCRIPTS = {
    "zh": "Han",
    "ru": "Cyrillic",
    "uk": "Cyrillic",
    "bg": "Cyrillic",
    "el": "Greek",
    "ar": "Arabic",
    "th": "Thai",
}
BATCH = 8192
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "LengthFilter": ("length", {"unit": "token", "min": 1, "max": 100}),
    "LengthRatioFilter": ("length_ratio", {"unit": "token", "max": 3}),
    "LongWordFilter": ("longest_word", {"unit": "token", "max": 40}),
    "HtmlTagFilter": ("html", {"tags": "any"}),
    "CharacterScoreFilter": ("script", {"min": 1}),
    "TerminalPunctuationFilter": ("terminal_punctuation", {"min": -2}),
    "NonZeroNumeralsFilter": ("numerals", {"min": 0.5}),
}
"""For each filter of OpusFilter, with its defaults, our rule."""

TIMED_ONLY = "LangidFilter"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--languages", nargs=2, default=["en", "zh"], metavar=("SOURCE", "TARGET"))
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--peer-pairs", type=int, default=2_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--opusfilter", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        run_opusfilter(arguments.languages)
        return
    pairs = texts(arguments.text)
    tokens = sum(len(line.split()) for pair in pairs for line in pair) / len(pairs) / 2
    print(f"{len(pairs):,} different pairs, {tokens:.1f} words a side")
    compared = [*itertools.islice(itertools.cycle(pairs), arguments.peer_pairs)]
    peer = ask_opusfilter(arguments.opusfilter, arguments.languages, compared)
    differences = compare(compared, arguments.languages, peer)
    repeated = [*itertools.islice(itertools.cycle(pairs), arguments.pairs)]
    processor, speed = our_speed(repeated, arguments.languages, arguments.threads)
    seconds = {name: result["seconds"] for name, result in peer.items()}
    theirs = arguments.peer_pairs / sum(spent for name, spent in seconds.items() if name != TIMED_ONLY)
    with_langid = arguments.peer_pairs / sum(seconds.values())
    print(f"OpusFilter, seven filters:      {theirs:>12,.0f} pairs/s")
    print(f"OpusFilter, with LangidFilter:  {with_langid:>12,.0f} pairs/s")
    print(f"nmt_prep, seven rules:          {speed:>12,.0f} pairs/s on {arguments.threads} threads")
    print(f"                                {processor * 1e9:>12,.0f} ns of processor time a pair")
    print(f"ratio: {speed / theirs:,.0f}")
    ours, peer_time = Spent(1 / speed, processor), sum(v for name, v in seconds.items() if name != TIMED_ONLY)
    what = f"cleaning, seven of OpusFilter's filters, {tokens:.0f} words per side, {arguments.threads} threads"
    peer_pair = Spent(peer_time, peer_time).times(1 / arguments.peer_pairs)
    what += " (the peer has one), same scores and decisions"
    record(Figure(what, "pairs/s", [ours], "opusfilter 3.3.1", [peer_pair]))
    sys.exit(1 if differences else 0)


def texts(files: list[Path] | None) -> list[tuple[str, str]]:
    """Returns the pairs of two files, or of the toy corpus."""
    if files:
        source, target = (read(path) for path in files)
    else:
        with tarfile.open(TOY) as archive:
            sides = sorted(archive.getnames())
            members = [
                archive.extractfile(next(name for name in sides if name.endswith(end))) for end in (".en", ".zh")
            ]
            source, target = (member.read().decode().split("\n")[:-1] for member in members if member is not None)
    return [pair for pair in zip(source, target, strict=True) if all(pair)]


def read(path: Path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().split("\n")[:-1]


def ask_opusfilter(python: str, languages: list[str], pairs: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Returns scores, decisions and seconds by filter, from another process."""
    command = [python, "-m", "benchmarks.clean", "--peer", "--languages", *languages]
    done = subprocess.run(
        command,
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=Path(__file__).resolve().parents[1],
    )
    if done.returncode:
        sys.exit(
            f"OpusFilter failed in {python}; install the extra benchmark, or use --opusfilter\n{done.stderr[-2000:]}"
        )
    result: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return result


def run_opusfilter(languages: list[str]) -> None:
    """Reads pairs as JSON and writes the results of OpusFilter's filters, for :func:`ask_opusfilter`."""
    warnings.simplefilter("ignore")
    import opusfilter.filters as of  # noqa: PLC0415  (only in the interpreter that has it)

    logging.disable(logging.CRITICAL)
    pairs = [tuple(pair) for pair in json.load(sys.stdin)]
    options = {
        "CharacterScoreFilter": {"scripts": [script(language) for language in languages]},
        TIMED_ONLY: {"languages": languages},
    }
    results = {}
    for name in (*RULES, TIMED_ONLY):
        judge = getattr(of, name)(**options.get(name, {}))
        next(judge.score(pairs[:1]))  # loads what the filter needs
        started = time.process_time()
        scores = [*judge.score(pairs)]
        decisions = [bool(judge.accept(score)) for score in scores]
        results[name] = {"seconds": time.process_time() - started, "scores": scores, "decisions": decisions}
    json.dump(results, sys.stdout)


def script(language: str) -> str:
    return SCRIPTS.get(language, "Latin")


def our_rules(languages: list[str]) -> dict[str, dict[str, Any]]:
    rules = dict(RULES.values())
    scripts = dict(zip(("source", "target"), map(script, languages), strict=True))
    return {**rules, "script": {**rules["script"], "script": scripts}}


def compare(pairs: list[tuple[str, str]], languages: list[str], peer: dict[str, dict[str, Any]]) -> int:
    """Prints how many scores and decisions of each filter differ, and returns the sum."""
    from nmt_prep.cleaning.rejects import judge  # noqa: PLC0415  (not in the interpreter of OpusFilter)
    from nmt_prep.cleaning.rule import Pairs  # noqa: PLC0415
    from nmt_prep.cleaning.rules import make_rules  # noqa: PLC0415

    batch = Pairs(arrays(pairs))
    rules = {rule.key: rule for rule in make_rules(our_rules(languages), context(languages))}
    total = 0
    for name, (rule_name, _) in RULES.items():
        rule = rules[rule_name]
        values = rule.values(batch)
        decisions = judge(values, rule.bounds).tolist()
        scores = [list(map(float, score if isinstance(score, list) else [score])) for score in peer[name]["scores"]]
        other_scores = sum(ours != theirs for ours, theirs in zip(values.T.tolist(), scores, strict=True))
        other_decisions = sum(a != b for a, b in zip(decisions, peer[name]["decisions"], strict=True))
        speed = len(pairs) / max(peer[name]["seconds"], 1e-9)
        print(
            f"{name:26} {other_scores} scores and {other_decisions} decisions of {len(pairs):,} differ; {speed:,.0f}/s"
        )
        total += other_scores + other_decisions
    return total


def our_speed(pairs: list[tuple[str, str]], languages: list[str], threads: int) -> tuple[float, float]:
    """Returns the seconds of processor time of a pair, and the pairs a second of all threads."""
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415
    from nmt_prep.cleaning.presets import Cleaning  # noqa: PLC0415

    shares = [arrays(pairs[first : first + BATCH]) for first in range(0, len(pairs), BATCH)]

    def clean(worker: int) -> None:
        cleaner = Cleaner(Cleaning(fix=(), rules=our_rules(languages)), context(languages), "benchmark")
        for share in shares[worker::threads]:
            cleaner.clean(share)

    best = (math.inf, math.inf)
    for _ in range(3):
        started, started_processor = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(clean, range(threads)))
        spent = time.process_time() - started_processor, time.perf_counter() - started
        best = min(best[0], spent[0]), min(best[1], spent[1])
    return best[0] / len(pairs), len(pairs) / best[1]


def arrays(pairs: list[tuple[str, str]]) -> dict[Any, Any]:
    import pyarrow as pa  # noqa: PLC0415

    sides = zip(*pairs, strict=True)
    return {side: pa.array(lines, pa.large_string()) for side, lines in zip(("source", "target"), sides, strict=True)}


def context(languages: list[str]) -> Any:
    from nmt_prep.cleaning.rule import Context  # noqa: PLC0415
    from nmt_prep.config import Languages  # noqa: PLC0415

    return Context(Languages(source=languages[0], target=languages[1]), ("source", "target"), Path())


if __name__ == "__main__":
    main()
