"""Provenance: signature, versions, config, digests of downloads, licences."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from nmt_prep.reporting.markup import Content, Markup, behind, el, size, table
from nmt_prep.reporting.summary import Json, corpora
from nmt_prep.reporting.tables import record_table
from nmt_prep.sides import SIDES

TITLE = "Provenance"


def section(summary: Json) -> Iterator[Content]:
    """Yields the content of the section."""
    origin = summary["provenance"]
    yield el("p", "Two runs with the same signature made the same data.", class_="how")
    yield el("p", el("code", summary["signature"], class_="signature"))
    licences = [
        (f"{split}/{corpus}", facts["licence"])
        for split, corpus, facts in corpora(summary["corpora"])
        if "licence" in facts
    ]
    if licences:
        yield el("h3", "Licences")
        yield table(["corpus", "licence"], licences, caption="Licences that the config states", left=(0, 1))
    yield el("h3", "Files that were read")
    rows = [
        (file["file"], file["name"], size(file["bytes"]), el("code", file["sha256"], class_="digest"))
        for file in origin["downloads"]
    ]
    yield table(
        ["needed for", "name", "size", "SHA-256"], rows, caption="Files that were read, with digests", left=(0, 1)
    )
    yield el("h3", "Vocabularies and shards")
    yield record_table(summary).markup()
    made = [(f"vocabulary, {side}", el("code", origin["vocabularies"][side], class_="digest")) for side in SIDES]
    made += [
        (f"{split}, shard {number}", el("code", digest, class_="digest"))
        for split, digests in origin["records"].items()
        for number, digest in enumerate(digests[:20])
    ]
    yield behind(
        "Digests", table(["file", "SHA-256"], made, caption="Digests of what was made", left=(0, 1), sort=False)
    )
    yield el("h3", "Config")
    yield el("p", "Without defaults, and without sections that do not change the data.", class_="how")
    text = yaml.safe_dump(origin["config"], allow_unicode=True, sort_keys=False, width=100)
    yield behind("YAML", el("pre", el("code", *_lines(text)), tabindex="0"))
    yield el("p", f"nmt_prep {origin['nmt_prep']}", class_="how")


def _lines(text: str) -> list[Content]:
    """Returns the lines of a text, with line breaks as markup so that they are not shown as control characters."""
    lines: list[Content] = []
    for line in text.rstrip("\n").split("\n"):
        lines += [line, Markup("\n")]
    return lines
