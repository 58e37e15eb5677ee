from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import CleaningError, ConfigError, CorpusError, DownloadError, NmtPrepError
from nmt_prep.base.progress import Fields, Listener, Progress
from nmt_prep.config import Config, DownloadSettings
from nmt_prep.corpora import parts
from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE
from tests.corpora.archives.builders import zip_of
from tests.server import Answer, WebServer, web_server
from tests.stages.cleaning import cleaned, made_in_three_ways, pairs_below, write
from tests.stages.runs import config_of, manifest, run, run_of, steps

NONE = {"preset": "none", "rejects": "all"}
ENDE = {"languages": {"source": "en", "target": "de"}}

CAPTION = ("A man in a blue shirt reads the paper on a bench.", "Ein Mann in einem blauen Hemd liest Zeitung.")
DEV = [CAPTION, ("Yes.", "Ja."), ("Two dogs run over a green field.", "Zwei Hunde rennen über eine grüne Wiese.")]
TRAIN = [
    ("one", "eins"),
    ("yes", "ja"),
    ("Something else entirely.", "Ein Mann in einem blauen Hemd liest: Zeitung!"),
    ("Yes.", "Doch."),
    ("A man in a blue shirt reads a paper on a bench", "x"),
    ("two", "zwei"),
]
KEPT = [TRAIN[0], TRAIN[3], TRAIN[5]]


def leaky(directory: Path, *more: dict[str, Any], **decontaminate: Any) -> Config:
    """A config whose training corpus has three pairs of the dev corpus, one of the four ways each."""
    settings = {"against": ["dev"], **decontaminate}
    dev = [write(directory, "held", DEV)]
    train = write(directory, "news", TRAIN)
    return config_of(directory, train, *more, splits={"dev": dev}, clean={**NONE, "decontaminate": settings})


def rejected(config: Config) -> list[tuple[Any, ...]]:
    return pairs_below(config, "rejected", "train", "row", "rule", "value", "threshold", "kept_corpus", "kept_row")


def test_pairs_that_contain_segments_are_dropped_and_name_them(tmp_path: Path) -> None:
    config = leaky(tmp_path)
    run(config)
    assert cleaned(config) == KEPT
    assert rejected(config) == [
        (1, "in_test_set:dev", 1.0, 0.7, "dev/held", 1),
        (2, "in_test_set:dev", 1.0, 0.7, "dev/held", 0),
        (4, "in_test_set:dev", 9 / 11, 0.7, "dev/held", 0),
    ]
    made = manifest(config, "clean")
    assert made.counts.dropped == {"empty": 0, "in_test_set:dev": 3}
    assert (made.counts.pairs_in, made.counts.pairs_out) == (6, 3)
    (leak,) = made.observed["leaks"]["train"]
    examples = leak.pop("examples")
    assert leak == {"set": "dev/held", "corpus": "news", "pairs": 3, "dropped": 3, "segments": 2, "size": 3}
    assert [(each["row"], each["segment"], each["kind"]) for each in examples] == [
        (1, 1, "pair"),
        (2, 0, "side"),
        (4, 0, "covered"),
    ]
    assert (examples[0]["source"], examples[0]["first"], examples[0]["second"]) == ("yes", "Yes.", "Ja.")


def test_a_corpus_with_much_of_a_set_is_warned_about(tmp_path: Path) -> None:
    dev = [(f"segment number {word} of the set", f"Segment {word}") for word in ("one", "two", "three", "four")] * 5
    dev = [(f"{source} {'x' * n}", f"{target} {'y' * n}") for n, (source, target) in enumerate(dev)]
    few, many = write(tmp_path, "few", [("a", "b"), dev[0]]), write(tmp_path, "many", [("c", "d"), *dev[:2]])
    splits = {"dev": [write(tmp_path, "held", dev)]}
    config = run_of(
        tmp_path, few, many, splits=splits, clean={**NONE, "decontaminate": {"against": ["dev"], "coverage": 1}}
    )
    (warning,) = manifest(config, "clean").observed["warnings"]
    assert (warning["code"], warning["split"], warning["corpus"]) == ("leak", "train", "many")
    assert warning["text"] == (
        "the corpus contains 2 of the 20 segments (10.0%) of the test set dev/held; 2 pairs were dropped for it"
    )


