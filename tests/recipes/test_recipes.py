from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep.errors import OutputError
from nmt_prep.recipes import RECIPES
from tests.cli.program import nmt_prep
from tests.outputs.runs import SENTENCEPIECE, run_outputs

OUTPUTS: tuple[dict[str, Any], ...] = (
    {"kind": "marian"},
    {"kind": "fairseq"},
    {"kind": "text", "vocab": ["eole"]},
    {"kind": "huggingface"},
    {"kind": "huggingface", "name": "ids", "rows": "ids"},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run with the outputs of all recipes; its name needs quotes in a shell."""
    place = tmp_path_factory.mktemp("recipes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NMT_PREP_CACHE", str(place / "cache"))
        yield run_outputs(place, *OUTPUTS, run="the run", vocab=SENTENCEPIECE).parent


def file_of(recipe: str, name: str) -> str:
    """Returns the file that a recipe writes."""
    [text] = re.findall(rf"cat >{re.escape(name)} <<'(?:\w+)'\n(.*?)\nEND_OF_", recipe, re.DOTALL)
    return str(text)


def test_marian(run: Path) -> None:
    recipe = RECIPES["marian"](run)
    config = yaml.safe_load(file_of(recipe, "marian.yml"))
    assert [Path(path).name for path in config["vocabs"]] == ["vocab.en.spm", "vocab.zh.spm"]
    assert all(Path(path).exists() for path in config["vocabs"])
    assert ("tied-embeddings" in config, "no-spm-encode" in config) == (True, False)
    joined = next(line for line in recipe.split("\n") if line.endswith(">train.tsv"))
    assert [Path(word).name for word in shlex.split(joined.removesuffix(">train.tsv"))[1:]] == [
        f"train-{n:05d}-of-00003.tsv" for n in range(3)
    ]
    assert recipe.endswith("marian -c marian.yml --devices 0\n")


def test_eole(run: Path) -> None:
    config = yaml.safe_load(file_of(RECIPES["eole"](run), "eole.yml"))
    assert list(config["data"]) == ["train_00000", "train_00001", "train_00002", "valid"]
    paths = [Path(path) for corpus in config["data"].values() for path in corpus.values()]
    assert all(path.exists() for path in [*paths, Path(config["src_vocab"]), Path(config["tgt_vocab"])])
    assert paths[0].name == "train-00000-of-00003.en"
    assert config["share_vocab"] is False


def test_fairseq(run: Path) -> None:
    command = shlex.split(RECIPES["fairseq"](run).partition("\n\n")[2])
    assert command[0] == "fairseq-train"
    assert (Path(command[1]) / "train2.en-zh.zh.idx").exists()
    assert command[command.index("--valid-subset") + 1] == "dev"


@pytest.mark.parametrize(("kind", "name"), [("huggingface", "train_hf.py"), ("pytorch", "train_torch.py")])
def test_scripts_name_what_they_read(run: Path, kind: str, name: str) -> None:
    script = ast.parse(file_of(RECIPES[kind](run), name))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in script.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
    }
    assert (values["SOURCE_SIZE"], values["TARGET_SIZE"], values["SEED"]) == (120, 120, 1)
    if kind == "huggingface":
        assert (values["DATA"], values["PAD"], values["EOS"]) == (str(run / "outputs" / "ids"), 0, 1)
        assert values["HELD_OUT"] == "dev"
    else:
        assert (values["RUN"], values["SOURCE_PAD"], values["TARGET_START"]) == (str(run), 0, 3)


@pytest.mark.parametrize(
    ("kind", "module", "name"),
    [
        ("huggingface", "transformers", "train_hf.py"),
        pytest.param("pytorch", "torch", "train_torch.py", marks=pytest.mark.torch),
    ],
)
@pytest.mark.slow
def test_scripts_train(run: Path, tmp_path: Path, kind: str, module: str, name: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip(module)
    (tmp_path / name).write_text(file_of(RECIPES[kind](run), name))
    small = ["--steps", "3", "--width", "32"]
    repository = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, name, *small], cwd=tmp_path, check=True, timeout=600,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(repository), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (tmp_path / {"huggingface": "hf_model/config.json", "pytorch": "model.pt"}[kind]).exists()


def test_pieces_of_a_shared_model(tmp_path: Path) -> None:
    vocab = {**SENTENCEPIECE, "shared": True}
    outputs = run_outputs(tmp_path, {"kind": "marian", "pieces": True}, vocab=vocab, pairs=30)
    config = yaml.safe_load(file_of(RECIPES["marian"](outputs.parent), "marian.yml"))
    assert [Path(path).name for path in config["vocabs"]] == ["vocab.spm", "vocab.spm"]
    assert (config["tied-embeddings-all"], config["no-spm-encode"]) == (True, True)
    with pytest.raises(OutputError) as caught:
        RECIPES["eole"](outputs.parent)
    assert str(caught.value) == (
        f"{outputs.parent} has no output for this recipe (outputs: marian); add {{kind: text, pieces: true, vocab: "
        "[eole]} to outputs in the config, and run it again"
    )


def test_the_command(run: Path, tmp_path: Path) -> None:
    ended = nmt_prep("recipe", "fairseq", run)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, RECIPES["fairseq"](run), "")
    ended = nmt_prep("recipe", "fairsec", run)
    assert ended.returncode == 2
    assert "there is no recipe 'fairsec'; did you mean fairseq?" in " ".join(ended.stderr.replace("│", "").split())
    ended = nmt_prep("recipe", "marian", tmp_path)
    assert (ended.returncode, "has no output for this recipe (outputs: none); add {kind: marian}" in ended.stderr) == (
        1,
        True,
    )


def test_a_damaged_description(tmp_path: Path) -> None:
    path = tmp_path / "outputs" / "marian" / "output.json"
    path.parent.mkdir(parents=True)
    for content in ("{", "[]", '{"kind": "marian"}'):
        path.write_text(content)
        with pytest.raises(OutputError, match="not the description of an output"):
            RECIPES["marian"](tmp_path)
