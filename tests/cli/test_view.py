from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from nmt_prep.cli.view import _table
from tests.cli.program import nmt_prep

CONFIG = """
name: v
languages: {source: en, target: zh}
output_dir: %s
seed: 1
splits:
  train:
    - {name: news, url: {source: news.en, target: news.zh}}
    - {name: web, url: {source: web.en, target: web.zh}}
  dev:
    - {name: web, url: {source: web.en, target: web.zh}}
vocab: {size: 300}
records: {shards: {train: 2}}
"""
HOSTILE = "a\x1b[31mred\x1b[0m\tb \u202eevil\u2069 \x9b0m \u2028 end"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("view")
    corpora = {
        "news": [(f"News number {n} of the day", f"这是今天的第{n}条新闻") for n in range(50)],
        "web": [(HOSTILE, "坏" * 500), ("", "空"), *((f"Page {n}", f"第{n}页") for n in range(2, 30))],
    }
    for name, pairs in corpora.items():
        for side, lines in zip(("en", "zh"), zip(*pairs, strict=True), strict=True):
            (directory / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    path = directory / "config.yaml"
    path.write_text(CONFIG % (directory / "run"))
    early = nmt_prep("view", path)
    assert early.returncode == 1
    assert "the stage compile has not run yet" in early.stderr
    assert nmt_prep("run", path, "--quiet").returncode == 0
    return path


def rows(config: Path, *options: str) -> list[dict[str, Any]]:
    result = nmt_prep("view", config, "--json", *options)
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_first_pairs_as_json(config: Path) -> None:
    assert rows(config, "-n", "1") == [
        {
            "split": "train",
            "corpus": "news",
            "pair": 0,
            "source": "News number 0 of the day",
            "target": "这是今天的第0条新闻",
        }
    ]
    assert [(row["corpus"], row["pair"]) for row in rows(config, "--split", "dev", "-n", "2")] == [
        ("web", 0),
        ("web", 1),
    ]
    assert len(rows(config)) == 10


def test_text_is_whole_and_safe_in_json(config: Path) -> None:
    result = nmt_prep("view", config, "--json", "--corpus", "web", "--row", "0")
    assert not any(character in result.stdout for character in "\x1b\x9b\u202e\u2069")
    (row,) = rows(config, "--corpus", "web", "--row", "0")
    assert (row["row"], row["source"], row["target"]) == (0, HOSTILE, "坏" * 500)


def test_the_table_fits_80_columns_and_escapes_control_characters(config: Path) -> None:
    result = nmt_prep("view", config, "--corpus", "web", "-n", "3")
    lines = result.stdout.split("\n")
    assert max(map(cell_len, lines)) <= 80
    assert lines[0].split() == ["pair", "source", "target"]
    assert not any(character in result.stdout for character in "\x1b\x9b\u202e\u2069\u2028\t")
    assert "…" in result.stdout
    assert sum("坏" in line for line in lines) <= 15


def test_random_pairs_depend_on_the_seed_alone(config: Path) -> None:
    chosen = rows(config, "--random", "5")
    assert chosen == rows(config, "--random", "5", "--seed", "1")
    assert chosen != rows(config, "--random", "5", "--seed", "2")
    assert len(rows(config, "--random", "500")) == 79
    of_web = rows(config, "--random", "4", "--corpus", "web")
    assert [row["corpus"] for row in of_web] == ["web"] * 4
    matching = rows(config, "--random", "4", "--grep", "第2")
    assert len(matching) == 4
    assert matching == rows(config, "--random", "4", "--grep", "第2")


def test_grep_looks_at_both_sides(config: Path) -> None:
    assert [row["source"] for row in rows(config, "--grep", r"(?i)^PAGE 1\d$|第3页", "-n", "99")] == [
        "Page 3",
        *(f"Page {n}" for n in range(10, 20)),
    ]
    none = nmt_prep("view", config, "--grep", "nowhere")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "no pair matches\n")


def test_pieces_join_to_the_text(config: Path) -> None:
    (row,) = rows(config, "--row", "7", "--corpus", "news", "--pieces")
    assert "".join(row["source_pieces"]) == "News_ number_ 7_ of_ the_ day_".replace(" ", "")
    table = nmt_prep("view", config, "--row", "7", "--corpus", "news", "--pieces").stdout.splitlines()
    assert len(table) > 2
    assert max(map(cell_len, table)) <= 80