def test_a_set_whose_segments_are_in_a_set_before_it_is_not_warned_about_again(tmp_path: Path) -> None:
    dev = [(f"segment number {word} of the set", f"Segment {word}") for word in ("one", "two", "three", "four")]
    other = [(source, f"segment {target}") for source, target in dev]
    splits = {"dev": [write(tmp_path, "first", dev), write(tmp_path, "second", other)]}
    news = write(tmp_path, "news", [("a", "b"), (dev[0][0], "Segment eins")])
    config = run_of(tmp_path, news, splits=splits, clean={**NONE, "decontaminate": {"against": ["dev"]}})
    observed = manifest(config, "clean").observed
    assert [(leak["set"], leak["pairs"], leak["segments"]) for leak in observed["leaks"]["train"]] == [
        ("dev/first", 1, 1),
        ("dev/second", 0, 1),
    ]
    (warning,) = observed["warnings"]
    assert warning["text"].endswith("of the test set dev/first; 1 pairs were dropped for it")


def test_with_the_action_report_all_pairs_stay(tmp_path: Path) -> None:
    config = leaky(tmp_path, action="report")
    run(config)
    assert cleaned(config) == TRAIN
    made = manifest(config, "clean")
    assert made.counts.dropped == {"empty": 0}
    (leak,) = made.observed["leaks"]["train"]
    assert (leak["pairs"], leak["dropped"], leak["segments"]) == (3, 0, 2)


def test_a_pair_that_a_rule_drops_keeps_that_reason_but_counts_as_found(tmp_path: Path) -> None:
    config = leaky(tmp_path)
    assert config.clean is not None
    rules = config.clean.model_copy(update={"rules": {"length": {"unit": "char", "max": 20}}})
    config = config.model_copy(update={"clean": rules})
    run(config)
    made = manifest(config, "clean")
    assert made.counts.dropped == {"empty": 0, "length": 2, "in_test_set:dev": 1}
    (leak,) = made.observed["leaks"]["train"]
    assert (leak["pairs"], leak["dropped"], leak["segments"]) == (3, 1, 2)
    assert [row[1] for row in rejected(config)] == ["in_test_set:dev", "length", "length"]


def test_files_of_one_text_and_of_two_columns_are_evaluation_sets(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "one.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n\nein mann in einem blauen hemd liest zeitung\r\n")
    (tmp_path / "two.tsv").write_text("yes\tja\nno\tnein\tmore\n")
    config = leaky(tmp_path, against=["file:one.txt.gz", "file:two.tsv"])
    run(config)
    assert rejected(config) == [
        (1, "in_test_set:two.tsv", 1.0, 0.7, "two.tsv", 0),
        (2, "in_test_set:one.txt.gz", 1.0, 0.7, "one.txt.gz", 2),
    ]
    assert not [step for step in steps(config) if not step.fresh]
    (tmp_path / "two.tsv").write_text("no\tnein\n")
    assert [step.stage for step in steps(config) if not step.fresh] == ["clean", "sample"]


def test_a_change_of_dev_cleans_again(tmp_path: Path) -> None:
    config = leaky(tmp_path)
    run(config)
    assert [step.stage for step in steps(config) if not step.fresh] == []
    write(tmp_path, "held", DEV[2:])
    ran = [outcome.stage for outcome in run(config) if outcome.ran]
    assert ran == ["download", "extract", "compile", "clean", "sample"]
    assert cleaned(config) == TRAIN


def test_lines_of_vocabularies_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("Ein Mann in einem blauen Hemd liest Zeitung\nJa.\n")
    vocab = {"name": "v", "url": {"target": "lines"}, "role": "vocab"}
    config = leaky(tmp_path, vocab)
    run(config)
    assert pairs_below(config, "cleaned", "train", "corpus", "row")[-2:] == [("v", 0), ("v", 1)]


class Heard(Listener):
    """Keeps the remarks on omissions of presets."""

    def __init__(self) -> None:
        self.messages: list[object] = []

    def event(self, name: str, fields: Fields) -> None:
        if name == "preset_left_out":
            self.messages.append(fields["message"])


