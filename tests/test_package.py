from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import nmt_prep


def python(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_importing_does_not_load_tensorflow() -> None:
    program = (
        "import sys, nmt_prep.cli.app; print(sorted({'tensorflow', 'pyarrow', 'sentencepiece'} & set(sys.modules)));"
        "import nmt_prep.training.records, nmt_prep.runs.runner, nmt_prep.subwords; print('tensorflow' in sys.modules)"
    )
    assert python(program) == "[]\nFalse\n"


def test_exactly_the_public_names_exist() -> None:
    for name in nmt_prep.__all__:
        if name not in ("BatchedInput", "get_infer_iterator", "get_iterator", "make_dataset"):
            assert getattr(nmt_prep, name) is not None
    assert set(nmt_prep.__all__) <= set(dir(nmt_prep))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nmt_prep.nothing


def test_without_tensorflow_or_torch_the_loaders_say_how_to_install_them() -> None:
    program = """
import sys
sys.modules["tensorflow"] = sys.modules["torch"] = None
import nmt_prep
for name in ("make_dataset", "get_iterator", "get_infer_iterator", "BatchedInput", "torch"):
    try:
        exec(f"from nmt_prep import {name}")
    except ImportError as error:
        print(type(error).__name__, error)
"""
    needs = "MissingPackageError {} needs {}: pip install '.[{}]' in a checkout of nmt_prep\n"
    loaders = needs.format("the loader for TensorFlow", *["tensorflow"] * 2) * 4
    assert python(program) == loaders + needs.format("nmt_prep.torch", *["torch"] * 2)


def test_without_sentencepiece_a_config_that_trains_with_it_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (repository / "configs" / "toy-sentencepiece.yaml").read_text()
    path = tmp_path / "config.yaml"
    path.write_text(config.replace("model_type: unigram", "options: {split_by_whitespace: false}"))
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(nmt_prep.NmtPrepError) as error:
        nmt_prep.load_config(path)
    assert str(error.value).endswith(
        "  vocab (line 17): training a SentencePiece unigram model with split_by_whitespace: false needs "
        "sentencepiece: pip install '.[sentencepiece]' in a checkout of nmt_prep"
    )


def test_imports_inside_functions_only_delay_heavy_libraries(repository: Path) -> None:
    heavy = re.compile(
        r"\(.*\b(all rules|dask|jinja2|langcodes|numpy|pyarrow|pydantic|requests|sentencepiece|typer|yaml)\b.*\)"
    )
    lines = [line for path in (repository / "nmt_prep").rglob("*.py") for line in path.read_text("utf-8").split("\n")]
    delayed = [line.partition("PLC0415")[2] for line in lines if "noqa: PLC0415" in line]
    assert delayed
    assert [comment for comment in delayed if not heavy.search(comment)] == []


def public_names(repository: Path) -> dict[str, set[str]]:
    """Returns the names that docs/api.md lists, by module."""
    names: dict[str, set[str]] = {}
    page = (repository / "docs" / "api.md").read_text("utf-8")
    for module, listed in re.findall(r"^\| `([\w.]+)` \| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE):
        names.setdefault(module, set()).update(re.findall(r"`(\w+)`", listed))
    return names


def test_the_page_of_public_names_lists_what_there_is(repository: Path) -> None:
    names = public_names(repository)
    assert names["nmt_prep"] == set(nmt_prep.__all__)
    for module, listed in names.items():
        if module.endswith((".torch", ".tensorflow")) and find_spec(module.rpartition(".")[2]) is None:
            continue
        if module != "nmt_prep":
            loaded = importlib.import_module(module)
            assert [name for name in sorted(listed) if not hasattr(loaded, name)] == []


def test_pages_for_users_import_public_names_only(repository: Path) -> None:
    names = public_names(repository)
    for page in [repository / "README.md", *(repository / "docs").glob("*.md")]:
        for module, listed in re.findall(
            r"^from (nmt_prep[\w.]*) import ([\w, ]+)$", page.read_text("utf-8"), re.MULTILINE
        ):
            if page.name != "design.md":
                assert (page.name, {*listed.split(", ")} - names.get(module, set())) == (page.name, set())
