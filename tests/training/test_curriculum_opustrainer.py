"""Files of OpusTrainer, right and wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.training.curriculum import read_opustrainer

FILE = """
datasets: {clean: clean.tsv, dirty: dirty.tsv.gz}
stages: [start, end]
start:
  - clean 0.8
  - dirty 0.2
  - until clean 2
end:
  mix: [clean 1.0, until clean inf]
  modifiers: [UpperCase: 0.1, [[TitleCase: 0.2]]]
modifiers:
  - Typos: 0.05
    char_swap: 0.1
seed: 1111
num_fields: 3
trainer: marian -c m.yml
"""


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(FILE)
    read = read_opustrainer(path)
    assert read.datasets == {"clean": "clean.tsv", "dirty": "dirty.tsv.gz"}
    assert (read.seed, read.fields, read.trainer) == (1111, 3, ("marian", "-c", "m.yml"))
    start, end = read.training.stages
    assert (start.name, start.mix, start.until, start.modifiers) == (
        "start",
        {"clean": 0.8, "dirty": 0.2},
        {"clean": 2},
        None,
    )
    assert (end.name, end.mix, end.endless) == ("end", {"clean": 1.0}, True)
    assert end.modifiers == ({"UpperCase": 0.1}, {"TitleCase": 0.2})
    assert read.training.modifiers == ({"Typos": 0.05, "char_swap": 0.1},)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 1111", "", "seed: it is missing"),
        ("seed: 1111", "seed: x", "seed and num_fields must be whole numbers"),
        ("num_fields: 3", "num_fields: 1", "num_fields: it is 1; a line has a source and a target at least"),
        ("marian -c", "marian 'x", "trainer: it is no command: No closing quotation"),
        ("marian -c m.yml", "[marian]", "trainer: it is ['marian'], not a command"),
        ("seed: 1111", "seed: 1\nversion: 2", "version: 2 is unknown; it must be 1"),
        ("stages: [start, end]", "stages: [start, stop]", "stop: it must be a list such as"),
        ("clean 0.8", "clear 0.8", "start: 'clear 0.8' names no data set; they are clean, dirty"),
        ("clean 0.8", "clean x", "start: 'clean x' is not DATASET WEIGHT"),
        ("  - until clean 2", "", "start: its last line must be until DATASET EPOCHS"),
        ("until clean 2", "until clean", "start: 'until clean' is not until DATASET EPOCHS"),
        ("clean 0.8", "clean -1", "start: mix.clean: Input should be greater than or equal to 0"),
        ("clean 0.8", "clean 0", "start: until names 'clean', which the stage does not read"),
        ("until clean 2", "until clean inf", "stages.0 (start) never ends"),
        (
            "  - Typos: 0.05\n    char_swap: 0.1",
            "  - Typos",
            "seed and num_fields must be whole numbers, modifiers a list",
        ),
    ],
)
def test_a_wrong_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "c.yml"
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        read_opustrainer(path)
    assert str(error.value).startswith(f"{path}: {message}")