def test_presets_compare_with_dev_and_test_where_the_config_has_them(tmp_path: Path) -> None:
    clean = {"preset": "standard", "rules": {"language": "off"}, "rejects": "all"}
    train = write(tmp_path, "news", [*TRAIN, CAPTION])
    config = run_of(tmp_path, train, splits={"dev": [write(tmp_path, "held", DEV)]}, clean=clean, **ENDE)
    assert manifest(config, "clean").counts.dropped["in_test_set:dev"] > 0
    alone = config_of(tmp_path, train, clean=clean, **ENDE)
    heard = Heard()
    nmt_prep.run(alone, until="clean", progress=Progress(heard))
    assert heard.messages == ["clean.preset standard: decontaminate is skipped: the config has neither dev nor test"]
    assert "in_test_set:dev" not in manifest(alone, "clean").counts.dropped


def refused(tmp_path: Path, config: Config) -> str:
    """The error of a run that starts no work."""
    with pytest.raises(NmtPrepError) as error:
        nmt_prep.run(config)
    assert not (tmp_path / "run" / "compiled").exists()
    return str(error.value)


def test_a_set_that_cannot_be_read_is_an_error_before_work(tmp_path: Path) -> None:
    assert f"clean.decontaminate.against: cannot read {tmp_path / 'no.txt'}: No such file" in refused(
        tmp_path, leaky(tmp_path, against=["file:no.txt"])
    )


def test_a_set_that_is_the_training_corpus_is_an_error_before_work(tmp_path: Path) -> None:
    train = write(tmp_path, "news", TRAIN)
    config = config_of(
        tmp_path, train, splits={"dev": [{**train, "name": "d"}]}, clean={"decontaminate": {"against": ["dev"]}}
    )
    assert "splits.dev.d is the same file as splits.train.news" in refused(tmp_path, config)
    (tmp_path / "copy.txt").write_bytes((tmp_path / "news.source").read_bytes())
    assert "file:copy.txt is the same file as splits.train.news" in refused(
        tmp_path, leaky(tmp_path, against=["file:copy.txt"])
    )


def test_a_copy_of_the_training_corpus_is_an_error(tmp_path: Path) -> None:
    splits = {"dev": [write(tmp_path, "copy", TRAIN)]}
    config = config_of(
        tmp_path, write(tmp_path, "news", TRAIN), splits=splits, clean={"decontaminate": {"against": ["dev"]}}
    )
    with pytest.raises(CleaningError, match=r"splits\.dev\.copy is the same file as splits\.train\.news"):
        run(config)


def test_wrong_utf_8_and_empty_sets_are_errors_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(CorpusError, match=r"bad\.txt, line 2|bad\.txt:2"):
        run(leaky(tmp_path, against=["file:bad.txt"]))
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(CorpusError, match=r"the evaluation set empty\.txt has no segments"):
        run(leaky(tmp_path, against=["file:empty.txt"]))


def test_a_corpus_that_is_a_test_set_is_an_error_that_says_so(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        write(tmp_path, "news", DEV[:2]),
        splits={"dev": [write(tmp_path, "held", DEV)]},
        clean={**NONE, "decontaminate": {"against": ["dev"]}},
    )
    message = r"cleaning drops all 2 pairs of splits\.train\.news \(failed: in_test_set:dev 2\)"
    with pytest.raises(CleaningError, match=message):
        run(config)


def test_shares_workers_and_parts_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 100)
    letters = "abcdefghijklmnopqrstuvwxyz"
    dev = [(f"the segment {letter} of the set is {letter * 3}", f"das {letter}") for letter in letters]
    train = [(f"line {n}", f"Zeile {n}") for n in range(60)] + [(source.upper(), "x") for source, _ in dev]
    corpora = [write(tmp_path, "a", train), write(tmp_path, "b", train[::-1])]
    splits = {"dev": [write(tmp_path, "held", dev)]}
    clean = {**NONE, "rejects": "sample", "decontaminate": {"against": ["dev"]}}
    config = made_in_three_ways(tmp_path, *corpora, splits=splits, clean=clean)
    (first, second) = manifest(config, "clean").observed["leaks"]["train"]
    assert (first["pairs"], first["segments"], second["pairs"], second["segments"]) == (26, 26, 26, 26)
    assert [each["row"] for each in second["examples"]] == list(range(20))


def sgm(side: str, language: str, lines: list[str]) -> str:
    segments = "".join(f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, 1))
    return (
        f'<{side}set setid="t" srclang="any" trglang="{language}">\n<doc docid="d" sysid="ref" origlang="en">\n'
        f"{segments}</doc>\n</{side}set>\n"
    )


