from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from tests.corpus import corpus_config, pair, write_corpus

VOCABULARIES: dict[str, dict[str, Any]] = {
    "t2t": {"size": 200},
    "byte_bpe": {"kind": "byte_bpe", "size": 300, "shared": True},
    "sentencepiece": {"kind": "sentencepiece", "size": 120, "model_type": "bpe"},
}


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_exported_pieces_decode_to_the_compiled_text(tmp_path: Path, kind: str) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run", vocab=VOCABULARIES[kind], records={"export": "pieces"})
    outcomes = nmt_prep.run(config, base_dir=tmp_path)
    assert [outcome.stage for outcome in outcomes][-2:] == ["export", "report"]
    directory = tmp_path / "run" / "export"
    names = ["dev.en", "dev.zh", "train.en", "train.zh", "vocab.en", "vocab.zh"]
    assert sorted(path.name for path in directory.iterdir()) == names
    for side, language in enumerate(("en", "zh")):
        listed = (directory / f"vocab.{language}").read_text("utf-8").split("\n")[:-1]
        assert listed[:3] == ["<unk>", "<s>", "</s>"]
        assert len(set(listed)) == len(listed)
        lines = (directory / f"train.{language}").read_text("utf-8").split("\n")[:-1]
        assert len(lines) == 300
        assert {piece for line in lines for piece in line.split(" ")} <= set(listed)
        if kind == "sentencepiece":
            # ，is normalised to a comma; the rest is unchanged.
            spelt = ["".join(line.split(" ")).replace("▁", " ").strip() for line in lines]
            assert spelt[0] == pair(0)[side].replace("，", ",")


def test_nothing_is_exported_unless_requested(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    outcomes = nmt_prep.run(corpus_config(tmp_path / "run"), base_dir=tmp_path)
    assert "export" not in [outcome.stage for outcome in outcomes]
    assert not (tmp_path / "run" / "export").exists()
