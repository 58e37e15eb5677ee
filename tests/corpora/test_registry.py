from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from nmt_prep.corpora import open_corpus, reader_of, registry
from nmt_prep.corpora.reader import Reader
from tests.corpora.formats.builders import LANGUAGES, corpus, pairs_of


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_built_in_readers(name: str) -> None:
    reader = reader_of(name)
    assert issubclass(reader, Reader)
    assert reader.parts in (("both",), ("source", "target"))


def test_unknown_reader() -> None:
    with pytest.raises(ValueError, match="no reader is named 'klingon'"):
        reader_of("klingon")


def test_the_reader_of_an_installed_package(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Returns the example of docs/formats.md, unchanged."""
    page = (repository / "docs" / "formats.md").read_text(encoding="utf-8")
    [example] = [block for block in page.split("```python\n")[1:] if "class StanzaReader" in block]
    (tmp_path / "stanza_reader.py").write_text(example.partition("```")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("stanzas", "stanza_reader:StanzaReader", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints([entry]).select(**wanted))
    registry._installed.cache_clear()
    try:
        (tmp_path / "a.txt").write_bytes("one\n一\n\ntwo\n二\n".encode())
        described = corpus("tsv").model_copy(update={"format": "stanzas"})
        opened = open_corpus(described, [{"both": tmp_path / "a.txt"}], LANGUAGES)
        assert pairs_of(opened) == [("one", "一"), ("two", "二")]
    finally:
        registry._installed.cache_clear()
        sys.modules.pop("stanza_reader", None)