def archive(members: dict[str, str] | None = None) -> bytes:
    content = io.BytesIO()
    members = members or {
        "t/ende-src.en.sgm": sgm("src", "en", [source for source, _ in DEV]),
        "t/ende-ref.de.sgm": sgm("ref", "de", [target for _, target in DEV]),
        "t/deen-src.de.sgm": sgm("src", "de", ["Noch ein ganz anderer Satz."]),
        "t/deen-ref.en.sgm": sgm("ref", "en", ["Yet another sentence altogether."]),
        "t/csen-src.cs.sgm": sgm("src", "cs", ["Dva psi běží po zelené louce."]),
        "t/csen-ref.en.sgm": sgm("ref", "en", ["Two dogs run over a green field."]),
    }
    with tarfile.open(fileobj=content, mode="w:gz") as file:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            file.addfile(info, io.BytesIO(text.encode()))
    return content.getvalue()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A stand-in for sacrebleu's catalogue, and a server on this machine that has its archive."""
    with web_server() as running:
        kind = type("FakeSGMLDataset", (SimpleNamespace,), {})
        pairs = {
            f"{source}-{target}": [f"t/{source}{target}-src.{source}.sgm", f"t/{source}{target}-ref.{target}.sgm"]
            for source, target in (("en", "de"), ("de", "en"), ("cs", "en"))
        }
        module = ModuleType("sacrebleu.dataset")
        sets = {"wmt90": kind(name="wmt90", data=[running.give("/test.tgz", archive())], langpairs=pairs, kwargs={})}
        module.DATASETS = sets  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "sacrebleu", ModuleType("sacrebleu"))
        monkeypatch.setitem(sys.modules, "sacrebleu.dataset", module)
        yield running


def sacrebleu_config(directory: Path, *against: str) -> Config:
    clean = {**NONE, "decontaminate": {"against": list(against)}}
    return config_of(directory, write(directory, "news", [*TRAIN, ("other", DEV[2][0])]), clean=clean, **ENDE)


def test_a_test_set_by_id_is_fetched_locked_and_compared(tmp_path: Path, server: WebServer) -> None:
    config = sacrebleu_config(tmp_path, "sacrebleu:wmt90")
    lock = tmp_path / "config.lock"
    nmt_prep.run(config, until="clean", lock_file=lock)
    assert server.asked == ["/test.tgz"]
    assert [(row[0], row[1], row[4]) for row in rejected(config)] == [
        (1, "in_test_set:wmt90", "wmt90/en-de"),
        (2, "in_test_set:wmt90", "wmt90/en-de"),
        (4, "in_test_set:wmt90", "wmt90/en-de"),
        (6, "in_test_set:wmt90", "wmt90/en-de"),
    ]
    assert list(json.loads(lock.read_text())["files"]) == [f"{server.url}/test.tgz"]
    assert sorted(manifest(config, "download").details["files"]) == [
        "sacrebleu:/wmt90-de-en/both",
        "sacrebleu:/wmt90-en-de/both",
        "train/news/source",
        "train/news/target",
    ]
    nmt_prep.run(config, until="clean", lock_file=lock)
    assert server.asked == ["/test.tgz"]


