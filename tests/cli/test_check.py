from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep.cleaning.languages import LanguageIdentifier
from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE
from nmt_prep.runs.inspection import inspected_corpora as inspected
from tests.cleaning.test_health_warnings import ByFirstWord
from tests.cli.program import Ended, nmt_prep
from tests.corpora.archives.builders import tar_of, zip_of
from tests.server import Answer, WebServer
from tests.stages.runs import settings_of

ENGLISH = b"".join(b"en this is sentence number %d of the text\n" % number for number in range(6))
GERMAN = b"".join(f"de dies ist der Satz {number} im Text, schön\n".encode() for number in range(6))


@pytest.fixture(autouse=True)
def identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the first word of each line for its language."""
    found: tuple[str, LanguageIdentifier] = ("first words", ByFirstWord())
    monkeypatch.setattr(inspected, "installed_identifier", lambda: found)


def give(server: WebServer, path: str, body: bytes) -> str:
    return server.give(path, Answer(body, ranges=True))


def check(place: Path, *train: dict[str, Any], arguments: tuple[str, ...] = (), **more: Any) -> Ended:
    """Runs the command on a config in a directory; nothing in it may change."""
    corpora = ({"name": f"c{number}", **corpus} for number, corpus in enumerate(train))
    data = settings_of(place, *corpora, languages={"source": "en", "target": "de"}, **more)
    config = place / "c.yaml"
    config.write_text(yaml.safe_dump(data), encoding="utf-8")
    before = sorted(place.rglob("*"))
    ended = nmt_prep("check", config, *arguments)
    assert sorted(place.rglob("*")) == before
    return ended


def facts(ended: Ended) -> list[dict[str, Any]]:
    corpora: list[dict[str, Any]] = json.loads(ended.stdout)["corpora"]
    return corpora


def test_evaluation_sets_are_listed_with_their_sizes(tmp_path: Path, server: WebServer) -> None:
    for name, text in (("a.en", ENGLISH), ("a.de", GERMAN), ("held.tsv", b"x\ty\n")):
        (tmp_path / name).write_bytes(text)
    clean = {"preset": "none", "decontaminate": {"against": ["file:held.tsv", "sacrebleu:all"]}}
    ended = check(tmp_path, {"url": {"source": "a.en", "target": "a.de"}}, clean=clean)
    assert ended.stdout.splitlines()[-2:] == [
        "evaluation sets: held.tsv, wmt90-en-de (3 segments), wmt90-de-en (1 segment)",
        "3 corpora, 0 problems, 0 warnings",
    ]
    server.answers["/test.tgz"] = [Answer(status=404)]
    ended = check(tmp_path, {"url": {"source": "a.en", "target": "a.de"}}, clean=clean)
    assert ended.returncode == 1
    assert f"problem: sacrebleu/wmt90-en-de: {server.url}/test.tgz: status 404" in ended.stdout


def test_a_local_archive(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar_of(("d/a.en", ENGLISH), ("d/a.de", GERMAN)), mtime=0))
    size = (tmp_path / "a.tgz").stat().st_size
    ended = check(tmp_path, {"url": "a.tgz", "source": "d/a.en", "target": "d/a.de"}, arguments=("-n", "2"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.rstrip() for line in ended.stdout.splitlines()] == [
        "train/c0: plain, 6 pairs",
        f"  a.tgz, {size} bytes, tar of 2 members",
        "    source: d/a.en, 246 bytes",
        "    target: d/a.de, 234 bytes",
        "  languages of source: en 100% of 6 lines",
        "  languages of target: de 100% of 6 lines",
        "source (en)                              target (de)",
        "en this is sentence number 0 of the      de dies ist der Satz 0 im Text, schön",
        "text",
        "en this is sentence number 1 of the      de dies ist der Satz 1 im Text, schön",
        "text",
        "",
        "1 corpus, 0 problems, 0 warnings",
    ]
    assert all(len(line) <= 80 for line in ended.stdout.splitlines())


def test_the_toy_configs(repository: Path) -> None:
    ended = nmt_prep("check", repository / "configs/toy-clean.yaml", "--set", "clean=null", "--json", "-n", "1")
    toy, dirty, dev = facts(ended)
    assert ended.returncode == 0
    assert [toy["pairs"], dirty["pairs"], dev["pairs"]] == [4000, 584, 200]
    assert toy["first"] == [['"Hurry up!" said Wang Wei.', "“快点！”王伟说。"]]
    assert dirty["files"] == [
        {
            "part": "both",
            "address": "../data/toy/dirty-toy.tsv",
            "place": "local",
            "size": (repository / "data/toy/dirty-toy.tsv").stat().st_size,
            "kind": "file",
            "members": 0,
            "complete": True,
        }
    ]


def test_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of(("a.en", ENGLISH), ("a.de", GERMAN)))
    (tmp_path / "a.en").write_bytes(ENGLISH)
    ended = check(
        tmp_path,
        {"url": "a.zip", "source": "a.en", "target": "a.ed"},
        {"url": {"source": "a.en", "target": "b.de"}},
        {"url": "hand.tgz", "manual": "from the publisher", "source": "a", "target": "b"},
        {"url": "a.zip", "format": "tsv"},
    )
    assert ended.returncode == 1
    problems = [line.strip() for line in ended.stdout.splitlines() if line.startswith("  problem: ")]
    assert [problem.replace(f"{tmp_path}/", "") for problem in problems] == [
        (
            "problem: splits.train.c0.target: a.zip has no member 'a.ed'; the nearest is 'a.en'; it has 'a.en', "
            "'a.de': correct the member's name in the config"
        ),
        "problem: cannot read b.de: No such file or directory; check the url in the config",
        "problem: hand.tgz is missing; it must be fetched by hand: from the publisher",
        (
            "problem: splits.train.c3.member: a.zip is an archive ('a.en', 'a.de', …); name the members to use in the "
            "config"
        ),
    ]
    *_, first, second, third, fourth, last = ended.stdout.splitlines()
    assert last == "4 corpora, 4 problems, 0 warnings"
    assert [first, second, third, fourth] == [
        problem.replace("problem: ", f"problem: train/c{number}: ", 1) for number, problem in enumerate(problems)
    ]


def test_text_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes(ENGLISH)
    (tmp_path / "a.de").write_bytes(GERMAN.decode().encode("latin-1"))
    (tmp_path / "b.de").write_bytes(GERMAN[:-1] + b"\nmore\n")
    (tmp_path / "c.txt").write_bytes(b"en a\tde b\n")
    (tmp_path / "d.tsv").write_bytes(b" \t \n")
    ended = check(
        tmp_path,
        {"url": {"source": "a.en", "target": "a.de"}},
        {"url": {"source": "a.en", "target": "b.de"}},
        {"url": "c.txt", "format": "jsonl", "fields": {"source": "a", "target": "b"}},
        {"url": "d.tsv"},
        arguments=("--json",),
    )
    assert ended.returncode == 1
    assert [problem for corpus in facts(ended) for problem in corpus["problems"]] == [
        (
            "splits.train.c0: a.de:1: not UTF-8 at byte 35 of the file (f6: invalid start byte); set encoding in the "
            "config (for this side alone: {target: …}), fix the line, or set invalid: drop to skip such pairs"
        ),
        (
            "splits.train.c1: a.en has 6 lines, but b.de has 7; line i of both makes a pair: check that the files "
            "belong together and are complete"
        ),
        (
            "splits.train.c2: c.txt:1: not JSON at column 1 (Expecting value); fix the line; c.txt: it looks like "
            "columns between tabs (TSV), not jsonl: set format to tsv"
        ),
        "splits.train.c3: no pair has text on both sides; check its format and options",
    ]


def test_sides_in_other_languages(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(
        b"".join(b"%s\t%s\n" % pair for pair in zip(GERMAN.splitlines(), ENGLISH.splitlines(), strict=True))
    )
    ended = check(tmp_path, {"url": "a.tsv"}, arguments=("-n", "0"))
    assert ended.returncode == 0
    advice = "the sides seem to be swapped: exchange them in the config, or set swap"
    assert ended.stdout.splitlines()[4:] == [
        f"  warning: 100% of the first source lines look like de, not en; {advice}",
        f"  warning: 100% of the first target lines look like en, not de; {advice}",
        "",
        "1 corpus, 0 problems, 2 warnings",
    ]


def test_no_model_of_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspected, "installed_identifier", lambda: None)
    (tmp_path / "a.tsv").write_bytes(b"one\teins\n")
    ended = check(tmp_path, {"url": "a.tsv"})
    assert [line.rstrip() for line in ended.stdout.splitlines()] == [
        "train/c0: tsv, 1 pair",
        "  a.tsv, 9 bytes",
        "source (en)                              target (de)",
        "one                                      eins",
        "",
        "no model identifies languages; install one: pip install '.[clean]' in a checkout of nmt_prep",
        "1 corpus, 0 problems, 0 warnings",
    ]


def test_patterns_scores_and_one_side(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(
        zip_of(("1.en", ENGLISH), ("1.de", GERMAN), ("2.en", ENGLISH), ("2.de", GERMAN), ("q", b"1\n"))
    )
    ended = check(
        tmp_path,
        {"url": "a.zip", "source": "*.en", "target": "*.de", "scores": {"q": {"member": "q"}, "r": {"member": "r"}}},
        {"url": {"source": "mono.en"}, "role": "vocab"},
        {"url": "a.zip", "source": "*.en", "target": "1.*"},
        {"url": "a.zip", "source": "*.en", "target": "1.de"},
        arguments=("--json", "-n", "1"),
    )
    several, mono, _, unequal = facts(ended)
    assert several["members"] == {
        "source": [["1.en", 246], ["2.en", 246]],
        "target": [["1.de", 234], ["2.de", 234]],
        "scores.q": [["q", 2]],
    }
    assert several["pairs"] == 12
    assert several["problems"][0].startswith(f"splits.train.c0.scores.r: {tmp_path}/a.zip has no member 'r'")
    assert mono["problems"] == [
        f"cannot read {tmp_path}/mono.en: No such file or directory; check the url in the config"
    ]
    [problem] = unequal["problems"]
    assert problem.startswith("splits.train.c3: '*.en' matches 2 and '1.de' matches 1 members, which are paired by")
    assert problem.endswith("do not have exactly one counterpart: '1.en', '2.en', '1.de'; correct the patterns")


def test_one_side(tmp_path: Path) -> None:
    (tmp_path / "mono.en").write_bytes(ENGLISH)
    (tmp_path / "both.tsv").write_text("a\tb\n")
    corpora = {"url": {"source": "mono.en"}, "role": "vocab"}, {"url": "both.tsv"}
    mono, _ = facts(check(tmp_path, *corpora, arguments=("--json",)))
    assert (mono["pairs"], mono["first"][0][1], list(mono["languages"])) == (6, None, ["source"])
    assert "(none)" in check(tmp_path, *corpora).stdout


def test_control_characters_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"en \x1b[31mred\tde \xe2\x80\xaerot\n")
    for arguments in ((), ("--json",)):
        ended = check(tmp_path, {"url": "a.tsv"}, arguments=arguments)
        assert "\x1b" not in ended.stdout
        assert "\u202e" not in ended.stdout


def test_remote_files(tmp_path: Path, server: WebServer) -> None:
    many = (ENGLISH * 9000, GERMAN * 9000)
    noise = os.urandom(1 << 21)
    plain = {side: give(server, f"/a.{side}", text) for side, text in zip(("source", "target"), many, strict=True)}
    table = b"".join(b"%s\t%s\n" % pair for pair in zip(many[0].splitlines(), many[1].splitlines(), strict=True))
    members = (("big", noise), ("a.en", many[0]), ("a.de", many[1]))
    inside = {"source": "a.en", "target": "a.de"}
    ended = check(
        tmp_path,
        {"url": plain},
        {"url": give(server, "/a.tsv.gz", gzip.compress(table, 0))},
        {"url": give(server, "/a.zip", zip_of(*members)), **inside},
        {"url": give(server, "/a.tgz", gzip.compress(tar_of(*members), 1)), **inside},
        {"url": server.give("/b.zip", zip_of(*members)), **inside},
        {"url": give(server, "/b.tgz", gzip.compress(tar_of(("a.en", ENGLISH), ("a.de", GERMAN)))), **inside},
        {"url": [f"{server.url}/gone.tsv", f"{server.url}/a.tsv.gz"]},
        {
            "url": give(server, "/c.sgm", b"<srcset>" + noise),
            "format": "parquet",
            "fields": {"source": "a", "target": "b"},
        },
        {"url": f"{server.url}/gone.tsv"},
        arguments=("--json", "-n", "1"),
    )
    found = facts(ended)
    first = [["en this is sentence number 0 of the text", "de dies ist der Satz 0 im Text, schön"]]
    assert [each["first"] for each in found] == [first, first, first, [], [], first, first, [], []]
    assert [each["pairs"] for each in found] == [None, None, None, None, None, 6, None, None, None]
    assert [each["problems"] for each in found] == [
        *[[]] * 8,
        [f"{server.url}/gone.tsv: status 404 Not Found: 'no such file'; check the url, or add a mirror"],
    ]
    tar, missing = "the members of a tar are not listed anywhere, and only its first megabyte was read", "the member"
    zipped = "the server does not send parts of files, and the members of a zip are listed at its end"
    assert [each["unseen"] for each in found] == [
        *[[]] * 3,
        [f"{missing} 'a.{side}' of {server.url}/a.tgz: {tar}" for side in ("en", "de")],
        [f"{missing} 'a.{side}' of {server.url}/b.zip: {zipped}" for side in ("en", "de")],
        *[[]] * 2,
        ["format parquet cannot be read from its beginning alone"],
        [],
    ]
    assert found[2]["files"][0] == {
        "part": "both",
        "address": f"{server.url}/a.zip",
        "place": "remote",
        "size": len(zip_of(*members)),
        "kind": "zip",
        "members": 3,
        "complete": True,
    }
    assert [each["files"][0]["members"] for each in found[3:6]] == [1, 0, 2]
    assert {each["languages"]["source"]["lines"] for each in found if each["first"]} == {1000, 6}
    assert ended.returncode == 1
    assert all(int(headers["Range"].rpartition("-")[2]) < 4_000_000 for headers in server.headers)


@pytest.mark.parametrize(
    ("swap", "first"),
    [
        (False, ["en this is sentence number 0 of the text", None]),
        (True, [None, "en this is sentence number 0 of the text"]),
    ],
)
def test_a_tar_whose_beginning_has_one_side(tmp_path: Path, server: WebServer, swap: bool, first: list[str]) -> None:
    members = (("a.en", ENGLISH), ("big", os.urandom(1 << 21)), ("a.de", GERMAN))
    url = give(server, "/a.tgz", gzip.compress(tar_of(*members), 1))
    corpus = {"url": url, "source": "a.en", "target": "a.de", "swap": swap}
    ended = check(tmp_path, corpus, arguments=("--json", "-n", "1"))
    [found] = facts(ended)
    assert (ended.returncode, found["pairs"], found["first"]) == (0, None, [first])
    assert [*found["languages"]] == ["target" if swap else "source"]
    assert len(found["unseen"]) == 1
    assert "(not seen)" in check(tmp_path, corpus, arguments=("-n", "1")).stdout


def test_an_id_of_opus(tmp_path: Path, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICE_VARIABLE, f"{server.url}/api")
    url = give(server, "/de-en.txt.zip", zip_of(("Books.de-en.de", GERMAN), ("Books.de-en.en", ENGLISH)))
    entry = {"corpus": "Books", "version": "v1", "source": "de", "target": "en", "preprocessing": "moses", "url": url}
    server.give("/api?corpus=Books&source=de&target=en&preprocessing=moses", json.dumps({"corpora": [entry]}).encode())
    right, wrong = facts(
        check(tmp_path, {"url": "opus:Books/v1/en-de"}, {"url": "opus:Books/v2/en-de"}, arguments=("--json",))
    )
    assert (right["pairs"], right["first"][0][0]) == (6, "en this is sentence number 0 of the text")
    assert wrong["problems"] == [
        "opus:Books/v2/en-de: not found in OPUS; it has the versions v1; check the ID at https://opus.nlpl.eu"
    ]


def test_a_file_that_was_fetched_before_is_looked_at_whole(tmp_path: Path, server: WebServer) -> None:
    noise = os.urandom(1 << 21)
    body = gzip.compress(tar_of(("big", noise), ("a.en", ENGLISH), ("a.de", GERMAN)), 1)
    corpus = {"url": give(server, "/a.tgz", body), "source": "a.en", "target": "a.de"}
    assert facts(check(tmp_path, corpus, arguments=("--json",)))[0]["pairs"] is None
    assert nmt_prep("download", tmp_path / "c.yaml").returncode == 0
    asked = len(server.asked)
    for output in ("run", "elsewhere"):  # its own files, then the cache
        [found] = facts(check(tmp_path, corpus, arguments=("--json",), output_dir=str(tmp_path / output)))
        assert (found["pairs"], found["files"][0]["place"]) == (6, "fetched")
    assert len(server.asked) == asked


def test_existing_vocabularies(tmp_path: Path, server: WebServer) -> None:
    (tmp_path / "a.tsv").write_bytes(b"one\teins\n")
    vocab = {"from": {"source": give(server, "/spm.model", b"x" * 2000), "target": f"{server.url}/gone.model"}}
    ended = check(tmp_path, {"url": "a.tsv"}, arguments=("-n", "0"), vocab=vocab)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-4:] == [
        f"vocab.from.source: {server.url}/spm.model, 2.0 kB, remote",
        f"vocab.from.target: {server.url}/gone.model, remote",
        (
            f"problem: vocab.from.target: {server.url}/gone.model: status 404 Not Found: 'no such file'; check the "
            "url, or add a mirror"
        ),
        "1 corpus, 1 problem, 0 warnings",
    ]


def test_what_else_a_run_needs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"one\teins\n")
    clean = {"preset": "none", "decontaminate": {"against": ["file:none.txt"]}}
    ended = check(tmp_path, {"url": "a.tsv"}, arguments=("-n", "0"), vocab={"from": "none.model"}, clean=clean)
    assert [line.replace(f"{tmp_path}/", "") for line in ended.stdout.splitlines() if "problem: " in line] == [
        "problem: clean.decontaminate.against: cannot read none.txt: No such file or directory",
        "problem: vocab.from: cannot read the vocabulary none.model: No such file or directory; check the path",
    ]
    assert ended.returncode == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a\tb\n")
    (tmp_path / "a.tsv").chmod(stat.S_IWUSR)
    assert "Permission denied" in check(tmp_path, {"url": "a.tsv"}).stdout


def test_wrong_usage(tmp_path: Path) -> None:
    assert nmt_prep("check", tmp_path / "none.yaml").returncode == 2
    assert nmt_prep("check", tmp_path / "none.yaml", "-n", "-1").returncode == 2
    ended = check(tmp_path, {"url": "a.tsv", "nonsense": 1})
    assert (ended.returncode, ended.stdout) == (1, "")
