"""Writes a deterministic English–Chinese toy corpus of any size, packed as WMT packs its corpora or as plain text.

A seed fixes every byte of the text, whatever the Python version or PYTHONHASHSEED; memory does not grow with the size.

    python scripts/make_toy_corpus.py --output data/toy --force          # the bundled corpus
    python scripts/make_toy_corpus.py --output data/toy --force --packaging dirty --pairs 600 --seed 2
    python scripts/make_toy_corpus.py --output data/toy-multiway --force --packaging multiway --pairs 1000
    python scripts/make_toy_corpus.py --output /tmp/big --megabytes 2000 --packaging plain
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from toy_corpus.grammar import Grammar, Pair
from toy_corpus.multiway import package_multiway
from toy_corpus.writer import package_dirty, package_plain, package_wmt

PACKAGINGS = {"wmt": package_wmt, "plain": package_plain, "dirty": package_dirty}
FILES = {
    "wmt": ("training-parallel-toy.tgz", "dev.tgz"),
    "plain": ("train.en", "train.zh", "dev.en", "dev.zh"),
    "dirty": ("dirty-toy.tsv",),
    "multiway": ("train.tsv", "dev.tsv"),
}


def at_least(minimum: int) -> Callable[[str], int]:
    """Returns an argparse type: an integer that is not below `minimum`."""

    def bounded(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{text} is below the minimum, {minimum}")
        return value

    return bounded


def development_pairs(seed: int, count: int) -> list[Pair]:
    """Returns `count` pairs that differ from each other on both sides, from a separate random stream."""
    pairs: list[Pair] = []
    seen: set[str] = set()
    for pair in Grammar(2 * seed + 1).pairs():
        if len(pairs) == count:
            break
        if seen.isdisjoint(pair):
            seen.update(pair)
            pairs.append(pair)
    return pairs


def training_pairs(seed: int, dev: list[Pair]) -> Iterator[Pair]:
    """Yields pairs without end, none of which shares a sentence with `dev`."""
    held_out = {sentence for pair in dev for sentence in pair}
    for pair in Grammar(2 * seed).pairs():
        if pair[0] not in held_out and pair[1] not in held_out:
            yield pair


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line; argparse exits with status 2 and a message if it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write; made if missing")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--pairs", type=at_least(1), default=4000, help="training pairs (default: 4000)")
    size.add_argument(
        "--megabytes", type=at_least(1), help="instead of --pairs: training text of both sides, in 10^6 bytes"
    )
    parser.add_argument("--dev-pairs", type=at_least(1), default=200, help="development pairs (default: 200)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="fixes the text (default: 1)")
    parser.add_argument(
        "--packaging",
        choices=sorted(FILES),
        default="wmt",
        help="default: wmt (tgz and SGM); dirty: a TSV file of which every third pair is damaged; multiway: TSV files "
        "with a column each for English, German, Czech and French",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parsed = parser.parse_args(arguments)
    if parsed.output.exists() and not parsed.output.is_dir():
        parser.error(f"--output {parsed.output}: not a folder")
    existing = [name for name in FILES[parsed.packaging] if (parsed.output / name).exists()]
    if existing and not parsed.force:
        parser.error(f"{parsed.output / existing[0]} exists; choose another --output, or pass --force to replace it")
    return parsed


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the corpus that the command line asks for."""
    options = parse_arguments(arguments)
    max_bytes = None if options.megabytes is None else options.megabytes * 1_000_000
    options.output.mkdir(parents=True, exist_ok=True)
    if options.packaging == "multiway":
        count = package_multiway(options.output, options.seed, options.pairs, options.dev_pairs, max_bytes)
        print(f"{options.output}: {count:,} training rows", file=sys.stderr)
        return
    dev = development_pairs(options.seed, options.dev_pairs)
    train = training_pairs(options.seed, dev)
    if max_bytes is None:
        train = itertools.islice(train, options.pairs)
    count = PACKAGINGS[options.packaging](options.output, train, dev, max_bytes)
    print(f"{options.output}: {count:,} training pairs, {len(dev):,} development pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
