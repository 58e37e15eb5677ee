"""Reads a YAML file and applies overrides to it; :mod:`nmt_prep.checks` checks the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nmt_prep.config.problems import describe
from nmt_prep.config.yaml_text import KeyPath, parse_yaml
from nmt_prep.errors import ConfigError

_MAX_BYTES = 16 << 20
"""Maximum size of a config; guards against endless files such as /dev/zero."""


def read_file(path: Path, overrides: Iterable[str] = ()) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """Returns the mapping in a config file after overrides such as ``vocab.size=4096``, and the lines of its keys.

    Raises:
        ConfigError: the file cannot be read or is not YAML, or an override does not fit.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ConfigError(f"{path} is larger than {_MAX_BYTES >> 20} MiB; is this a config?")
        text = content.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; is this a config?") from error
    data, lines = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a config is a mapping of keys to values; found {describe(data)}")
    for override in overrides:
        _apply(override, data)
    return data, lines


def _apply(override: str, data: dict[str, Any]) -> None:
    key, equals, text = override.partition("=")
    if not equals or not all(parts := key.strip().split(".")):
        raise ConfigError(f"--set {override}: expected KEY=VALUE, such as vocab.size=4096")
    value, _ = parse_yaml(text, f"--set {override}") if text.strip() else ("", {})
    target: Any = data
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if isinstance(target, list):
            if not part.isdecimal() or int(part) >= len(target):
                where = ".".join(parts[:number])
                raise ConfigError(
                    f"--set {override}: {where} is a list of {len(target)}; found {part!r} instead of an index"
                )
            index: Any = int(part)
        elif isinstance(target, dict):
            index = part
        else:
            raise ConfigError(f"--set {override}: {'.'.join(parts[:number])} is not a section")
        if last:
            target[index] = value
        else:
            if isinstance(target, dict) and target.get(index) is None:
                target[index] = {}
            target = target[index]
