"""Reads the YAML of OpusTrainer as the settings of this program."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.file import read_file
from nmt_prep.config.problems import first_problem
from nmt_prep.config.training import StageSettings, TrainingSettings


@dataclass(frozen=True)
class OpusTrainerFile:
    """The content of a file of OpusTrainer."""

    datasets: dict[str, str]  # paths of TSV files, or names of corpora, by name
    training: TrainingSettings  # stages and modifiers
    seed: int
    fields: int | None  # number of columns that lines are cut to; shorter lines are skipped. None without such a rule.
    trainer: tuple[str, ...]  # the command that reads the stream, with its arguments; empty if the file has none


def read_opustrainer(path: Path) -> OpusTrainerFile:
    """Reads a file of OpusTrainer."""
    data, _ = read_file(path)

    def wrong(key: str, problem: str) -> ConfigError:
        return ConfigError(f"{path}: {key}: {problem}")

    for key in ("datasets", "stages", "seed"):
        if key not in data:
            raise wrong(key, "it is missing")
    if str(data.get("version", 1)) != "1":
        raise wrong("version", f"{data['version']!r} is unknown; it must be 1")
    datasets, names = data["datasets"], data["stages"]
    if not isinstance(datasets, dict) or not all(isinstance(place, str) for place in datasets.values()):
        raise wrong("datasets", "it must be a mapping from names to paths")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise wrong("stages", "it must be a list of names of stages")
    stages = []
    for name in names:
        stage = data.get(name)
        lines = stage.get("mix") if isinstance(stage, dict) else stage
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise wrong(name, "it must be a list such as [clean 0.8, until clean 2], or have such a list as mix")
        try:
            mix, until = _mixture(lines, datasets)
            own = None if not isinstance(stage, dict) or "modifiers" not in stage else tuple(_flat(stage["modifiers"]))
            stages.append(StageSettings(name=name, mix=mix, until=until, modifiers=own))
        except ValidationError as error:
            raise wrong(name, first_problem(error)) from None
        except ValueError as error:
            raise wrong(name, str(error)) from None
    try:
        training = TrainingSettings(stages=tuple(stages), modifiers=tuple(_flat(data.get("modifiers", []))))
        seed, fields = int(data["seed"]), data.get("num_fields") and int(data["num_fields"])
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_problem(error)}") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: seed and num_fields must be whole numbers, modifiers a list: {error}") from None
    try:
        command = _command(fields, data.get("trainer"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    return OpusTrainerFile(datasets, training, seed, fields, command)


def _command(fields: int | None, trainer: object) -> tuple[str, ...]:
    """Returns the words of the command that reads the stream."""
    if fields is not None and fields < 2:
        raise ValueError(f"num_fields: it is {fields}; a line has a source and a target at least")
    if not isinstance(trainer, str | None):
        raise ValueError(f"trainer: it is {trainer!r}, not a command")  # noqa: TRY004 - a value of a config
    try:
        return tuple(shlex.split(trainer or ""))
    except ValueError as error:
        raise ValueError(f"trainer: it is no command: {error}") from error


def _mixture(lines: list[str], datasets: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the weights and the end in lines such as ``clean 0.8`` and ``until clean 2``."""
    if not lines or not lines[-1].startswith("until "):
        raise ValueError("its last line must be until DATASET EPOCHS")
    mix = dict[str, float]()
    for line in lines[:-1]:
        name, _, weight = line.partition(" ")
        if name not in datasets:
            raise ValueError(f"{line!r} names no data set; they are {', '.join(datasets)}")
        try:
            mix[name] = mix.get(name, 0) + float(weight)
        except ValueError:
            raise ValueError(f"{line!r} is not DATASET WEIGHT") from None
    words = lines[-1].split()
    if len(words) != 3 or not (words[2] == "inf" or words[2].isdecimal()):
        raise ValueError(f"{lines[-1]!r} is not until DATASET EPOCHS")
    return mix, {words[1]: words[2] if words[2] == "inf" else int(words[2])}


def _flat(entries: object) -> Iterator[dict[str, Any]]:
    """Yields the modifiers in nested lists."""
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, list):
            yield from _flat(entry)
        elif isinstance(entry, dict):
            yield entry
        else:
            raise ValueError(  # noqa: TRY004 - a value of a config
                f"{entry!r} is not a modifier such as {{UpperCase: 0.1}}"
            )
