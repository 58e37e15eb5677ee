from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import nmt_prep as package
from nmt_prep.runs.checks import load_config
from tests.cli.program import nmt_prep
from tests.stages.runs import settings_of

STAGES = {
    "stages": [
        {"name": "first", "mix": {"a": 0.8, "b": 0.2}, "until": {"a": 2}},
        {"name": "last", "mix": {"b": 1.0}, "until": {"rows": 18_000}, "modifiers": [{"LowerCase": 0.5}]},
    ],
    "modifiers": [{"UpperCase": 0.3}, {"Merge": 0.1}, {"Noise": 0.05}],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with records of text, and its configs: plain.yaml, and with modifiers staged.yaml and noisy.yaml."""
    place = tmp_path_factory.mktemp("stream")
    for corpus, count in (("a", 9000), ("b", 5000)):
        for side in ("en", "de"):
            lines = (f"The {corpus} {side} line {number} ." for number in range(count))
            (place / f"{corpus}.{side}").write_text("".join(f"{line}\n" for line in lines))
    a, b = ({"name": name, "url": {"source": f"{name}.en", "target": f"{name}.de"}} for name in "ab")
    config = settings_of(
        *(place, a, {**b, "tag": {"source": "<b>"}}),
        languages={"source": "en", "target": "de"},
        vocab={"kind": "byte_bpe", "size": 300, "reserved": ["<b>"]},
        records={"layout": "text", "shards": {"train": 2}},
    )
    for name, training in (("plain", {}), ("staged", STAGES), ("noisy", {"modifiers": [{"Noise": 1}]})):
        (place / f"{name}.yaml").write_text(yaml.safe_dump({**config, "training": training}))
    package.run(load_config(place / "plain.yaml"))
    return place


def lines(*arguments: str | Path) -> list[str]:
    ended = nmt_prep("stream", *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_an_epoch_is_each_pair_once_in_an_order_of_its_own(place: Path) -> None:
    two = lines(place / "plain.yaml", "--epochs", "2")
    first, second = two[:14_000], two[14_000:]
    expected = [f"The a en line {n} .\tThe a de line {n} ." for n in range(9000)]
    expected += [f"<b> The b en line {n} .\tThe b de line {n} ." for n in range(5000)]
    assert sorted(first) == sorted(second) == sorted(expected)
    assert first != second
    assert lines(place / "run", "--epochs", "2") == two


def test_the_stream_goes_on_at_any_row(place: Path) -> None:
    """Also within a block, and across the end of a stage, whatever modifiers join and add."""
    whole = lines(place / "staged.yaml", "--columns", "source,target,corpus,row")
    rows = [int(line.rpartition("\t")[2]) for line in whole]
    assert rows == sorted(rows)
    draw = random.Random(1)
    for row in [0, 1, 22_500, rows[-1], *(draw.randrange(rows[-1]) for _ in range(4))]:
        start = next(number for number, other in enumerate(rows) if other >= row)
        assert (
            lines(place / "staged.yaml", "--columns", "source,target,corpus,row", "--from", str(row)) == whole[start:]
        )


def test_readers_share_the_stream(place: Path) -> None:
    whole = lines(place / "staged.yaml", "--columns", "row,source")
    parts = [lines(place / "staged.yaml", "--columns", "row,source", "--part", f"{part}/3") for part in range(3)]
    assert sorted(line for part in parts for line in part) == sorted(whole)
    later = [row for row in parts[1] if int(row.partition("\t")[0]) >= 20_000]
    assert lines(place / "staged.yaml", "--columns", "row,source", "--part", "1/3", "--from", "20000") == later


def test_readers_of_a_small_stream_have_equal_parts(place: Path) -> None:
    """Turns of 512 rows; the row in a state is that of the whole stream."""
    arguments = (place / "plain.yaml", "--columns", "row", "--epochs", "1")
    parts = [[int(row) for row in lines(*arguments, "--part", f"{part}/5")] for part in range(5)]
    assert [row for part in parts for row in part if row < 2560] == [*range(2560)]
    assert sorted(row for part in parts for row in part) == [*range(14_000)]
    assert [len(part) for part in parts] == [3072, 3072, 2736, 2560, 2560]
    assert [int(row) for row in lines(*arguments, "--part", "3/5", "--from", "1700")][:2] == [1700, 1701]


def test_pieces_of_the_vocabulary(place: Path) -> None:
    text = lines(place / "plain.yaml", "--epochs", "1")
    pieces = lines(place / "plain.yaml", "--epochs", "1", "--as", "pieces")
    tokenizer = package.load_tokenizer(place / "run/vocab/vocab.t.300.de.tokenizer.json")
    for line, other in zip(text[:50], pieces[:50], strict=True):
        source, target = line.split("\t")
        ids = [tokenizer.piece_id(piece) for piece in other.split("\t")[1].split(" ")]
        assert tokenizer.decode(ids) == target
        assert other.startswith("<b> ") == source.startswith("<b> ")


def test_a_trainer_gets_the_lines_and_gives_the_status(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    keep = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read()); sys.exit(7)"
    ended = nmt_prep("stream", place / "plain.yaml", "--epochs", "1", "--", sys.executable, "-c", keep)
    assert ended.returncode == 7
    assert out.read_text().splitlines() == lines(place / "plain.yaml", "--epochs", "1")
    assert "the stream is complete" in ended.stderr


def test_a_trainer_that_dies(place: Path, tmp_path: Path) -> None:
    """The state says where to go on; with it, the next trainer gets the rest."""
    state, few = tmp_path / "state.json", "import sys; [sys.stdin.readline() for _ in range(3)]; sys.exit(9)"
    ended = nmt_prep("stream", place / "plain.yaml", "--state", state, "--", sys.executable, "-c", few)
    assert ended.returncode == 9
    row = json.loads(state.read_text())["row"]
    assert f"has stopped reading; {sys.executable} ended with status 9; go on with --from {row}" in ended.stderr
    assert 3 <= row < 14_000
    whole = lines(place / "plain.yaml", "--epochs", "1")
    assert lines(place / "plain.yaml", "--epochs", "1", "--state", state) == whole[row:]
    assert lines(place / "plain.yaml", "--epochs", "1", "--state", state) == []
    other = nmt_prep("stream", place / "plain.yaml", "--state", state, "--columns", "source")
    assert other.returncode == 1
    assert f"{state}: the state of another stream (columns differs)" in " ".join(other.stderr.split())


def started(*arguments: str | Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nmt_prep", "stream", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_signal_leaves_an_exact_state(place: Path, tmp_path: Path, number: int, status: int) -> None:
    """The row that was begun is finished, with the pair that Noise added, though the stream waits for the reader."""
    state, config = tmp_path / "state.json", place / "noisy.yaml"
    with started(config, "--state", state, "--epochs", "1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        os.kill(process.pid, number)
        read = (first + process.stdout.read()).decode()
        assert b"interrupted; go on with --from " in process.stderr.read()
    assert process.returncode == status
    assert (read[-1], 2 * json.loads(state.read_text())["row"]) == ("\n", read.count("\n"))
    rest = nmt_prep("stream", config, "--state", state, "--epochs", "1").stdout
    assert read + rest == nmt_prep("stream", config, "--epochs", "1").stdout


def test_a_second_signal_ends_a_stream_that_nobody_reads(place: Path) -> None:
    with started(place / "noisy.yaml") as process:
        assert process.stdout is not None
        process.stdout.readline()
        while process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.2)
    assert process.returncode == 130


@pytest.mark.parametrize("ending", ["reader", "interrupt"])
def test_a_stream_without_end_ends_with_its_reader(place: Path, ending: str) -> None:
    process = started(place / "plain.yaml")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().count(b"\t") == 1
    if ending == "interrupt":
        os.kill(process.pid, signal.SIGINT)
    process.stdout.close()
    assert process.wait(60) == (130 if ending == "interrupt" else 141)
    assert b"go on with --from " in process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--columns", "source,links"],
            "--columns links: there is no such column; there are source, target, corpus, row",
        ),
        (["--from", str(1 << 61)], "--from"),
        (["--part", "3/3"], "--part 3/3: expected I/N with I from 0 to N - 1"),
        (["--from", "3", "--state", "x"], "--from and --state both say where to begin"),
        (["--", "no-such-trainer"], "no-such-trainer: cannot be started: No such file or directory"),
    ],
)
def test_wrong_use(place: Path, arguments: list[str], message: str) -> None:
    ended = nmt_prep("stream", place / "plain.yaml", *arguments)
    assert ended.returncode in (1, 2)
    assert message in " ".join(ended.stderr.split())


def test_after_the_end_there_is_nothing(place: Path) -> None:
    ended = nmt_prep("stream", place / "plain.yaml", "--from", "50000", "--epochs", "1")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "0 lines, " in ended.stderr
    assert "the stream is complete; go on with --from 50000" in ended.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"row": 3}', '{"row": -1, "format": 1}', "\x00", "[" * 9999])
def test_a_damaged_state(place: Path, tmp_path: Path, text: str) -> None:
    state = tmp_path / "state.json"
    state.write_text(text)
    ended = nmt_prep("stream", place / "plain.yaml", "--state", state, "--epochs", "1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert " ".join(ended.stderr.split()).startswith(f"nmt-prep: error: {state}: ")
    assert state.read_text() == text


def test_a_device_is_no_state(place: Path) -> None:
    ended = nmt_prep("stream", place / "plain.yaml", "--state", "/dev/zero", "--epochs", "1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "it is not a regular file" in " ".join(ended.stderr.split())


def test_epochs_need_a_stream_without_end(place: Path) -> None:
    assert nmt_prep("stream", place / "staged.yaml", "--epochs", "1").returncode == 2


def test_opustrainer_reads_files_and_corpora(place: Path, tmp_path: Path) -> None:
    for name in "ab":
        sides = ((place / f"{name}.{side}").read_text().splitlines() for side in ("en", "de"))
        text = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True))
        (tmp_path / f"{name}.tsv").write_text(f"{text}only one\n\tempty\n")
    file = {
        "datasets": {"a": "a.tsv", "b": "b.tsv"},
        "stages": ["one"],
        "one": ["a 0.5", "b 0.5", "until b 1"],
        "seed": 1,
    }
    (tmp_path / "files.yml").write_text(yaml.safe_dump(file))
    streamed = lines("--opustrainer", tmp_path / "files.yml")
    assert (
        len([line for line in streamed if " b " in line]) == 5000 == len({line for line in streamed if " b " in line})
    )
    assert 9800 < len(streamed) < 10_200
    for last, problem in (
        ("x\ty\tz\n", "a.tsv, line 1: 'z' in the third column are no links of words such as 0-0 1-2; correct them"),
        ("\t\t\n", "a.tsv: no line has 3 columns with text"),
    ):
        (tmp_path / "three").mkdir(exist_ok=True)
        (tmp_path / "three/a.tsv").write_text(last)
        (tmp_path / "three/f.yml").write_text(
            yaml.safe_dump(
                {**file, "datasets": {"a": "a.tsv"}, "one": ["a 1", "until a 1"], "num_fields": 3, "trainer": "cat"}
            )
        )
        assert problem in " ".join(nmt_prep("stream", "--opustrainer", tmp_path / "three/f.yml").stderr.split())
    (tmp_path / "corpora.yml").write_text(yaml.safe_dump({**file, "datasets": {"a": "a", "b": "b"}}))
    of_corpora = lines(place / "plain.yaml", "--opustrainer", tmp_path / "corpora.yml")
    assert len({line for line in of_corpora if " b " in line}) == 5000
    (tmp_path / "wrong.yml").write_text(yaml.safe_dump({**file, "datasets": {"a": "a", "b": "c"}}))
    ended = nmt_prep("stream", place / "plain.yaml", "--opustrainer", tmp_path / "wrong.yml")
    assert "datasets.b is 'c', which is no corpus of the config; they are a, b" in " ".join(ended.stderr.split())


def test_modifiers_that_need_links_are_refused_without(place: Path, tmp_path: Path) -> None:
    file = {
        "datasets": {"a": "a"},
        "stages": ["one"],
        "one": ["a 1", "until a 1"],
        "seed": 1,
        "modifiers": [{"Tags": 1}],
    }
    (tmp_path / "tags.yml").write_text(yaml.safe_dump(file))
    ended = nmt_prep("stream", place / "plain.yaml", "--opustrainer", tmp_path / "tags.yml")
    assert ended.returncode == 1
    assert "needs links, which the pairs lack; add a section align" in " ".join(ended.stderr.split())
