"""Batches of a run with several language pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import BatchSource, read_records
from nmt_prep.training.batches.epoch import tempered_draws
from nmt_prep.training.records.dataset_json import CorpusInfo

LANGUAGES = ["en-de", "de-en", "en-de", "en-cs"]
SIZES = {"news": 700, "news.de-en": 200, "books": 100, "cs": 40}


@pytest.fixture
def run(encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 300)
    pairs = {name: [([9] * (n % 13 + 1), [9] * (n % 7 + 1)) for n in range(size)] for name, size in SIZES.items()}
    return encode_run(pairs, languages=LANGUAGES)


CORPORA = [
    CorpusInfo(name=name, pairs=pairs, language_pair=pair)
    for (name, pairs), pair in zip(SIZES.items(), LANGUAGES, strict=True)
]


def test_temperature_is_by_pair_of_languages() -> None:
    assert tempered_draws(CORPORA, 1) == [700, 200, 100, 40]
    assert tempered_draws(CORPORA, 1e9) == [304, 347, 43, 346]  # 346 or 347 of each pair of languages
    assert sum(tempered_draws(CORPORA, 3)) == 1040


@pytest.mark.parametrize(
    "options",
    [{"batch_tokens": 90}, {"batch_size": 16}, {"bucketing": "t2t", "batch_tokens": 90}, {"pad_to": [6, 20]}],
)
def test_batches_of_one_pair_of_languages(run: Path, options: dict[str, Any]) -> None:
    batches = list(read_records(run, "train", corpus_ids=True, one_pair=True, **options))
    source = BatchSource(run, "train")
    assert source.language_pairs == ("de-en", "en-cs", "en-de")
    of_batches = []
    for batch in batches:
        assert batch.corpora is not None
        assert batch.language_pairs is not None
        of_batches.append({LANGUAGES[number] for number in batch.corpora.tolist()})
        assert {source.language_pairs[number] for number in batch.language_pairs.tolist()} == of_batches[-1]
        assert len(batch.source) * max(*batch.source.lengths, *batch.target.lengths) <= 4096
    assert {len(pairs) for pairs in of_batches} == {1}
    assert Counter(np.concatenate([batch.corpora for batch in batches]).tolist()) == dict(enumerate(SIZES.values()))
    assert of_batches != sorted(of_batches, key=lambda pairs: LANGUAGES.index(min(pairs)))  # they are mixed


def test_the_counts_of_an_epoch_are_exact_and_it_resumes_in_every_process(run: Path) -> None:
    options: dict[str, Any] = {"corpus_ids": True, "one_pair": True, "temperature": 4, "batch_tokens": 60}
    drawn: Counter[int] = Counter()
    for rank in range(3):
        source = BatchSource(run, "train", world_size=3, rank=rank, **options)
        batches = len(source)
        whole = [batch.source.to_lists() for batch in source]
        assert len(whole) == batches
        later = BatchSource(run, "train", world_size=3, rank=rank, skip_batches=7, **options)
        rest = list(later)
        assert [batch.source.to_lists() for batch in rest] == whole[7:]
        for batch in read_records(run, "train", world_size=3, rank=rank, **options):
            assert batch.corpora is not None
            drawn.update(batch.corpora.tolist())
    assert [drawn[number] for number in range(4)] == tempered_draws(CORPORA, 4)


def test_only_some_pairs_of_languages(run: Path) -> None:
    def counts(**options: Any) -> dict[int, int]:
        batches = read_records(run, "train", corpus_ids=True, language_pairs=["en-cs", "en-de"], **options)
        return Counter(number for batch in batches for number in (batch.corpora if batch.corpora is not None else []))

    assert counts() == {0: 700, 2: 100, 3: 40}
    assert counts(temperature=1e9) == {0: 368, 2: 52, 3: 420}
    assert counts(weights={"news": 0.5, "cs": 2}) == {0: 350, 2: 100, 3: 80}
    for pairs in (["en-fr"], "en-de", []):
        with pytest.raises(ArgumentError, match="give a list of pairs of the split, which are en-de, de-en, en-cs"):
            list(read_records(run, "train", language_pairs=pairs))


def test_one_pair_needs_pairs_of_languages_and_chunks(encode_run: Callable[..., Path], run: Path) -> None:
    with pytest.raises(
        ArgumentError, match="one_pair needs pairs that are not packed, in records of layout chunk or text"
    ):
        list(read_records(run, "train", one_pair=True, packed=True))
    other = encode_run({"a": [([1], [1])]}, "example")
    with pytest.raises(ArgumentError, match="one_pair is for a run with several language pairs"):
        list(read_records(other, "train", one_pair=True))
    assert [batch.language_pairs for batch in read_records(other, "train")] == [None]
