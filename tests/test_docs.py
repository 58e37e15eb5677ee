"""What the pages on corpora show is a config."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from nmt_prep.config import Download, PublishSettings
from nmt_prep.config.file import check_config

DOCS = Path(__file__).resolve().parent.parent / "docs"
EXTRAS = ("mtdata:", "sacrebleu:")  # ids that only an extra understands


def blocks(page: str) -> list[Any]:
    texts = re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    return [yaml.safe_load(_whole(text)) for text in texts]


def _whole(text: str) -> str:
    """A list of corpora with what stands above it in a config."""
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


@pytest.mark.parametrize(("page", "count"), [("formats.md", 14), ("corpora.md", 4)])
def test_every_corpus_is_accepted(page: str, count: int) -> None:
    shown = corpora(page)
    assert len(shown) == count
    for corpus in shown:
        config(corpus)


def test_the_publish_section_shows_the_defaults() -> None:
    [shown] = [block["publish"] for block in blocks("publishing.md")]
    assert config(publish=shown).publish == PublishSettings(url="s3://bucket/enzh")
    assert set(shown) == set(PublishSettings.model_fields)


def test_the_download_section_shows_the_defaults() -> None:
    [shown] = [block["download"] for block in blocks("corpora.md") if "download" in block]
    assert config(download=shown).download == Download()
    assert set(shown) == set(Download.model_fields)
