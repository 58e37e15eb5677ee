"""No command overwrites what it reads."""

from __future__ import annotations

import os
from pathlib import Path
from string import ascii_lowercase

import pytest
import typer

from nmt_prep.cli.shared_options import check_outputs
from tests.cleaning.align.corpus import SOURCE, TARGET
from tests.cli.program import nmt_prep
from tests.corpus import write_config

TEXT = "".join(f"{source}\t{target}\n" for source, target in zip(SOURCE, TARGET, strict=True))


def message_of(outputs: dict[str, Path | int | None], inputs: dict[str, Path | int | None]) -> str:
    with pytest.raises(typer.BadParameter) as caught:
        check_outputs(outputs, inputs)
    return str(caught.value)


def test_outputs_that_are_inputs(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("a")
    (tmp_path / "link").symlink_to(text)
    os.link(text, tmp_path / "hard")
    for name in ("text", "link", "hard", "../" + tmp_path.name + "/text"):
        path = tmp_path / name
        assert (
            message_of({"--save": path}, {"--model": text})
            == f"--save: {path} is also read, as --model; name another file"
        )
    check_outputs({"--save": other, "--scores": None}, {"--model": text, "--prior": None})
    with text.open("rb") as file:
        assert "is also read, as standard input" in message_of({"--save": text}, {"standard input": file.fileno()})


def test_outputs_that_are_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "new"
    (tmp_path / "link").symlink_to(path)
    for name in ("new", "link", "./new"):
        outputs: dict[str, Path | int | None] = {"--save": path, "--scores": tmp_path / name}
        assert message_of(outputs, {}) == f"--scores: {tmp_path / name} is also written, as --save; name another file"
    check_outputs({"--save": Path(os.devnull), "--scores": Path(os.devnull)}, {"standard input": Path(os.devnull)})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nmt-prep align --save pairs <pairs >links", "--save: pairs is also read, as standard input"),
        ("nmt-prep align --scores pairs <pairs >links", "--scores: pairs is also read, as standard input"),
        ("nmt-prep align --save x --scores x <pairs >links", "--scores: x is also written, as --save"),
        ("nmt-prep align --save model --prior model <pairs >links", "--save: model is also read, as --prior"),
        ("nmt-prep align <pairs >>pairs", "standard output is also read, as standard input"),
        ("nmt-prep encode --vocab pairs <model >>model", "standard output is also read, as standard input"),
        ("nmt-prep decode --vocab pairs <model >>pairs", "standard output is also read, as --vocab"),
        ("nmt-prep clean --config c.yaml --rejected c.yaml <pairs >x", "--rejected: c.yaml is also read, as --config"),
        ("nmt-prep clean --config c.yaml --rejected words <pairs >x", "--rejected: words is also read, as words"),
        ("nmt-prep clean --config c.yaml --rejected dev <pairs >x", "--rejected: dev is also read, as file:dev"),
        ("nmt-prep init a.tsv --languages en-de --train a.tsv --force", "a.tsv is also read, as splits.train.a.url"),
        ("nmt-prep vocab words --text pairs >>pairs", "standard output is also read, as --text"),
        ("nmt-prep vocab words >>words", "standard output is also read, as vocabulary words"),
        ("nmt-prep overlap pairs dev >>pairs", "standard output is also read, as FIRST"),
        ("nmt-prep overlap pairs dev >>dev", "standard output is also read, as SECOND"),
        ("nmt-prep init new --languages en-de --train a.tsv >>pairs", "output is also read, as splits.train.a.url"),
        ("nmt-prep init l.tsv --languages en-de --train pairs,words --force", "l.tsv is also read, as splits.train."),
    ],
)
def test_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str) -> None:
    (tmp_path / "pairs").write_text(TEXT)
    (tmp_path / "model").write_text("a model")
    (tmp_path / "words").write_text("house\n")
    (tmp_path / "a.tsv").symlink_to("pairs")
    (tmp_path / "l.tsv").symlink_to("words")
    (tmp_path / "dev").write_text("a\tb\n")
    (tmp_path / "c.yaml").write_text(
        "languages: {source: en, target: de}\n"
        "clean: {rules: {word_list: {source: words, target: words}}, decontaminate: {against: [file:dev]}}\n"
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    arguments = [word for word in line.split()[1:] if word[0] not in "<>"]
    streams = {word.strip(ascii_lowercase): Path(word.lstrip("<>")) for word in line.split() if word[0] in "<>"}
    ended = nmt_prep(*arguments, stdin=streams.get("<", b""), append_to=streams.get(">", streams.get(">>")))
    assert ended.returncode == 2
    assert message in " ".join(ended.stderr.split())
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("command", ["run", "check", "plan", "tasks", "view", "rejects", "report", "download", "lock"])
def test_messages_are_not_appended_to_what_a_run_reads(tmp_path: Path, command: str) -> None:
    config = write_config(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for path, name in ((config, "the config"), (tmp_path / "train.tgz", "splits.train.x.url")):
        endings = {"standard output": nmt_prep(command, config, append_to=path)}
        if command == "run":
            endings[f"--log-json: {path}"] = nmt_prep("run", config, "--log-json", path)
        for what, ended in endings.items():
            assert ended.returncode == 2
            assert f"{what} is also read, as {name}" in " ".join(ended.stderr.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_messages_are_appended_to_other_files(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an earlier line\n")
    assert nmt_prep("plan", write_config(tmp_path), append_to=log).returncode == 0
