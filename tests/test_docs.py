"""The configs and the code that the docs show are valid."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any, get_args

import pytest
import yaml

from nmt_prep import stages
from nmt_prep.base.progress import Progress
from nmt_prep.cli.app import COMMANDS
from nmt_prep.config import DownloadSettings, PublishSettings
from nmt_prep.config.vocab import DialectName
from nmt_prep.corpora import registry as readers
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.runs.checks import check_config
from nmt_prep.stages.publish.publish_stage import published
from nmt_prep.subwords import DIALECTS
from nmt_prep.training.modifiers import registry as modifiers
from nmt_prep.training.outputs import KINDS
from tests.cli.program import nmt_prep
from tests.corpus import corpus_config, write_config, write_corpus

DOCS = Path(__file__).resolve().parent.parent / "docs"
EXTRAS = ("mtdata:", "sacrebleu:")  # IDs that need an extra


def blocks(page: str) -> list[Any]:
    texts = re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    return [yaml.safe_load(_whole(text)) for text in texts]


def _whole(text: str) -> str:
    """Returns a config with a list of corpora."""
    if re.match(r"(\s*#.*\n)*\s*- ", text) is None:
        return text
    return "splits:\n  train:\n" + (text if text.startswith(" ") else indent(text, "    "))


def corpora(page: str) -> list[dict[str, Any]]:
    splits = [block["splits"] for block in blocks(page) if "splits" in block]
    found = [corpus for split in splits for corpora in split.values() for corpus in corpora]
    return [corpus for corpus in found if not str(corpus["url"]).startswith(EXTRAS)]


def config(*train: dict[str, Any], **more: Any) -> Any:
    base = {"name": "t", "languages": {"source": "en", "target": "zh"}, "output_dir": "run", "seed": 1}
    return check_config({**base, "splits": {"train": [*train, {"name": "z", "url": "z.tsv"}]}, **more}, "docs")


@pytest.mark.parametrize(
    ("page", "form", "names"),
    [
        ("formats.md", "`{}`", [*readers.BUILT_IN]),
        ("vocabularies.md", "| `{}` |", [dialect.kind for dialect in DIALECTS]),
        ("outputs.md", "## {}\n", [kind.kind for kind in KINDS]),
        ("training.md", "| `{}` |", [*modifiers.BUILT_IN]),
        ("design.md", "| `{}` |", [stage.name for stage in stages.STAGES]),
    ],
)
def test_a_page_names_all_that_is_built_in(page: str, form: str, names: list[str]) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert [name for name in names if form.format(name) not in text] == []


def test_the_config_reference_names_all_formats_and_dialects() -> None:
    page, kinds = (DOCS / "config.md").read_text("utf-8"), get_args(DialectName)
    assert f"| {', '.join(readers.BUILT_IN)}, or the name of an installed reader |" in page
    assert {*kinds} == {dialect.kind for dialect in DIALECTS}
    assert f"| {', '.join(kinds[:-1])} or {kinds[-1]} |" in page


def test_the_publish_section_shows_the_defaults() -> None:
    shown, hub = [block["publish"] for block in blocks("publishing.md")]
    assert config(publish=hub).publish == PublishSettings(url="hf://datasets/owner/name")
    defaults, found = PublishSettings(url="s3://bucket/enzh"), config(publish=shown).publish
    assert published(config(publish=shown)) == published(config(publish={"url": "s3://bucket/enzh"}))
    assert found.model_copy(update={"stages": None}) == defaults
    assert set(shown) == set(PublishSettings.model_fields)


def test_the_download_section_shows_the_defaults() -> None:
    [shown] = [block["download"] for block in blocks("corpora.md") if "download" in block]
    assert config(download=shown).download == DownloadSettings()
    assert set(shown) == set(DownloadSettings.model_fields)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md"])
def test_paths_and_names_that_a_page_mentions_exist(page: str) -> None:
    words = re.findall(
        r"`([^`\s]+)`", re.sub(r"```.*?```", "", (DOCS.parent / page).read_text("utf-8"), flags=re.DOTALL)
    )
    paths = {word for word in words if re.fullmatch(r"(nmt_prep|tests|scripts|docs|configs|benchmarks)/[\w./-]+", word)}
    assert {path for path in paths if not (DOCS.parent / path).exists()} == set()
    names = {word for word in words if re.fullmatch(r"nmt_prep(\.\w+)+", word)}
    assert len(paths) + len(names) > 5
    for name in names - {"nmt_prep.torch.Batches"}:  # tests/training/torch has PyTorch
        pkgutil.resolve_name(name)


def code_of(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_alignment_of_the_docs() -> None:
    [code] = code_of(DOCS / "alignment.md", "python")
    shown: list[Any] = []
    names: dict[str, Any] = {"shown": shown}
    exec(re.sub(r"^(model\.(?:align|score).*?)(?:  #.*)?$", r"shown.append(\1)", code, flags=re.MULTILINE), names)
    links, scores = shown
    assert links == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0], [1, 1]]
    assert scores.shape == (3,)


@pytest.mark.slow
def test_the_loop_of_the_page_on_monolingual_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [(f"w{n}", f"v{n}") for n in range(12)]
    pairs = [tuple(" ".join(word[side] for word in words[n : n + 4]) for side in (0, 1)) for n in range(8)]
    mono = [" ".join(word[side] for word in words[n : n + 2]) for side in (0, 1) for n in range(3, 8)]
    texts = {"news.en": [source for source, _ in pairs], "news.de": [target for _, target in pairs]}
    texts |= {"mono.en": mono[:5], "mono.de": [*mono[5:], pairs[0][1]]}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    shutil.copy(DOCS / "examples" / "toy_translator.py", tmp_path)
    page = DOCS / "monolingual.md"
    config = next(code for code in code_of(page, "yaml") if "name: loop" in code)
    (tmp_path / "loop.yaml").write_text(config.replace("preset: standard", "preset: none, dedup: {pair: exact}"))
    (tmp_path / "nmt-prep").write_text(f'#!/bin/sh\nexec {sys.executable} -m nmt_prep "$@"\n')
    (tmp_path / "nmt-prep").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    learn, _, loop = code_of(page, "sh")
    ended = subprocess.run(
        ["sh", "-e"], input=f"{learn}\n{loop}", text=True, cwd=tmp_path, check=False, capture_output=True
    )
    assert ended.returncode == 0, ended.stderr
    source, target = ((tmp_path / f"pairs.{side}").read_text().splitlines() for side in ("en", "de"))
    assert {*zip(source, target, strict=True)} == {*pairs, *zip(mono[:5], mono[5:], strict=True)}


def test_lines_of_commands_in_readme_begin_with_a_command() -> None:
    lines = [line.split() for code in code_of(DOCS.parent / "README.md", "sh") for line in code.splitlines()]
    assert {words[0] for words in lines} == {"./scripts/run", "./scripts/test", "nmt-prep"}
    assert {words[1] for words in lines if words[0] == "nmt-prep"} <= COMMANDS.keys()


def test_the_stage_of_the_contributing_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    [code] = [block for block in guide.split("```python\n")[1:] if "class Longest(" in block]
    (tmp_path / "longest_stage.py").write_text(code.partition("```")[0], "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "longest_stage", raising=False)
    longest = importlib.import_module("longest_stage").Longest()
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run")
    pipeline = Pipeline((stages.Download(), stages.Extract(), stages.Compile(), longest), config, Progress())
    pipeline.run(LocalEngine(2))
    expected = {"dev": 48, "train": 54}
    assert json.loads((tmp_path / "run/longest/longest.json").read_bytes()) == expected
    manifest = read_manifest(Workspace(tmp_path / "run").manifest("longest"))
    assert manifest is not None
    assert manifest.details == {"characters": expected}
    assert [step.reason for step in pipeline.plan() if step.stage == "longest"] == ["nothing changed"]


def test_the_command_of_the_contributing_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    [code] = [block for block in guide.split("```python\n")[1:] if "def pairs(" in block]
    (tmp_path / "pairs_command.py").write_text(code.partition("```")[0], "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "pairs", importlib.import_module("pairs_command"))
    config = write_config(tmp_path, pairs=30)
    assert nmt_prep("run", config, "--quiet").returncode == 0
    assert [line.split() for line in nmt_prep("pairs", config).stdout.splitlines()] == [
        ["split", "pairs"],
        ["dev", "20"],
        ["train", "30"],
    ]
