from __future__ import annotations

import json
from pathlib import Path

import pytest

from nmt_prep.checks import load_config
from nmt_prep.runner import plan
from tests.cli.configs import init, splits
from tests.cli.program import nmt_prep


@pytest.mark.usefixtures("here")
def test_a_config_from_options() -> None:
    ended = init(
        *("--languages", "en-de", "--opus", "Europarl/v8", "--train", "data/train.en,data/train.de"),
        *("--dev", "data/train.en,data/train.de", "--vocab", "byte_bpe", "--size", "8000", "--shared"),
        *("--clean", "light", "--output-dir", "out/en-de"),
    )
    assert ended == (
        0,
        (
            "en-de.yaml: written; corpora: 2 of train, 1 of dev\n"
            "next: nmt-prep check en-de.yaml\n"
            "then: nmt-prep run en-de.yaml\n"
        ),
        "",
    )
    assert (
        Path("en-de.yaml").read_text()
        == """\
# en to de. `nmt-prep check en-de.yaml` looks at the corpora,
# `nmt-prep run en-de.yaml` prepares the data, `nmt-prep schema` lists all keys.
name: en-de
languages: {source: en, target: de}
output_dir: out/en-de  # relative to the directory where the run is started
seed: 1  # of the sample and the shuffle; the same seed gives the same data

# Where corpora can come from: paths relative to this file, URLs, and ids of OPUS, mtdata and sacrebleu.
splits:
  train:
    - name: train
      url:
        source: data/train.en
        target: data/train.de
    - name: Europarl-v8
      url: opus:Europarl/v8/en-de
  dev:
    - name: train
      url:
        source: data/train.en
        target: data/train.de

# Which pairs are dropped: the presets are light, standard and strict. docs/cleaning.md has all rules, and
# `nmt-prep plan CONFIG --show-rules` prints those of a preset.
clean:
  preset: light

vocab:
  kind: byte_bpe  # t2t, byte_bpe or sentencepiece
  size: 8000  # pieces of each vocabulary
  shared: true  # true for one vocabulary for both sides

records:
  shards: {train: 16, dev: 1}  # files per split
input:
  batch_tokens: 4096  # tokens of a batch on either side, padding included
  max_length: 256  # longer pairs are left out of batches
# Files for other trainers, beside the records: marian, fairseq, huggingface and more, see docs/outputs.md.
# outputs: [{kind: marian}]
"""
    )
    config = load_config("en-de.yaml")
    assert [step.stage for step in plan(config)][:2] == ["download", "extract"]
    assert (config.vocab.size, config.clean and config.clean.preset) == (8000, "light")  # type: ignore[union-attr]


@pytest.mark.usefixtures("here")
def test_the_config_can_be_checked_and_run() -> None:
    assert init("--languages", "en-de", "--train", "data/train.en,data/train.de", "--size", "300").returncode == 0
    assert nmt_prep("check", "en-de.yaml").returncode == 0
    assert nmt_prep("run", "en-de.yaml", "--quiet").returncode == 0
    assert json.loads(Path("runs/en-de/records/dataset.json").read_text())["splits"]["train"]["pairs"] == 2


@pytest.mark.usefixtures("here")
def test_comments_can_be_uncommented() -> None:
    init("--languages", "de-en", "--train", "data/train.de,data/train.en")
    text = Path("de-en.yaml").read_text()
    bare = text.replace("# clean:\n#   preset", "clean:\n  preset").replace("# outputs:", "outputs:")
    bare = bare.replace("  # dev:  # such", "  dev:  # such").replace("  #   - {name: wmt22", "    - {name: wmt22")
    assert bare.count("#") == text.count("#") - 5
    Path("bare.yaml").write_text(bare.replace("sacrebleu:wmt22/de-en", "data/dev.tsv"))
    config = load_config("bare.yaml")
    assert (config.clean is None, [*config.splits], len(config.outputs)) == (False, ["train", "dev"], 1)


