from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.columns import TextColumn
from nmt_prep.cli.align.spool import Spool, copies_of


def test_copies_are_counted_in_shares_of_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.cli.align.spool._KEYS_AT_A_TIME", 2)
    with Spool(tmp_path / "text") as spool:
        for line in ("a", "b", "A!", "c", "a.", "c"):
            column = TextColumn.from_strings([line])
            spool.write((column.data, column.offsets, column.data, column.offsets))
        assert copies_of(spool).tolist() == [3, 1, 3, 2, 3, 2]
