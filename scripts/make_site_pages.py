"""Collects the pages of the documentation site in a directory, where mkdocs.yml finds them.

Pages of the repository are copied, and links between them become links within the site. Example configs and code become
pages. ``api/NAME.md`` is created for each such name in the navigation of mkdocs.yml.
"""

from __future__ import annotations

import argparse
import os.path
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "data/README.md": "data.md",
    **{f"docs/{path.name}": path.name for path in (REPOSITORY / "docs").glob("*.md")},
}
"""Markdown files of the repository by path, and their pages in the site."""

LISTINGS = {
    "configs.md": ("Example configs", "configs", "*.yaml"),
    "examples.md": ("Example code", "docs/examples", "*.*"),
    "license.md": ("License", ".", "LICENSE"),
}
"""Pages that show whole files: title, directory, and pattern of the file names."""

NOTES = {
    "nmt_prep.Config": "The [config reference](../config.md) lists all keys.",
    "nmt_prep.corpora.Reader": "How to write one: [a reader of your own](../formats.md#a-reader-of-your-own).",
    "nmt_prep.make_dataset": "[Batches](../input.md) explains the options.",
    "nmt_prep.read_records": "[Batches](../input.md) explains the options.",
    "nmt_prep.torch.Batches": "[PyTorch](../pytorch.md) shows how to use it.",
}
"""Text at the end of the pages of some public names."""

REPORTS = """
## Examples

The reports of two example configs: [the toy corpus](toy-report.html), and
[the toy corpus beside a dirty one, cleaned](toy-clean-report.html).
"""
"""Text at the end of the page on the report. ``scripts/docs`` makes the reports."""

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)(?:#(?P<anchor>[^)\s]*))?\)")
_PICTURE = re.compile(r'(?P<key>src|srcset)="(?:docs/)?pictures/(?P<name>[^"]+)"')
_FENCE = re.compile(r"^ *```")
_CSS = """\
.md-grid { max-width: 82rem; }
.md-typeset table:not([class]) { font-size: .66rem; }
.md-typeset table:not([class]) th { min-width: 3rem; }
.md-typeset table:not([class]) td:first-child code { white-space: nowrap; }
.md-typeset table:not([class]) thead:not(:has(th)) { display: none; }
.md-typeset pre > code { font-size: .6rem; }
.md-typeset :is(p, li, td) a { text-decoration: underline; }
[data-md-color-scheme=default] { --md-default-fg-color--light: #595959; }
[data-md-color-scheme=slate] { --md-code-hl-number-color: #f39a8f; --md-code-hl-constant-color: #b0a4f5; }
[data-md-color-scheme=slate][data-md-color-primary] { --md-typeset-a-color: #8ab0fa; }
.md-copyright { color: #aaa; }
"""
_SCRIPT = """\
// What axe-core misses in the theme: the search has a name, the keyboard reaches what scrolls, empty table headers are
// cells, and the copy buttons of code blocks are no landmarks.
document$.subscribe(() => {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
  for (const cell of document.querySelectorAll("th:empty")) cell.outerHTML = "<td></td>";
});
new MutationObserver(() => {
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) buttons.setAttribute("role", "none");
  for (const box of document.querySelectorAll("pre > code, .md-typeset__scrollwrap"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}).observe(document.body, {childList: true, subtree: true});
"""


class BrokenLinkError(Exception):
    """A page links to a path that does not exist in the repository."""


def listing_anchor(name: str) -> str:
    """Returns the fragment of a file's heading in a listing."""
    return re.sub(r"[^a-z0-9_-]", "", name.lower())


def site_targets() -> dict[str, str]:
    """Returns the location in the site of each path of the repository: a page, or a heading of one."""
    targets = dict(PAGES)
    for page, (_, folder, pattern) in LISTINGS.items():
        targets[folder] = page
        for path in (REPOSITORY / folder).glob(pattern):
            targets[os.path.normpath(f"{folder}/{path.name}")] = f"{page}#{listing_anchor(path.name)}"
    return targets


def relinked(source: str, text: str, targets: dict[str, str]) -> str:
    """Returns a page with links to paths of the repository turned into links to pages and pictures of the site.

    Links to files that are not in the site, such as source code, are replaced by their text.

    Args:
        source: the page's path in the repository.
        text: its Markdown.
        targets: as from :func:`site_targets`.

    Raises:
        BrokenLinkError: a link has no target.
    """

    def link(match: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(source), match["path"]))  # noqa: PTH118, PTH120 - no files
        if path not in targets:
            if not (REPOSITORY / path).exists():
                raise BrokenLinkError(f"{source} links to {match['path']}, which does not exist")
            return match["text"] if match["text"].startswith("`") else f"`{match['text']}`"
        page, _, heading = targets[path].partition("#")
        anchor = match["anchor"] or heading
        return f"[{match['text']}]({page}#{anchor})" if anchor else f"[{match['text']}]({page})"

    def picture(match: re.Match[str]) -> str:
        if not (REPOSITORY / "docs" / "pictures" / match["name"]).exists():
            raise BrokenLinkError(f"{source} shows the picture {match['name']}, which does not exist")
        return f'{match["key"]}="pictures/{match["name"]}"'

    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        lines.append(line if fenced else _PICTURE.sub(picture, _LINK.sub(link, line)))
    return "\n".join(lines)


def listing(title: str, paths: list[Path]) -> str:
    """Returns a page that shows files, each below its name."""
    language = {".yaml": "yaml", ".py": "python"}
    parts = [f"# {title}\n"]
    for path in paths:
        text = path.read_text("utf-8").rstrip("\n")
        parts.append(f"## {path.name}\n\n```{language.get(path.suffix, 'text')}\n{text}\n```\n")
    return "\n".join(parts)


def navigation(node: Any = None) -> Iterator[str]:
    """Yields the pages that the navigation of mkdocs.yml lists, in order."""
    if node is None:
        node = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text("utf-8"))["nav"]
    if isinstance(node, str):
        yield node
    else:
        for child in node.values() if isinstance(node, dict) else node:
            yield from navigation(child)


def documented() -> list[str]:
    """Returns the public names that have an API page, with their modules."""
    return [page.removeprefix("api/").removesuffix(".md") for page in navigation() if page.startswith("api/")]


def pages() -> dict[str, str]:
    """Returns the Markdown of all pages of the site, by their paths."""
    targets = site_targets()
    texts = {page: relinked(path, (REPOSITORY / path).read_text("utf-8"), targets) for path, page in PAGES.items()}
    texts["report.md"] += REPORTS
    for page, (title, folder, pattern) in LISTINGS.items():
        texts[page] = listing(title, sorted((REPOSITORY / folder).glob(pattern)))
    return texts | {f"api/{name}.md": f"::: {name}\n\n{NOTES.get(name, '')}\n" for name in documented()}


def main() -> int:
    """Writes the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="directory to write to; its old content is removed first")
    output = parser.parse_args().output
    try:
        texts = pages()
    except BrokenLinkError as error:
        print(f"make_site_pages: {error}", file=sys.stderr)
        return 1
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(REPOSITORY / "docs" / "pictures", output / "pictures")
    for page, text in {**texts, "site.css": _CSS, "site.js": _SCRIPT}.items():
        path = output / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
