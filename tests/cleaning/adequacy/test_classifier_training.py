from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.cleaning.adequacy import classifier as files
from nmt_prep.cleaning.adequacy.classifier import Classifier
from nmt_prep.cleaning.adequacy.classifier_training import defective_values, learn
from nmt_prep.cleaning.adequacy.defects import KINDS
from tests.cleaning.adequacy.corpus import PAIRS, corpus, learned, line, model
from tests.cleaning.align.corpus import column

GOOD = (line("a", 1, 40, 7, 90, 3) + " .", line("b", 1, 40, 7, 90, 3) + " 。")


def values(classifier: Classifier, source: list[str], target: list[str], copies: int = 0) -> list[float]:
    return classifier.judge(column(source), column(target), copies).values.tolist()


def test_incomplete_pairs_have_lower_values() -> None:
    source, target = GOOD
    cases = {
        "good": GOOD,
        "cut target": (source, line("b", 1, 40) + " 。"),
        "cut source": (line("a", 1, 40) + " .", target),
        "longer target": (source, line("b", 1, 40, 7, 90, 3, 17, 120, 33) + " 。"),
        "other target": (source, line("b", 17, 120, 33, 80, 2) + " 。"),
    }
    found = dict(zip(cases, values(learned()[0], *map(list, zip(*cases.values(), strict=True))), strict=True))
    assert found.pop("good") > 0
    assert max(found.values()) < 0
    assert np.isnan(values(learned()[0], ["", "aaa", " "], ["baa", "", ""])).all()  # sides without words


def test_gaps_are_the_words_without_an_answer() -> None:
    source = [GOOD[0], line("a", 1, 40, 3) + " .", GOOD[0]]
    lines = column(source), column([GOOD[1]] * 2 + [line("b", 1, 3) + " 。"])
    judged = learned()[0].judge(*lines)
    places = judged.unanswered(*lines, pretokenized=False).tolist()
    assert [side for side, _, _ in places[1:]] == [1, 0]
    texts = [lines[side].to_bytes()[row][begin:end].decode() for row, (side, begin, end) in enumerate(places)]
    assert texts[1:] == [line("b", 7, 90), line("a", 40, 7, 90)]
    assert judged.gaps.tolist()[1:] == [[0, 0, 2, 4], [1, 4, 0, 0]]
    assert (judged.gaps[0, 1::2] - judged.gaps[0, ::2]).max() <= 1


def test_good_pairs_of_the_corpus_are_above_0() -> None:
    classifier = learned()[0]
    judged = np.array(values(classifier, *corpus(), 1))
    assert learned()[1] > 1900
    assert (judged < 0).mean() < 0.03
    defects = defective_values(classifier, *map(column, corpus()), np.ones(PAIRS, np.int64))
    assert [len(of) > 500 for of in defects] == [name != "sentence" for name in KINDS[1:]]
    assert (np.concatenate(defects) < 0).mean() > 0.8
    nothing = defective_values(classifier, column([]), column([]), np.zeros(0, np.int64))
    assert [len(of) for of in nothing] == [0] * 5


def test_threads_and_batches_do_not_matter() -> None:
    source, target = map(column, corpus())
    again = learn(model(), source, target, np.ones(PAIRS, np.int64), threads=3)
    assert again[0].lowest == learned()[0].lowest
    for forest, other in zip(again[0].forests, learned()[0].forests, strict=True):
        assert [array.tolist() for array in forest.arrays] == [array.tolist() for array in other.arrays]
    whole = values(again[0], *corpus(), 1)
    assert whole[50:60] == values(again[0], *(side[50:60] for side in corpus()), 1)


def test_too_few_pairs_or_none_without_defects_are_not_learned_from() -> None:
    source, target = corpus()
    with pytest.raises(AlignmentModelError, match=r"of 1,000 pairs translate .* at least 1,500 are needed"):
        learn(model(), column(source[:1000]), column(target[:1000]), np.ones(1000, np.int64))
    cases = [
        ("2,000", source, target[:1] * PAIRS),
        ("2,000", source[:1] * PAIRS, target[:1] * PAIRS),
        ("1", source[:1], target[:1]),
        ("0", [""] * 3, target[:3]),
        ("0", [], []),
    ]
    for pairs, sources, targets in cases:
        with pytest.raises(AlignmentModelError, match=f"^0 of {pairs} pairs translate each other well enough"):
            learn(model(), column(sources), column(targets), np.zeros(len(sources), np.int64))
    nothing = defective_values(learned()[0], column(["", ""]), column(target[:2]), np.zeros(2, np.int64))
    assert [len(of) for of in nothing] == [0] * 5


def test_misaligned_pairs_are_not_learned_from() -> None:
    source, target = corpus()
    shifted = [*target[:1600], *target[1601:], target[1600]]
    result = learn(model(), column(source), column(shifted), np.zeros(PAIRS, np.int64))
    assert 1500 <= result[1] < 1650


def test_classifiers_are_restored_from_files(tmp_path: Path) -> None:
    path, other = tmp_path / "model", tmp_path / "other"
    files.save(learned()[0], path)
    restored = files.load(path)
    assert values(restored, *corpus()) == values(learned()[0], *corpus())
    files.save(restored, other)
    assert other.read_bytes() == path.read_bytes()
    assert files.shared_classifier(path).model.load(path).score(column([line("a", 1)]), column([line("b", 1)]))[0] > 1


def test_files_without_a_classifier_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model().save(path)
    with pytest.raises(AlignmentModelError, match=r"has no classifier .* align --adequacy FILE --save"):
        files.shared_classifier(path)
    with pytest.raises(AlignmentModelError, match="cannot read the model"):
        files.shared_classifier(tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lowest", "settings of its classifier"),
        ("ratios", "the lengths of its sides differ too much"),
        ("source.sums", "negative or too large"),
        ("target.sums", "three sums for each word"),
        ("0.children", "child does not come after its parent"),
        ("1.values", "different numbers of features, bounds"),
        ("1.roots", "lacks '1.roots'"),
    ],
)
def test_damaged_classifiers_are_refused(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / "model"
    files.save(learned()[0], path)
    _, stored = learned()[0].model.load_with_classifier(path)
    assert stored is not None
    facts, arrays = stored
    damage = {
        "lowest": [0.0],
        "ratios": [0.0, 1.0],
        "source.sums": -arrays["source.sums"],
        "target.sums": arrays["target.sums"][:-1],
        "0.children": np.zeros_like(arrays["0.children"]),
        "1.values": arrays["1.values"][:-1],
    }
    if name in facts:
        facts[name] = damage[name]
    elif name in damage:
        arrays[name] = np.asarray(damage[name])
    else:
        del arrays[name]
    model().save(path, (facts, arrays))
    with pytest.raises(AlignmentModelError, match=message):
        files.load(path)
