from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.adequacy import classifier as files
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES
from nmt_prep.cleaning.rule import Bounds, Context, Pairs
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from tests.cleaning.adequacy.corpus import learned, line


def test_a_model_judges_pairs_of_a_stream(tmp_path: Path) -> None:
    context = Context(Languages(source="en", target="de"), SIDES, tmp_path)
    with pytest.raises(ValueError, match="adequacy: without the whole corpus it needs a model"):
        make_rules({"adequacy": {}}, context)
    files.save(learned()[0], tmp_path / "model")
    (rule,) = make_rules({"adequacy": {"model": "model", "min": 0}}, context)
    words = (1, 40, 7, 90, 3)
    source, target = [f"{line('a', *words)} ."] * 2 + [""], [f"{line('b', *words)} 。", f"{line('b', 1)} 。", "b"]
    columns = zip(SIDES, (source, target), strict=True)
    values = rule.values(Pairs({side: pa.array(lines, pa.large_string()) for side, lines in columns}))[0]
    assert values[0] > 0 > values[1]
    assert values[2] == SCORE_EDGES[-1]
    assert set(rule.files) == {"model"}
    assert rule.bounds == (Bounds(low=0),)
    (rule,) = make_rules({"adequacy": {"model": "model", "min": 0, "action": "report"}}, context)
    assert rule.bounds == (Bounds(),)