def test_all_sets_of_the_languages_are_fetched_and_counted_each(tmp_path: Path, server: WebServer) -> None:
    sets = sys.modules["sacrebleu.dataset"].DATASETS
    sides = {
        "en-de": ("en", "A talk begins with its very first words."),
        "de-en": ("de", "Ein langer Vortrag ist zu Ende."),
    }
    talks = [
        server.give(f"/{pair}.tgz", archive({f"{pair}/x.{code}.xml": sgm("src", code, [line])}))
        for pair, (code, line) in sides.items()
    ]
    iwslt, addition, more = (
        type(f"{kind}Dataset", (SimpleNamespace,), {}) for kind in ("IWSLTXML", "WMTAddition", "PlainText")
    )
    pair = [f"{pair}/x.{code}.xml" for pair, (code, _) in sides.items()]
    sets["iwslt90"] = iwslt(name="iwslt90", data=talks, langpairs={"en-de": pair, "de-en": pair[::-1]}, kwargs={})
    second = server.give("/other.ref", "Ein gänzlich anderer zweiter Satz\n\n".encode())
    files = ["t/ende-src.en.sgm", "t/ende-ref.de.sgm", "wmt90_b.other.ref"]
    data = [*sets["wmt90"].data, second]
    sets["wmt90/b"] = addition(name="wmt90/b", data=data, langpairs={"en-de": files}, kwargs={})
    sets["cs"] = more(name="cs", data=data[:1], langpairs={"cs-en": ["t/c.cs", "t/c.en"]}, kwargs={})
    config = sacrebleu_config(tmp_path, "sacrebleu:all")
    lines = [("a talk begins with its very first words", "x"), ("y", "EIN GÄNZLICH ANDERER ZWEITER SATZ!")]
    write(tmp_path, "news", [TRAIN[0], *lines, ("z", "Ein langer Vortrag ist zu Ende"), (DEV[2][0], "Wiese")])
    lock = tmp_path / "config.lock"
    nmt_prep.run(config, until="clean", lock_file=lock)
    assert [(row[0], row[1], row[4]) for row in rejected(config)] == [
        (1, "in_test_set:iwslt90", "iwslt90/en-de"),
        (2, "in_test_set:wmt90/b", "wmt90/b/en-de/2"),
        (3, "in_test_set:iwslt90", "iwslt90/en-de/2"),
        (4, "in_test_set:wmt90", "wmt90/en-de"),
    ]
    observed = manifest(config, "clean").observed["leaks"]["train"]
    assert [(leak["set"], leak["pairs"], leak["size"]) for leak in observed] == [
        ("iwslt90/en-de", 1, 1),
        ("iwslt90/en-de/2", 1, 1),
        ("wmt90/en-de", 1, 3),
        ("wmt90/b/en-de/2", 1, 1),
    ]
    assert list(json.loads(lock.read_text())["files"]) == sorted([*talks, *data])
    server.answers["/en-de.tgz"] = [Answer(status=404)]
    (tmp_path / "new").mkdir()
    alone = sacrebleu_config(tmp_path / "new", "sacrebleu:all").model_copy(
        update={"download": DownloadSettings(cache=False, retries=0)}
    )
    with pytest.raises(DownloadError, match=r"/en-de\.tgz: .*404"):
        nmt_prep.run(alone, until="clean")
    assert not (tmp_path / "new" / "run" / "cleaned").exists()


def test_a_corpus_of_another_catalogue_is_an_evaluation_set(
    tmp_path: Path, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVICE_VARIABLE, f"{server.url}/api")
    talks = zip_of(("TED.cs-en.cs", b"Dva psi\n"), ("TED.cs-en.en", b"two dogs run over a GREEN field\n"))
    facts = {"corpus": "TED", "version": "v1", "source": "cs", "target": "en", "preprocessing": "moses"}
    entry = {**facts, "url": server.give("/ted.zip", talks)}
    query = "/api?corpus=TED&source=cs&target=en&preprocessing=moses"
    server.give(query, json.dumps({"corpora": [entry]}).encode())
    config = sacrebleu_config(tmp_path, "opus:TED/v1/en-cs")
    nmt_prep.run(config, until="clean")
    assert [(row[0], row[1], row[4]) for row in rejected(config)] == [
        (6, "in_test_set:TED/v1/en-cs", "TED/v1/en-cs"),
    ]


def test_a_pair_of_other_languages_is_compared(tmp_path: Path, server: WebServer) -> None:
    config = sacrebleu_config(tmp_path, "sacrebleu:wmt90/cs-en")
    nmt_prep.run(config, until="clean")
    assert [(row[0], row[1], row[4]) for row in rejected(config)] == [(6, "in_test_set:wmt90/cs-en", "wmt90/cs-en")]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("sacrebleu:wmt9", r"sacrebleu has no test set 'wmt9' \(did you mean 'wmt90'\?\)"),
        ("sacrebleu:wmt90/en-fr", r"the pairs of wmt90 are en-de, de-en, cs-en"),
    ],
)
def test_ids_that_sacrebleu_does_not_have_are_errors(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sacrebleu_config(tmp_path, entry)


@pytest.mark.usefixtures("server")
def test_a_set_without_a_pair_of_the_languages_is_an_error(tmp_path: Path) -> None:
    clean = {"decontaminate": {"against": ["sacrebleu:wmt90"]}}
    with pytest.raises(ConfigError, match=r"it has no pair of en and zh; its pairs are en-de, de-en, cs-en"):
        config_of(tmp_path, write(tmp_path, "news", TRAIN), clean=clean)
