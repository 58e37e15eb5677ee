"""Data provenance: signature, versions, config, download digests, licenses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from nmt_prep.base.digests import digest_of
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.corpora.sources.address import shown
from nmt_prep.reporting import Json, corpora
from nmt_prep.reporting.markup import Content, Markup, behind, el, explanation, size, table
from nmt_prep.reporting.report_tables import record_table
from nmt_prep.training.records.dataset_json import DatasetInfo

_LEFT_OUT = {"output_dir", "engine", "download", "extract", "publish", "training"}  # they do not change the data


def shown_config(config: Config) -> dict[str, Any]:
    """Returns the config as JSON values, without defaults and sections that do not change the data.

    Passwords in URLs are hidden.
    """
    values = config.model_dump(mode="json", exclude_defaults=True, by_alias=True, exclude=_LEFT_OUT)
    safe: dict[str, Any] = _without_passwords(values)
    return safe


def shown_settings(config: Config) -> dict[str, object]:
    """Returns the config of :func:`shown_config` by dotted keys, one key for each corpus, without licences."""
    settings: dict[str, object] = {}
    for section, value in shown_config(config).items():
        if section == "splits":
            for split, corpora in value.items():
                settings[f"splits.{split}"] = [corpus["name"] for corpus in corpora]
                for corpus in corpora:
                    options = {key: option for key, option in corpus.items() if key != "licence"}
                    settings[f"splits.{split}.{corpus['name']}"] = options
        elif isinstance(value, dict) and value:
            settings |= {f"{section}.{key}": option for key, option in value.items()}
        else:
            settings[section] = value
    return settings


def _without_passwords(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_passwords(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_passwords(inner) for inner in value]
    return shown(value) if isinstance(value, str) and "://" in value else value


def signature(version: str, config: Config, info: DatasetInfo, downloads: Mapping[str, str]) -> str:
    """Returns a line that identifies a run's data, to compare runs at a glance.

    Digests are cut to 8 hexadecimal digits.
    """
    languages = info.languages
    fields = {"nmt_prep": version, "pair": f"{languages.source}-{languages.target}"}
    for split in config.splits:
        counts = info.splits[split]
        files = sorted(digest for key, digest in downloads.items() if key.split("/", 1)[0] == split)
        fields[split] = f"{counts.pairs}.{_short(files)}"
    cleaning = None if config.clean is None else config.clean.model_dump(mode="json")
    fields["clean"] = "none" if config.clean is None else f"{config.clean.preset}.{_short(cleaning)}"
    sides = (info.vocab.source, info.vocab.target)
    fields["vocab"] = "+".join(dict.fromkeys(f"{side.kind}.{side.size}.{side.sha256[:8]}" for side in sides))
    fields |= {"seed": str(info.seed), "layout": info.layout}
    fields["records"] = _short([shard.sha256 for split in config.splits for shard in info.splits[split].shards])
    return "|".join(f"{name}:{value}" for name, value in fields.items())


def _short(value: object) -> str:
    return digest_of(value)[:8]


def section(summary: Json) -> Iterator[Content]:
    """Yields the section's content."""
    origin = summary["provenance"]
    yield explanation("Two runs with the same signature made the same data.")
    yield el("p", el("code", summary["signature"], class_="signature"))
    licences = [
        (f"{split}/{corpus}", facts["licence"])
        for split, corpus, facts in corpora(summary["corpora"])
        if "licence" in facts
    ]
    if licences:
        yield el("h3", "Licenses")
        yield table(["corpus", "licence"], licences, caption="Licenses that the config states", left=(0, 1))
    yield el("h3", "Input files")
    rows = [
        (file["file"], file["name"], size(file["bytes"]), el("code", file["sha256"], class_="digest"))
        for file in origin["downloads"]
    ]
    yield table(["needed for", "name", "size", "SHA-256"], rows, caption="Input files with their digests", left=(0, 1))
    yield el("h3", "Vocabularies and shards")
    yield record_table(summary).markup()
    made = [(f"vocabulary, {side}", el("code", origin["vocabularies"][side], class_="digest")) for side in SIDES]
    made += [
        (f"{split}, shard {number}", el("code", digest, class_="digest"))
        for split, digests in origin["records"].items()
        for number, digest in enumerate(digests[:20])
    ]
    yield behind(
        "Digests",
        table(["file", "SHA-256"], made, caption="Vocabularies and shards with their digests", left=(0, 1), sort=False),
    )
    yield el("h3", "Config")
    yield explanation("Without defaults, and without sections that do not change the data.")
    text = yaml.safe_dump(origin["config"], allow_unicode=True, sort_keys=False, width=100)
    yield behind("YAML", el("pre", el("code", *_lines(text)), tabindex="0"))
    yield explanation(f"nmt_prep {origin['nmt_prep']}")


def _lines(text: str) -> list[Content]:
    """Returns a text's lines, with line breaks as markup so that they are not shown as control characters."""
    lines: list[Content] = []
    for line in text.rstrip("\n").split("\n"):
        lines += [line, Markup("\n")]
    return lines