@pytest.mark.usefixtures("here")
def test_paths_are_relative_to_the_config() -> None:
    assert init("sub/dir/c.yaml", "--languages", "en-de", "--train", "data/train.en,data/train.de").returncode == 0
    assert splits("sub/dir/c.yaml")["train"] == [
        {"name": "train", "url": {"source": ("../../data/train.en",), "target": ("../../data/train.de",)}}
    ]
    config = load_config("sub/dir/c.yaml")
    assert (config.name, config.output_dir) == ("c", "runs/c")


def test_an_existing_file_is_replaced_only_if_told(here: Path) -> None:
    arguments = ("--languages", "en-de", "--train", "data/train.en,data/train.de")
    (here / "en-de.yaml").write_text("mine")
    assert init(*arguments) == (
        1,
        "",
        "nmt-prep: error: en-de.yaml exists; name another file, or give --force to replace it\n",
    )
    assert (here / "en-de.yaml").read_text() == "mine"
    assert init(*arguments, "--force").returncode == 0
    assert [*splits()] == ["train"]
    (here / "link.yaml").symlink_to("nowhere")
    assert init("link.yaml", *arguments).returncode == 1
    assert init("data", *arguments).stderr == "nmt-prep: error: data is a directory; name the file to write\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the languages are missing: give --languages, such as --languages en-de, or --recipe"),
        (("--languages", "en-de"), "no training corpus is named: give --train, --opus, --mtdata or --recipe"),
        (("--languages", "english-german"), "'english' is not a language tag (did you mean en?); 'german' is not a"),
        (
            ("--languages", "en-de", "--train", "data/train.ne,x"),
            "data/train.ne does not exist; did you mean data/train.en?",
        ),
        (("--languages", "en-de", "--train", "data"), "data is a directory; name a file"),
        (
            ("--languages", "en-de", "--opus", "Europarl"),
            "opus:Europarl: expected <corpus>/<version>, such as opus:Euro",
        ),
        (("--languages", "en-de", "--vocab", "bpe"), "'bpe' is not one of 't2t', 'byte_bpe', 'sentencepiece'"),
        (("--languages", "en-de", "--clean", "hard"), "'hard' is not one of 'none', 'light', 'standard', 'strict'"),
        (("--languages", "en-de", "--size", "0"), "Invalid value for '--size'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ended = init(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert not Path("en-de.yaml").exists()


@pytest.mark.usefixtures("here")
def test_a_config_that_is_not_valid_is_not_written() -> None:
    ended = init("--languages", "en-de", "--opus", "Europarl/v8/en-fr")
    assert ended == (
        1,
        "",
        "nmt-prep: error: opus:Europarl/v8/en-fr is for en-fr, but languages is en-de; correct one of them\n",
    )
    small = init("--languages", "en-de", "--opus", "Europarl/v8", "--vocab", "byte_bpe", "--size", "20")
    assert small.returncode == 1
    assert "size is 20: it must be 258 or more" in small.stderr
    assert not Path("en-de.yaml").exists()


@pytest.mark.usefixtures("here")
def test_extras_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from nmt_prep.cli import init as command

    monkeypatch.setattr(command, "find_spec", lambda _: None)
    arguments = ("--languages", "en-de", "--opus", "Europarl/v8", "--vocab", "sentencepiece", "--clean", "standard")
    assert init(*arguments).stdout.splitlines()[1] == "install first: pip install 'nmt-prep[clean,sentencepiece]'"


@pytest.mark.usefixtures("here")
def test_texts_that_yaml_would_misread() -> None:
    for name in ("no", "x: #y.tsv", "1e5.tsv"):
        Path(name).write_bytes(b"one\teins\n")
    ended = init(
        *("--languages", "no-en", "--output-dir", "12: x", "--name", "1e3"),
        *("--train", "no", "--train", "x: #y.tsv", "--train", "1e5.tsv"),
    )
    assert ended.returncode == 0
    config = load_config("no-en.yaml")
    assert (config.name, config.output_dir, config.languages.source) == ("1e3", "12: x", "no")
    assert [each.url.both for each in config.splits["train"]] == [("no",), ("x: #y.tsv",), ("1e5.tsv",)]
    assert 'languages: {source: "no", target: en}\n' in Path("no-en.yaml").read_text()
