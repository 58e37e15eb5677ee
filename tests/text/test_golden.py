"""The steps give the bytes of Moses' own scripts, whose outputs are in ``../shared/golden/recipes``."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from _nmt_prep_core import TruecaserTrainer, moses_detokenizer, simple_step

from nmt_prep.base.columns import TextColumn
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext, apply_native

PATTERNS = r"""</?\S+/?>
<\S+( [a-zA-Z0-9]+="?[^"]")+ ?/?>
<\S+( [a-zA-Z0-9]+='?[^']')+ ?/?>
[\w\-_.]+@([\w\-_]+\.)+[a-zA-Z]{2,}
(https?|ftp)://[^:/\s]+(/\w+)*/[\w\-.]*
"""
OPTIONS: dict[str, dict[str, Any]] = {
    "tok": {},
    "tok-a": {"aggressive": True},
    "tok-a-noesc": {"aggressive": True, "escape": False},
    "tok-noesc": {"escape": False},
    "tok-x": {"skip_tags": True},
    "tok-protected": {"protected": "patterns"},
}
STEPS: dict[str, Any] = {
    "norm": {"punctuation": "moses"},
    "nonprint": {"non_printing": "moses"},
    "replace-unicode": {"unicode_punctuation": "moses"},
    "lower": "lowercase",
}


@pytest.fixture(scope="module")
def recipes(shared: Path) -> Path:
    return shared / "golden" / "recipes"


def lines_of(path: Path) -> pa.Array:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return pa.array(text.decode().removesuffix("\n").split("\n"), pa.large_string())


def source_of(golden: Path) -> pa.Array:
    """Returns the input of an output such as ``moses/m30k.en.tok.gz``."""
    name, language, *_ = golden.name.split(".")
    folder = golden.parents[1] / "in"
    return lines_of(next(p for p in (folder / f"{name}.{language}", folder / f"{name}.txt") if p.exists()))


def goldens(recipes: Path, pattern: str) -> list[tuple[Path, str]]:
    found = sorted((recipes / "moses").glob(pattern))
    assert found
    return [(path, path.name.split(".")[1]) for path in found]


def check(golden: Path, made: pa.Array) -> None:
    wrong = [pair for pair in zip(made.to_pylist(), lines_of(golden).to_pylist(), strict=True) if pair[0] != pair[1]]
    assert wrong == [], golden.name


@pytest.mark.parametrize("kind", OPTIONS)
def test_tokens(recipes: Path, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("sacremoses._data_nonbreaking_prefixes")
    (tmp_path / "patterns").write_text(PATTERNS)
    for golden, language in goldens(recipes, f"*.{kind}.gz"):
        chain = Chain.of([{"moses": OPTIONS[kind]}], StepContext(language, tmp_path))
        check(golden, chain.apply(source_of(golden)).lines)


@pytest.mark.parametrize("side", ["en", "de"])
def test_tokens_of_a_corpus(shared: Path, tmp_path: Path, side: str) -> None:
    pytest.importorskip("sacremoses._data_nonbreaking_prefixes")
    chain = Chain.of(["moses"], StepContext(side, tmp_path))
    made = chain.apply(lines_of(shared / "corpora" / "multi30k-ende" / f"train.{side}.gz"), threads=2).lines
    digest = hashlib.sha256("".join(f"{line}\n" for line in made.to_pylist()).encode()).hexdigest()
    assert digest in (shared / "golden" / "recipes" / "full" / "README.md").read_text()


def test_detokenized_text(recipes: Path) -> None:
    for golden, language in goldens(recipes, "*detok*.gz"):
        tokens = golden.with_name(".".join([*golden.name.split(".")[:2], "tok-a.gz"]))
        raw = golden.name.startswith(("adversarial", "fuzz")) and "tok-a" not in golden.name
        step = moses_detokenizer(language, golden.name.endswith("-u.gz"))
        check(golden, apply_native((step,), source_of(golden) if raw else lines_of(tokens), 1)[0])


@pytest.mark.parametrize("kind", STEPS)
def test_small_scripts(recipes: Path, kind: str) -> None:
    for golden, language in goldens(recipes, f"*.{kind}.gz"):
        check(golden, Chain.of([STEPS[kind]], StepContext(language, Path())).apply(source_of(golden)).lines)


def test_truecase(recipes: Path, tmp_path: Path) -> None:
    found = sorted((recipes / "truecase").glob("*c*.gz"))
    assert len(found) == 26
    for golden in found:
        *names, kind = golden.name.removesuffix(".gz").split(".")
        name = ".".join(names[-2:])
        (tmp_path / "model").write_bytes(gzip.decompress((golden.parent / f"{name}.model.gz").read_bytes()))
        chain = Chain.of([{"truecase": {"model": "model", "asr": kind == "tc-asr"}}], StepContext("en", tmp_path))
        if kind == "detc":
            check(golden, chain.undo(lines_of(golden.parent / f"{name}.tc.gz")))
        else:
            tokens = recipes / "moses" / f"{name}.tok-a.gz"
            check(golden, chain.apply(lines_of(tokens) if len(names) == 2 else source_of(golden)).lines)


def test_truecase_models(recipes: Path) -> None:
    found = sorted((recipes / "truecase").glob("*.model*.gz"))
    assert len(found) == 10
    for golden in found:
        name, language, kind, _ = golden.name.split(".")
        trainer = TruecaserTrainer(kind == "model-first")
        column = TextColumn.from_arrow(lines_of(recipes / "moses" / f"{name}.{language}.tok-a.gz"))
        trainer.add(column.data, column.offsets)
        pairs = [*zip(trainer.model(), lines_of(golden).to_pylist(), strict=True)]
        # Where forms are equally frequent, Perl chooses by chance.
        counts = {line: re.findall(r"\((\S+?)[/)]", line) for line, _ in pairs}
        untied = {line for line in counts if len({*counts[line]}) == len(counts[line])}
        assert len(untied) > 0.98 * len(pairs)
        assert untied <= {line for _, line in pairs}, golden.name


def test_unescaped_text(recipes: Path) -> None:
    for golden in sorted((recipes / "moses").glob("*.deescape.gz")):
        text = lines_of(recipes / "in" / f"{golden.name.split('.')[0]}.txt")
        check(golden, apply_native((simple_step("unescape"),), text, 1)[0])
