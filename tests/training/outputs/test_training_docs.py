"""The examples of docs/outputs.md that train on a run name its files and vocabularies as a run writes them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corpus import lines_of
from tests.training.outputs.runs import run_outputs

ROOT = Path(__file__).resolve().parents[3]
SECTION = (ROOT / "docs/outputs.md").read_text("utf-8").partition("\n## Training\n")[2].partition("\n## ")[0]
[CONFIG] = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL))
EXAMPLES = (ROOT / f"docs/examples/train_{name}.yaml" for name in ("marian", "eole", "joeynmt"))
MARIAN, EOLE, JOEY = (yaml.safe_load(path.read_text("utf-8")) for path in EXAMPLES)
MARIAN_COMMANDS, _, FAIRSEQ_COMMAND = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with the run of the examples, ``runs/ende``."""
    place = tmp_path_factory.mktemp("training")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NMT_PREP_CACHE", str(place / "cache"))
        vocab = {**CONFIG["vocab"], "size": 120, "model_type": "bpe"}
        run_outputs(place, *CONFIG["outputs"], run="runs/ende", vocab=vocab, languages={"source": "en", "target": "de"})
    return place


def paths_in(value: Any) -> Iterator[str]:
    """Yields the paths below ``runs/ende`` that an example names."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from paths_in(inner)
    elif str(value).startswith("runs/ende/"):
        yield str(value)


def test_marian(place: Path) -> None:
    assert [*paths_in(MARIAN)] == [f"runs/ende/outputs/marian/vocab.{side}.spm" for side in ("en", "de")]
    assert all((place / path).exists() for path in paths_in(MARIAN))
    prepare, _, train = MARIAN_COMMANDS.strip().rpartition("\n")
    assert train == "marian -c docs/examples/train_marian.yaml --devices 0"
    subprocess.run(["bash", "-euc", prepare], cwd=place, check=True)
    assert [len(lines_of(place / file)) for file in (*MARIAN["train-sets"], *MARIAN["valid-sets"])] == [60, 20]
    assert {line.count("\t") for line in lines_of(place / "valid.tsv")} == {1}
    assert (place / MARIAN["model"]).parent.is_dir()


def test_eole(place: Path) -> None:
    paths = [*paths_in(EOLE)]
    assert len(paths) == 6
    assert all((place / path).exists() for path in paths)
    for name, corpus in EOLE["data"].items():
        pairs = {"train": 60, "valid": 20}[name]
        assert [len(lines_of(place / corpus[side])) for side in ("path_src", "path_tgt")] == [pairs] * 2


def test_joeynmt(place: Path) -> None:
    data = JOEY["data"]
    for (split, pairs), (side, vocab) in product((("train", 60), ("dev", 20)), (("src", "en"), ("trg", "de"))):
        assert len(lines_of(place / f"{data[split]}.{data[side]['lang']}")) == pairs
        assert data[side]["voc_file"] == f"runs/ende/outputs/text/vocab.joey.{vocab}"
        assert (place / data[side]["voc_file"]).exists()


def test_fairseq(place: Path) -> None:
    program, directory, *options = shlex.split(FAIRSEQ_COMMAND.replace("\\\n", ""))
    assert (program, options[::2][:2], options[1::2][:2]) == (
        *("fairseq-train", ["--source-lang", "--target-lang"], ["en", "de"]),
    )
    for split in ("train", "train2", options[options.index("--valid-subset") + 1]):
        assert (place / directory / f"{split}.en-de.de.idx").exists()


def test_the_example_for_transformers_reads_keys_of_the_output(place: Path) -> None:
    text = (ROOT / "docs/examples/train_huggingface.py").read_text("utf-8")
    facts = json.loads((place / "runs/ende/outputs/huggingface/output.json").read_bytes())
    used = set(re.findall(r'_vocab\["(\w+)"\]', text))
    assert used == {"eos_id", "file", "pad_id", "size"}
    assert all(used <= set(facts["vocab"][side]) for side in ("source", "target"))
    assert (facts["seed"], [*facts["splits"]]) == (1, ["dev", "train"])


@pytest.mark.parametrize(
    ("module", "data", "made"),
    [
        ("transformers", "runs/ende/outputs/huggingface", "hf_model/config.json"),
        pytest.param("torch", "runs/ende", "model.pt", marks=pytest.mark.torch),
    ],
)
@pytest.mark.slow
def test_the_examples_train(place: Path, module: str, data: str, made: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip(module)
    script = ROOT / "docs/examples" / {"transformers": "train_huggingface.py", "torch": "train_pytorch.py"}[module]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HOME": str(place)}
    command = [sys.executable, str(script), data, "--steps", "3", "--width", "32"]
    subprocess.run(command, cwd=place, check=True, timeout=600, env=environment)
    assert (place / made).exists()
