"""The layout of a run's directory, and a stage's manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from posixpath import normpath
from typing import Any, Self

from nmt_prep.base.artefacts import as_json, parse_json, parse_json_as, write_json
from nmt_prep.base.digests import digest_of
from nmt_prep.base.errors import OutputError


@dataclass(frozen=True)
class Workspace:
    """A run's directory."""

    root: Path

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Returns the directory of a new or existing run."""
        root = directory.absolute()
        try:
            str(root).encode("utf-8")
        except UnicodeEncodeError:
            raise OutputError(
                f"the path of the output directory, {root}, is not UTF-8, which Arrow and TensorFlow cannot "
                "open; rename the directory, or set output_dir to another path"
            ) from None
        return cls(root)

    @property
    def private(self) -> Path:
        """Directory for nmt_prep's own use: manifests, the lock, and drafts of stages."""
        return self.root / ".nmt_prep"

    def manifest(self, stage: str) -> Path:
        return self.private / "manifests" / f"{stage}.json"

    def file(self, directory: str, name: str) -> Path:
        return self.root / normpath(f"{directory}/{name}")


@dataclass(frozen=True)
class Counts:
    """Counts of a stage: input and output pairs, dropped pairs by reason, and others by name."""

    pairs_in: int | None = None
    pairs_out: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    other: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """Records a stage's inputs, and the files that it wrote.

    ``observed`` describes the data for people. It is not part of ``output_digest``, so stages that do not read it are
    not rebuilt when a stage observes more than before.
    """

    stage: str
    version: int
    fingerprint: str
    settings: Mapping[str, object]
    inputs: Mapping[str, str]
    files: Mapping[str, str]
    counts: Counts
    details: Mapping[str, Any]
    observed: Mapping[str, Any] = field(default_factory=dict)

    def files_in(self, directory: str = "") -> list[str]:
        """Returns the names of the files in the stage's directory, or in one beside it, relative to that directory.

        In ``files``, the key for a file in a directory ``rejected`` beside the stage's own begins with
        ``../rejected/``.
        """
        if directory:
            prefix = f"../{directory}/"
            return [name.removeprefix(prefix) for name in self.files if name.startswith(prefix)]
        return [name for name in self.files if not name.startswith("../")]

    @cached_property
    def output_digest(self) -> str:
        """Returns a digest of everything that later stages read from this one: files in its directory, and details."""
        return digest_of([{name: self.files[name] for name in self.files_in()}, dict(self.details)])

    @cached_property
    def observed_digest(self) -> str:
        """Returns a digest of the output and of the stage's observations."""
        return digest_of([self.output_digest, dict(self.observed)]) if self.observed else self.output_digest

    def write(self, path: Path) -> None:
        """Writes the manifest, which completes the stage."""
        write_json(path, as_json(self), compact=True)


def read_manifest(path: Path) -> Manifest | None:
    """Reads a manifest; returns None if there is none."""
    try:
        return parse_json_as(Manifest, parse_json(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} is not a valid manifest ({error}); delete it to run its stage again") from error


def differences(
    manifest: Manifest, version: int, settings: Mapping[str, object], inputs: Mapping[str, str]
) -> list[str]:
    """Describes each change since the manifest was written that makes the stage's output outdated."""
    reasons = []
    if manifest.version != version:
        reasons.append(f"nmt_prep makes version {version} of this stage, not {manifest.version}")
    before, now = dict(manifest.settings), json.loads(json.dumps(settings))
    changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    reasons.extend(dict.fromkeys(change for key in changed for change in _setting_changes(key, before, now)))
    reasons.extend(
        _input_change(name, manifest.inputs, inputs)
        for name in sorted(manifest.inputs.keys() | inputs.keys())
        if manifest.inputs.get(name) != inputs.get(name)
    )
    return reasons


def _setting_changes(key: str, before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    """Describes a changed setting, or the whole section (such as a corpus) if all its settings came or went."""
    section = key.rpartition(".")[0]
    if section:
        for side, word in ((before, "is new"), (now, "is gone")):
            if not any(other.startswith(f"{section}.") for other in side):
                yield f"config {section} {word}"
                return
    yield from _value_changes(key, before.get(key), now.get(key))


def _value_changes(key: str, before: object, now: object) -> Iterator[str]:
    """Describes a changed value: for mappings the keys that differ, for lists the items that came or went."""
    if isinstance(before, list) and isinstance(now, list):
        gone, new = ([item for item in items if item not in others] for items, others in ((before, now), (now, before)))
        if len(before) == len(now) and gone and all(isinstance(item, dict) for item in (*gone, *new)):
            for number, (one, other) in enumerate(zip(before, now, strict=True)):
                if one != other:
                    yield from _value_changes(f"{key}.{number}", one, other)
            return
        changes = [f"{word} {', '.join(map(_short, each))}" for word, each in (("lost", gone), ("gained", new)) if each]
        yield f"config {key} {' and '.join(changes) or 'has another order'}"
    elif isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                yield from _value_changes(f"{key}.{name}", before.get(name), now.get(name))
    elif isinstance(before or now, dict) and None in (before, now):
        yield f"config {key} is {'new' if before is None else 'gone'}"
    else:
        yield f"config {key} changed {_json(before)} → {_json(now)}"


def _short(item: object) -> str:
    """Returns an item of a list, and only the beginning if the item is a long mapping."""
    text = _json(item)
    return f"{text[:60]}…" if isinstance(item, dict) and len(text) > 60 else text


def _input_change(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if name not in before:
        return f"{name} is new"
    return f"{name} changed" if name in now else f"{name} is no longer used"


def _json(value: object) -> str:
    return "unset" if value is None else json.dumps(value, ensure_ascii=False)
