from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.corpora.sources.catalogues import MtdataRecipe, mtdata_recipe


@pytest.mark.slow
def test_a_recipe_of_the_installed_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("portalocker", reason="the extra mtdata is not installed")
    monkeypatch.setenv("MTDATA", str(tmp_path))
    assert mtdata_recipe("vaswani_etal_2017_ende") == MtdataRecipe(
        name="vaswani_etal_2017_ende",
        languages=("eng", "deu"),
        url="https://arxiv.org/abs/1706.03762",
        splits={
            "train": (
                "Statmt-commoncrawl_wmt13-1-deu-eng",
                "Statmt-europarl_wmt13-7-deu-eng",
                "Statmt-news_commentary_wmt18-13-deu-eng",
            ),
            "dev": ("Statmt-newstest-2013-eng-deu",),
            "test": ("Statmt-newstest_deen-2014-deu-eng",),
        },
        monolingual=0,
    )
