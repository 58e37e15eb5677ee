"""A kind of output defined outside nmt_prep."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.config.outputs import OutputOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.training import outputs
from nmt_prep.training.outputs import Form, Output, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import output_file
from nmt_prep.training.outputs.vocabulary_files import line_batches
from tests.corpus import lines_of, pair, write_corpus
from tests.training.outputs.runs import output_config


class BarsOptions(OutputOptions):
    """Lines with both sides of a pair and something between them."""

    kind: Literal["bars"] = Field(description="bars: the kind of output")
    separator: str = Field("|", description="a text: what stands between the sides")


class Bars(Output[BarsOptions]):
    """Writes ``train-00000-of-00004.bars``."""

    kind = "bars"

    def form(self, options: BarsOptions, config: Config) -> Form:
        return "text"

    def write(self, task: ShardTask[BarsOptions], tick: Tick) -> ShardMade:
        pairs = 0
        with output_file(task.directory, f"{task.label}.bars") as file:
            for batch in line_batches(task, tick):
                for sides in zip(batch.sources.to_pylist(), batch.targets.to_pylist(), strict=True):
                    file.write(f"{task.options.separator.join(sides)}\n".encode())
                pairs += len(batch)
        return ShardMade(pairs, (file.facts,), {})


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the config lists no such options
def test_a_kind_is_one_class_and_an_entry_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "KINDS", (*outputs.KINDS, Bars()))
    write_corpus(tmp_path, 60)
    options = BarsOptions(kind="bars", separator=" = ")
    nmt_prep.run(output_config(tmp_path).model_copy(update={"outputs": (options,)}))
    directory = tmp_path / "run/outputs/bars"
    lines = [line for n in range(3) for line in lines_of(directory / f"train-{n:05d}-of-00003.bars")]
    assert sorted(lines) == sorted(" = ".join(pair(n)) for n in range(60))
