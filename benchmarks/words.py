"""Compares the steps of ``nmt-prep words`` with sacremoses, and with Moses' own scripts: same text, one thread each.

    python -m benchmarks.words                                  # real corpora beside the checkout, or toy ones
    python -m benchmarks.words --moses mosesdecoder/scripts     # also Perl's scripts, whose bytes must be the same

sacremoses and Moses' scripts differ on some lines, so sacremoses' tokens are only counted where they are equal.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import sacremoses
from _nmt_prep_core import TruecaserTrainer

from benchmarks.bpe_texts import column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version
from nmt_prep.base.columns import TextColumn, joined_lines
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext

_LANGUAGES = {"English": "en", "Chinese": "zh", "German": "de"}
_SACREMOSES_LINES = 5000
"""sacremoses takes minutes for a whole text."""


def timed(chain: Chain, lines: pa.Array, repeat: int) -> tuple[pa.Array, Spent]:
    """Returns the changed lines, and the best time."""
    spent = []
    for _ in range(repeat):
        with stopwatch() as watch:
            made = chain.apply(lines).lines
        spent.append(watch.spent)
    return made, best(spent)


def report(what: str, size: float, ours: Spent, peer: str, theirs: Spent, result: str) -> None:
    print(f"{what}: nmt_prep {size / ours.clock:.0f} MB/s, {peer} {size / theirs.clock:.2g} MB/s, {result}", flush=True)
    record(Figure(f"{what}, one thread, {result}", "MB/s", [ours], peer, [theirs], size))


def compare_sacremoses(name: str, language: str, lines: list[str], ours: tuple[pa.Array, Spent]) -> None:
    some = lines[:_SACREMOSES_LINES]
    tokenize: Callable[..., str] = sacremoses.MosesTokenizer(lang=language).tokenize
    with stopwatch() as watch:
        theirs = [tokenize(line, aggressive_dash_splits=True, return_str=True) for line in some]
    same = sum(mine == other for mine, other in zip(ours[0][: len(some)].to_pylist(), theirs, strict=True))
    size = megabytes(lines)
    spent = watch.spent.times(size / megabytes(some))
    shares = f"{100 * same / len(some):.3g} % of lines the same"
    report(f"Moses tokenization, {name}", size, ours[1], with_version("sacremoses"), spent, shares)


def compare_perl(what: str, script: Sequence[str | Path], lines: pa.Array, ours: tuple[pa.Array, Spent]) -> bool:
    text = bytes(joined_lines(lines))
    with stopwatch() as watch:
        theirs = subprocess.run(["perl", *script], input=text, capture_output=True, check=True).stdout
    same = theirs == bytes(joined_lines(ours[0]))
    report(what, len(text) / 1e6, ours[1], "Moses' Perl", watch.spent, "identical" if same else "DIFFERENT")
    return same


def compare(name: str, language: str, lines: list[str], arguments: argparse.Namespace) -> bool:
    context = StepContext(language, Path())
    tokenize = Chain.of([{"moses": {"aggressive": True}}], context)
    text = column(lines)
    tokens = timed(tokenize, text, arguments.repeat)
    compare_sacremoses(name, language, lines, tokens)
    model = arguments.model
    model.write_text("".join(f"{line}\n" for line in trained(tokens[0])), encoding="utf-8")
    both = timed(Chain.of([{"moses": {"aggressive": True}}, {"truecase": str(model)}], context), text, arguments.repeat)
    print(f"tokenization and truecasing, {name}: {megabytes(lines) / both[1].clock:.0f} MB/s", flush=True)
    if arguments.moses is None:
        return True
    scripts = [arguments.moses / "tokenizer" / "tokenizer.perl", "-q", "-a", "-l", language]
    same = compare_perl(f"Moses tokenization, {name}", scripts, text, tokens)
    truecase = timed(Chain.of([{"truecase": str(model)}], context), tokens[0], arguments.repeat)
    scripts = [arguments.moses / "recaser" / "truecase.perl", "--model", model]
    return compare_perl(f"truecasing, {name}", scripts, tokens[0], truecase) and same


def trained(tokens: pa.Array) -> list[str]:
    trainer, lines = TruecaserTrainer(False), TextColumn.from_arrow(tokens)
    trainer.add(lines.data, lines.offsets)
    return trainer.model()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", type=Path, help="UTF-8 text, named NAME.LANGUAGE; .gz is unpacked")
    parser.add_argument("--moses", type=Path, metavar="FOLDER", help="Moses' scripts")
    parser.add_argument("--model", type=Path, default=Path("build/truecase.model"), help="the model to write")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    arguments.model.parent.mkdir(parents=True, exist_ok=True)
    same = True
    for name, lines in texts(arguments.texts).items():
        suffix = name.removesuffix(".gz").rpartition(".")[2].split()[-1]
        same &= compare(name, _LANGUAGES.get(name.split()[0], suffix), lines, arguments)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
