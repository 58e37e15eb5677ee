from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace

import make_site_pages
import pytest
import site_hooks
import yaml
from make_site_pages import BrokenLinkError, documented, listing, listing_anchor, navigation, relinked

import nmt_prep
import nmt_prep.base.errors
import nmt_prep.subwords
from tests.conftest import REPOSITORY

TARGETS = {
    "README.md": "index.md",
    "docs/input.md": "input.md",
    "configs": "configs.md",
    "configs/toy.yaml": "configs.md#toyyaml",
}


def test_every_public_name_has_a_page() -> None:
    subwords = [name for name in nmt_prep.subwords.__all__ if name not in nmt_prep.__all__]
    public = {f"nmt_prep.{name}" for name in nmt_prep.__all__} | {f"nmt_prep.subwords.{name}" for name in subwords}
    assert public - set(documented()) == {"nmt_prep.NmtPrepError"}
    assert "nmt_prep.base.errors" in documented()  # a page for all errors


def test_every_note_belongs_to_a_name_with_a_page() -> None:
    assert set(make_site_pages.NOTES) <= set(documented())


def test_every_error_is_shown() -> None:
    kinds = [kind for _, kind in inspect.getmembers(nmt_prep.base.errors, inspect.isclass)]
    errors = [kind for kind in kinds if issubclass(kind, nmt_prep.NmtPrepError)]
    assert nmt_prep.base.errors.CorpusError in errors
    assert [kind.__name__ for kind in errors if not kind.__doc__] == []  # objects without a docstring are left out


def test_every_page_is_in_the_navigation_once_and_links_are_valid() -> None:
    assert sorted(navigation()) == sorted(make_site_pages.pages())


def test_the_site_loads_nothing_from_elsewhere() -> None:
    config = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text("utf-8"))
    assert config["theme"]["font"] is False
    assert [text for text in make_site_pages.pages().values() if "```mermaid" in text] == []


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("README.md", "[a](docs/input.md#fields) [b](configs)", "[a](input.md#fields) [b](configs.md)"),
        ("docs/input.md", "see [c](../configs/toy.yaml).", "see [c](configs.md#toyyaml)."),
        ("docs/input.md", "[c](../mkdocs.yml#L3), [`d`](../.ci/run)", "`c`, `d`"),
        ("docs/input.md", "[d](#here) [e](https://a.example/b.md)", "[d](#here) [e](https://a.example/b.md)"),
        ("README.md", '<img src="docs/pictures/try-dark.png">', '<img src="pictures/try-dark.png">'),
        ("docs/input.md", '<source srcset="pictures/try-dark.png">', '<source srcset="pictures/try-dark.png">'),
        ("README.md", "```\n[f](no.md)\n```\n[g](README.md)", "```\n[f](no.md)\n```\n[g](index.md)"),
    ],
)
def test_links(source: str, text: str, expected: str) -> None:
    assert relinked(source, text, TARGETS) == expected


def test_a_broken_link_is_refused() -> None:
    with pytest.raises(BrokenLinkError, match=r"^docs/input\.md links to other\.md, which does not exist$"):
        relinked("docs/input.md", "[x](other.md)", TARGETS)
    with pytest.raises(BrokenLinkError, match=r"^README\.md shows the picture no\.png, which does not exist$"):
        relinked("README.md", '<img src="docs/pictures/no.png">', TARGETS)


def test_a_listing_shows_whole_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\n")
    (tmp_path / "LICENSE").write_text("Free.\n")
    assert listing("Files", [tmp_path / "LICENSE", tmp_path / "a.yaml"]) == (
        "# Files\n\n## LICENSE\n\n```text\nFree.\n```\n\n## a.yaml\n\n```yaml\nname: a\n```\n"
    )
    assert listing_anchor("toy-byte-bpe.yaml") == "toy-byte-bpeyaml"


@pytest.mark.parametrize(
    ("site_url", "picture"),
    [(None, "../pictures/social.png"), ("https://a.example/nmt/", "https://a.example/nmt/pictures/social.png")],
)
def test_a_page_shows_the_version_and_names_the_preview_picture(site_url: str | None, picture: str) -> None:
    config = SimpleNamespace(site_name="nmt_prep", site_url=site_url, site_description="Pairs")
    assert site_hooks.on_config(config).site_name == f"nmt_prep {nmt_prep.__version__}"
    page = SimpleNamespace(title="A & b", url="api/a.html")
    assert site_hooks.on_post_page("<head></head>", page, config) == (
        '<head><meta property="og:title" content="A &amp; b">\n<meta property="og:description" content="Pairs">\n'
        f'<meta property="og:image" content="{picture}">\n'
        '<meta name="twitter:card" content="summary_large_image">\n</head>'
    )
    assert (REPOSITORY / "docs" / site_hooks.PICTURE).stat().st_size <= 150_000
