from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import ArgumentError
from nmt_prep.runs.trial.data import text_key
from nmt_prep.runs.trial.trial_page import Judgement, judged_pairs, read_judgements

HEAD = "corpus\trow\tkey\tjudgement\n"


def table(directory: Path, text: str) -> Path:
    path = directory / "judged.tsv"
    path.write_text(text, "utf-8")
    return path


def test_judgements(tmp_path: Path) -> None:
    keys = [text_key("a", "b"), text_key("c", "d")]
    path = table(tmp_path, f"{HEAD}train/x\t7\t{keys[0]}\tgood\ntrain/x\t9\t{keys[1]}\tbad\n")
    judgements = read_judgements(path)
    first = Judgement(f"{path}, line 2", keys[0], good=True)
    assert judgements == {"train/x": {7: first, 9: Judgement(f"{path}, line 3", keys[1], good=False)}}
    pairs = {"corpus": [0, 0, 0], "row": [7, 8, 9], "key": [keys[0], "x", keys[1]]}
    data = {"corpora": [{"name": "train/x"}], "pairs": pairs}
    assert judged_pairs(judgements, data) == [(0, "good"), (2, "bad")]
    with pytest.raises(ArgumentError, match=r"line 3: row 9 of train/x is not the pair that was judged;"):
        judged_pairs(judgements, {**data, "pairs": {**pairs, "key": [keys[0], "x", "y"]}})
    with pytest.raises(ArgumentError, match=r"judged \(the corpora are train/y\)"):
        judged_pairs(judgements, {**data, "corpora": [{"name": "train/y"}]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: expected the columns corpus, row, key, judgement"),
        (HEAD + "train/x\t1\tk\tfine\n", "line 2: expected a corpus, a row, a key, and good or bad"),
        (HEAD + "train/x\t²\tk\tgood\n", "line 2: expected"),
    ],
)
def test_other_files(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        read_judgements(table(tmp_path, text))
