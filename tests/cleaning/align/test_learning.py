from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.cleaning.align.learning import Counter, count, learn, merge, updated
from nmt_prep.cleaning.align.links import pharaoh
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import Settings, rounds
from tests.cleaning.align.corpus import SOURCE, TARGET, column, trained


def saved(model: Model, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def test_links_of_a_tiny_corpus() -> None:
    links = trained().align(column(SOURCE), column(TARGET))
    assert pharaoh(links).to_pylist() == [*["0-0 1-1"] * 3, *["0-0 1-1 2-2"] * 3, "0-0 1-1", "0-0"]
    assert links.too_long == 0


@pytest.mark.parametrize(("batches", "threads"), [(1, 3), (3, 1), (8, 2)])
def test_the_model_does_not_depend_on_batches_and_threads(tmp_path: Path, batches: int, threads: int) -> None:
    expected = saved(trained(), tmp_path / "one")
    assert saved(trained(batches=batches, threads=threads), tmp_path / "other") == expected


@pytest.mark.parametrize("prior", [None, trained(SOURCE[:4], TARGET[:4])])
def test_learning_in_memory_gives_the_same_model(tmp_path: Path, prior: Model | None) -> None:
    ticks: list[int] = []
    batches = [(column(SOURCE[n : n + 3]), column(TARGET[n : n + 3])) for n in (0, 3, 6)]
    model = learn(lambda: batches, Settings(), prior, 2, ticks.append)
    assert saved(model, tmp_path / "one") == saved(trained(prior=prior), tmp_path / "other")
    assert ticks == [3, 3, 2] * 9


def test_a_counter_adds_up_batches_and_may_get_none() -> None:
    model = Model.start(Settings())
    while not model.finished:
        empty = Counter(model)
        counter = Counter(model)
        for line in range(len(SOURCE)):
            counter.add(column(SOURCE[line : line + 1]), column(TARGET[line : line + 1]))
        whole = count(model, column(SOURCE), column(TARGET))
        summed = merge([counter.counts(), empty.counts()])
        assert summed.pairs == whole.pairs == len(SOURCE)
        assert {name: array.tolist() for name, array in summed.arrays.items()} == {
            name: array.tolist() for name, array in whole.arrays.items()
        }
        model = updated(model, summed)
    assert model.round is None


def test_rounds_are_named_in_order() -> None:
    model = Model.start(Settings())
    names = []
    while model.round is not None:
        names.append(model.round)
        model = updated(model, count(model, column(SOURCE), column(TARGET)))
    assert tuple(names) == rounds(Settings())
    assert names[:3] == ["words", "cells", "diagonal-1"]


def test_models_that_only_score_learn_no_jumps() -> None:
    model = trained(settings=Settings(jumps=False))
    assert rounds(model.settings) == ("words", "cells", "diagonal-1", "diagonal-2", "evidence")
    right, wrong = model.score(column([SOURCE[0]] * 2), column([TARGET[0], "ganz anders"]))
    assert right > wrong


def test_counts_of_another_round_are_refused() -> None:
    model = Model.start(Settings())
    counts = count(model, column(SOURCE), column(TARGET))
    with pytest.raises(ValueError, match="needs counts of the round cells, not of words"):
        updated(updated(model, counts), counts)
    with pytest.raises(ValueError, match="the rounds words and cells cannot be added"):
        merge([counts, count(updated(model, counts), column(SOURCE), column(TARGET))])


def test_the_table_is_bounded() -> None:
    model = trained(settings=Settings(table=12))
    assert model.lexicon is not None
    assert 0 < len(model.lexicon.table.slots()) // 12 <= 12 * 8 // 3
    assert model.align(column(["the book"]), column(["das Buch"])).links.tolist() == [[0, 0], [1, 1]]


def test_a_prior_knows_words_that_the_text_lacks() -> None:
    prior = trained()
    model = trained(["blue house", "blue sky"], ["blaues Haus", "blauer Himmel"], prior=prior)
    assert model.known(column(["the book"]), column(["das Buch"])) == (1.0, 1.0)
    source, target = column(["the small book"]), column(["das kleine Buch"])
    assert model.align(source, target).links.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_priors_that_do_not_fit() -> None:
    with pytest.raises(AlignmentModelError, match="is a model that is not finished"):
        Model.start(Settings(), prior=Model.start(Settings()))
    with pytest.raises(AlignmentModelError, match="other words"):
        Model.start(Settings(pretokenized=True), prior=trained())
