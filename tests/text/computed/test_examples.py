"""The scripts in docs/examples, with stand-ins for their libraries and programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.base.sides import SIDES
from nmt_prep.config import ComputedValue, Languages
from nmt_prep.text.computed import Column, close_columns

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"

COMET = """
class Made:
    scores = property(lambda self: [len(each["src"]) / len(each["mt"]) for each in self.samples])
    def predict(self, samples, **options):
        print("a message")
        self.samples = samples
        return self
download_model, load_from_checkpoint = str, lambda path: Made()
"""
CTRANSLATE2 = """
from types import SimpleNamespace as Space
class Translator:
    def __init__(self, directory, **options): pass
    def translate_batch(self, batch, num_hypotheses, **options):
        return [Space(hypotheses=[[*words, str(n)] for n in range(num_hypotheses)]) for words in batch]
"""
SENTENCEPIECE = """
class SentencePieceProcessor:
    def __init__(self, model_file): pass
    def encode(self, text, out_type): return text.split()
    def decode(self, pieces): return " ".join(pieces)
"""
MARIAN = """#!/bin/sh
awk '{ for (n = 0; n < 2; n++) printf "%d ||| %s %d ||| F0= -1 ||| -1\\n", NR - 1, $0, n }'
"""
BICLEANER = """#!/bin/sh
awk -F '\\t' '{ print length($1) / 10 }'
"""


@pytest.fixture(autouse=True)
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {"comet.py": COMET, "ctranslate2.py": CTRANSLATE2, "sentencepiece.py": SENTENCEPIECE}
    for name, content in {**modules, "marian-decoder": MARIAN, "bicleaner-ai-classify": BICLEANER}.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.parametrize(
    ("program", "keys", "expected"),
    [
        ("{python} computed_comet_kiwi.py", {"end": "mark", "batch": 2}, [0.75, 2.0, 1.0]),
        ("./computed_bicleaner_ai.sh model", {"end": "exit"}, [0.3, 0.2, 0.4]),
        (
            "{python} computed_ctranslate2.py model 2",
            {"end": "mark", "input": "source", "output": "text", "candidates": 2, "batch": 2},
            ["a b 0\ta b 1", "cd 0\tcd 1", "efgh 0\tefgh 1"],
        ),
        (
            "./computed_marian.sh model.yml 2",
            {"end": "exit", "input": "source", "output": "text", "candidates": 2},
            ["a b 0\ta b 1", "cd 0\tcd 1", "efgh 0\tefgh 1"],
        ),
    ],
)
def test_scripts_follow_the_protocol(program: str, keys: dict[str, Any], expected: list[Any]) -> None:
    words = tuple(program.format(python=f"{sys.executable} -S").split())
    made = Column("v", ComputedValue(program=words, **keys), Languages(source="en", target="de"), SIDES, EXAMPLES)
    text: Any = {"source": pa.array(["a b", "cd", "efgh"]), "target": pa.array(["wxyz", "x", "wxyz"])}
    found = made.texts(text) if keys.get("output") == "text" else made.numbers(text)
    assert found.tolist() == expected
    close_columns()
