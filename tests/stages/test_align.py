"""The stage align, and the commands that write its results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep.base.errors import AlignmentModelError, ConfigError
from nmt_prep.config import Config
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.stages import pair_sample as learning
from nmt_prep.stages.align import Align
from tests.cli.program import nmt_prep as nmt_prep_command
from tests.stages.clean.test_translation import translated
from tests.stages.cleaning import write
from tests.stages.runs import config_of, manifest

PAIRS = translated(400, 0)
DIAGONAL = [[(n, n) for n in range(len(source.split()))] for source, _ in PAIRS]


def links_of(config: Config, split: str = "train") -> list[list[tuple[int, int]]]:
    rows = [
        row
        for path in sorted((config.run_dir / "aligned" / split).glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    return [list(zip(row["source_words"], row["target_words"], strict=True)) for row in rows]


def align(directory: Path, config: Config, **more: Any) -> None:
    nmt_prep.run(config, until="align", **more)


def test_links_of_all_splits(tmp_path: Path) -> None:
    """Words are translated one by one."""
    splits = {"dev": [write(tmp_path, "d", PAIRS[:20])]}
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={}, splits=splits)
    align(tmp_path, config)
    found = links_of(config)
    right = sum(set(links) == set(expected) for links, expected in zip(found[:400], DIAGONAL, strict=True))
    assert right >= 390
    assert links_of(config, "dev") == found[:20]
    counts = manifest(config, "align").counts
    assert (counts.pairs_in, counts.pairs_out) == (420, 420)
    assert counts.other == {
        "links": sum(map(len, found)) + sum(map(len, found[:20])),
        "without_links": 0,
        "too_long": 0,
    }
    part = manifest(config, "align").details["parts"]["train"][0]
    assert part["file"] == f"train/{Path(part['text']).stem}.parquet"
    assert (config.run_dir / part["text"]).is_file()


def test_cleaned_pairs_and_a_given_model(tmp_path: Path) -> None:
    """With a model, nothing is learned: the links are those of the run that learned it."""
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={"symmetrize": "intersection"})
    align(tmp_path, config)
    short = {"preset": "none", "rules": {"length": {"unit": "token", "max": 8}}}
    given = {"model": "run/aligned/model", "symmetrize": "intersection"}
    second = config_of(tmp_path / "2", write(tmp_path, "c", PAIRS), align=given, clean=short).within(tmp_path)
    align(tmp_path, second)
    kept = [n for n, (source, _) in enumerate(PAIRS) if len(source.split()) <= 8]
    found = links_of(config)
    assert links_of(second) == [found[n] for n in kept]
    assert not (second.run_dir / "aligned" / "model").exists()
    assert [round_.name for round_ in Align().rounds_for(second)] == ["align"]


def test_a_model_of_other_languages(tmp_path: Path) -> None:
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={})
    align(tmp_path, config)
    other = write(tmp_path, "o", [("völlig anderer Text", "quite another text")] * 9)
    with pytest.raises(AlignmentModelError, match=r"the model covers 0% of the source words of .*other languages"):
        align(tmp_path, config_of(tmp_path / "2", other, align={"model": "run/aligned/model"}).within(tmp_path))


def test_a_given_model_and_a_corpus_of_a_few_words(tmp_path: Path) -> None:
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={})
    align(tmp_path, config)
    splits = {"dev": [write(tmp_path, "d", [("Oslo", "Osló")])]}
    given = {"model": "run/aligned/model"}
    second = config_of(tmp_path / "2", write(tmp_path, "c", PAIRS), align=given, splits=splits).within(tmp_path)
    align(tmp_path, second)
    assert len(links_of(second, "dev")) == 1


def test_a_learned_model_suits_text_that_it_has_not_seen(tmp_path: Path) -> None:
    """With ``pairs`` it has seen only a part of the text."""
    unseen = [(f"a{n} b{n} c{n}", f"x{n} y{n} z{n}") for n in range(3000)]
    config = config_of(tmp_path, write(tmp_path, "c", unseen), align={"pairs": 1000})
    align(tmp_path, config)
    assert len(links_of(config)) == 3000


def test_a_model_of_tokenized_text(tmp_path: Path) -> None:
    """Its words are not those that links of pieces follow from."""
    text = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    assert nmt_prep_command("align", "--pretokenized", "--save", tmp_path / "m", stdin=text.encode()).returncode == 0
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={"model": "m"})
    with pytest.raises(AlignmentModelError, match=r"^align\.model: cannot read the model .*/n: No such file"):
        align(tmp_path, config_of(tmp_path, write(tmp_path, "c", PAIRS), align={"model": "n"}))
    with pytest.raises(AlignmentModelError, match=r"align\.model: .*m was learned with --pretokenized"):
        align(tmp_path, config)


def test_splits_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"align\.splits names 'dve'; the splits are train"):
        config_of(tmp_path, write(tmp_path, "c", PAIRS[:9]), align={"splits": ["dve"]})


def test_memory_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_PAIR_CELLS", 10_000)
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), align={}, engine={"memory": "256MB"})
    with pytest.raises(AlignmentModelError) as caught:
        align(tmp_path, config)
    assert str(caught.value) == (
        "align: learning from 400 pairs takes about 761 MB of memory, but engine.memory is 256 MB; raise "
        "engine.memory, set align.pairs to 71 or less, or name a model that was learned before (align.model)"
    )
    assert not (tmp_path / "run" / "aligned").exists()
    align(tmp_path, config.model_copy(update={"engine": config.engine.model_copy(update={"memory": 761_000_000})}))


def test_memory_grows_with_the_pairs() -> None:
    engine = SimpleNamespace(kind="local", memory=2_000_000_000)
    job: Any = SimpleNamespace(config=SimpleNamespace(engine=engine), engine=LocalEngine(2))
    learning.check_memory(job, 4_000_000, "align")
    with pytest.raises(AlignmentModelError, match=r"takes about 3,788 MB .* align\.pairs to 4,0\d\d,\d{3} or less"):
        learning.check_memory(job, 10_000_000, "align")


@pytest.mark.parametrize(
    ("kind", "pairs", "threads"),
    [
        ("local", {"a": 70}, {"a": 4}),
        ("local", {"a": 90, "b": 10, "c": 0}, {"a": 4, "b": 1, "c": 1}),
        ("local", {"a": 50, "b": 50}, {"a": 2, "b": 2}),
        ("local", {}, {}),
        ("dask", {"a": 70}, {"a": 1}),
    ],
)
def test_texts_share_the_workers_of_a_local_engine(kind: str, pairs: dict[str, int], threads: dict[str, int]) -> None:
    config = SimpleNamespace(engine=SimpleNamespace(kind=kind))
    job: Any = SimpleNamespace(config=config, engine=LocalEngine(4))
    assert learning.threads_for(job, pairs) == threads


def test_links_of_the_words_that_steps_make(tmp_path: Path) -> None:
    """They are stored as links of the words of the text; a line whose words cannot be traced has none."""
    (tmp_path / "steps.py").write_text(
        "import re\ndef split(line): return 'gone' if line == 'dorfotx' else ' '.join(re.findall('...', line))\n"
    )
    pairs = [*((source.replace(" ", ""), target) for source, target in PAIRS), ("dorfotx", "rodo tofo")]
    vocab = {"size": 300, "words": {"source": [{"python": "steps:split"}]}}
    config = config_of(tmp_path, write(tmp_path, "c", pairs), align={"words": "vocab"}, vocab=vocab)
    align(tmp_path, config)
    found = links_of(config)
    assert found[0] == [(0, n) for n in range(7)]
    assert sum(len(links) == len(expected) for links, expected in zip(found, DIAGONAL, strict=False)) >= 390
    assert found[-1] == []
    given = {"words": "vocab", "model": "run/aligned/model"}
    second = config_of(tmp_path / "2", write(tmp_path, "c", pairs), align=given, vocab=vocab).within(tmp_path)
    align(tmp_path, second)
    assert links_of(second) == found
    with pytest.raises(AlignmentModelError, match="was learned with --pretokenized, and the text of a run is not"):
        align(tmp_path, second.model_copy(update={"align": second.align.model_copy(update={"words": "text"})}))
    with pytest.raises(ConfigError, match=r"align\.words is vocab, and vocab\.words has no steps; list them, or set"):
        config_of(tmp_path, write(tmp_path, "c", PAIRS), align={"words": "vocab"})
