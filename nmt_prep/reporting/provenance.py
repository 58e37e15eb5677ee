"""Provenance of the data of a run: config, versions, digests, and the signature of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nmt_prep.config import Config
from nmt_prep.digests import digest_of
from nmt_prep.records import DatasetInfo
from nmt_prep.sources.address import shown

_LEFT_OUT = {"output_dir", "engine", "download", "extract", "publish"}
"""Sections of the config that do not change the data."""


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
        elif isinstance(value, dict):
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
    """Returns a line that identifies the data of a run, for two people to compare.

    Digests are cut to 8 hexadecimal digits.

    Args:
        version: version of nmt_prep.
        config: the config.
        info: content of ``dataset.json``.
        downloads: SHA-256 of each file that was read, by key.
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
