from __future__ import annotations

from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.errors import ConfigError
from nmt_prep.estimates.text import PairLines, first_pairs, generated_pairs, write_text


def pairs(*lines: tuple[str, str]) -> PairLines:
    source, target = zip(*lines, strict=True)
    return PairLines(pa.array(source, pa.large_string()), pa.array(target, pa.large_string()))


def test_the_first_pairs() -> None:
    three = pairs(("ab", "中"), ("c", "d"), ("e", "f"))
    assert first_pairs(three, 6).source.to_pylist() == ["ab", "c"]
    assert first_pairs(three, 100).target.to_pylist() == ["中", "d", "f"]


def test_text_in_several_files(tmp_path: Path) -> None:
    facts = write_text(
        iter([pairs(("ab", "中"), ("c", "d")), pairs(("e", "f"), ("g", "h"))]), tmp_path, 2, 10**6, "mine"
    )
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {
        "0.source": "ab\ng\n",
        "0.target": "中\nh\n",
        "1.source": "c\ne\n",
        "1.target": "d\nf\n",
    }
    assert facts.model_dump() == {
        "origin": "mine",
        "pairs": 4,
        "source_bytes": 9,
        "target_bytes": 10,
        "source_characters": 5,
        "target_characters": 4,
    }


def test_text_without_end_is_cut(tmp_path: Path) -> None:
    facts = write_text(generated_pairs(), tmp_path, 2, 100_000, "generated")
    assert 100_000 <= facts.bytes < 1_500_000
    assert next(generated_pairs()).source.equals(next(generated_pairs()).source)
    assert len(list(islice(generated_pairs(), 2))) == 2


def test_too_few_pairs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1 pairs are too few to calibrate on"):
        write_text(iter([pairs(("a", "b"))]), tmp_path, 2, 10, "mine")