def test_records_are_decoded(config: Path) -> None:
    records = rows(config, "--stage", "encode", "-n", "99")
    assert [row["record"] for row in records] == list(range(79))
    assert [(row["shard"], row["position"]) for row in (records[0], records[78])] == [
        ("v-train-00000-of-00002", 0),
        ("v-train-00001-of-00002", 39),
    ]
    texts = {
        (row["corpus"], row["source"], row["target"]) for row in rows(config, "-n", "99") if row["source"] != HOSTILE
    }
    assert texts <= {(row["corpus"], row["source"], row["target"]) for row in records}
    (one,) = rows(config, "--stage", "encode", "--random", "1", "--pieces")
    assert one["source_pieces"][-1] == "<EOS>_"
    of_web = rows(config, "--stage", "encode", "--corpus", "web", "--random", "3")
    assert [row["corpus"] for row in of_web] == ["web"] * 3


def test_packed_records_have_a_place_of_their_own(config: Path, tmp_path: Path) -> None:
    packed = ["--set", f"output_dir={tmp_path}", "--set", "records.layout=packed", "--set", "records.row_length=700"]
    assert nmt_prep("run", config, "--quiet", *packed).returncode == 0
    records = rows(config, "--stage", "encode", "-n", "99", *packed)
    assert [key for key in records[0] if "pieces" not in key] == [
        "split",
        "shard",
        "packed",
        "corpus",
        "source",
        "target",
    ]
    assert [row["packed"] for row in records] == [*range(39), *range(40)]
    assert {row["source"] for row in records} >= {f"News number {n} of the day" for n in range(50)}
    traced = json.loads(nmt_prep("view", config, "--trace", "web:9", "--json", *packed).stdout)
    assert traced["shard"] in {row["shard"] for row in records if row["source"] == "Page 9"}


def test_trace_in_words_and_as_json(config: Path) -> None:
    result = nmt_prep("view", config, "--trace", "web:9")
    labels = [line.split()[0] for line in result.stdout.splitlines()]
    assert labels == ["record", "shard", "corpus", "file", "file", "source", "target"]
    assert "web.en, line 10" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    (traced,) = [json.loads(nmt_prep("view", config, "--trace", "web:9", "--json").stdout)]
    assert {key: traced[key] for key in ("corpus", "row", "source", "split")} == {
        "corpus": "web",
        "row": 9,
        "source": "Page 9",
        "split": "train",
    }
    assert traced["files"][1] == {"part": "target", "file": "web.zh", "unit": "line", "number": 10}
    place = f"{int(traced['shard'].split('-')[2])}:{traced['position']}"
    assert json.loads(nmt_prep("view", config, "--trace", place, "--json").stdout) == traced
    with_pieces = json.loads(nmt_prep("view", config, "--trace", place, "--json", "--pieces").stdout)
    assert with_pieces["source_pieces"] == ["Page_", "9_"]


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (
            ["--row", "1", "--corpus", "web"],
            1,
            "row 1 of web was dropped by compile: empty_source web.en, line 2 web.zh, line 2 source: target: 空",
        ),
        (["--row", "99", "--corpus", "web"], 1, "there is no row 99 in web; its rows are 0 to 29"),
        (["--row", "1"], 1, "--row needs --corpus, because train has several: news, web"),
        (["--corpus", "x"], 1, "there is no corpus 'x' in train; its corpora are news, web"),
        (["--split", "x"], 1, "there is no split 'x'"),
        (["--split", "x", "--stage", "encode"], 1, "there is no split 'x'"),
        (["--stage", "clean"], 1, "the config has no section clean"),
        (["--stage", "encode", "--row", "3"], 1, "--trace CORPUS:3 finds the record of a row"),
        (["--grep", "("], 1, "--grep (: "),
        (["--trace", "web:1"], 1, "row 1 of web was dropped by compile: empty_source"),
        (["--trace", "3", "--set", "seed=2"], 1, "the records are not those of"),
        (["--trace", "3", "--row", "2"], 2, "--row cannot be combined with --trace"),
        (["--trace", "3", "--grep", "a"], 2, "--grep cannot be combined with --trace"),
        (["--trace", "3", "-n", "1"], 2, "-n cannot be combined with --trace"),
        (["--trace", "3", "--seed", "1"], 2, "--seed cannot be combined with --trace"),
        (["--seed", "3"], 2, "--seed needs --random"),
        (["--row", "3", "--random", "2"], 2, "--row cannot be combined with --grep and --random"),
        (["--stage", "sample"], 2, "'sample' is not one of"),
    ],
)
def test_mistakes(config: Path, options: list[str], status: int, message: str) -> None:
    result = nmt_prep("view", config, *options)
    assert result.returncode == status
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_scores_are_columns_of_the_table() -> None:
    pair = {"row": 3, "source": "a", "target": "b"}
    table = _table([{"corpus": "one", **pair, "score:q": 0.070000001}, {"corpus": "two", **pair}])
    assert [column.header for column in table.columns] == ["corpus", "row", "q", "source", "target"]
    assert [*table.columns[2].cells] == ["0.07", ""]
