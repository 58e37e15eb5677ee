"""Loads a checked config from a YAML file and overrides; one error lists every problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from nmt_prep.checks.catalogues import catalogue_problems, fill_in
from nmt_prep.checks.sections import CHECKS, config_model, stage_problems
from nmt_prep.config import Config
from nmt_prep.config.file import read_file
from nmt_prep.config.problems import problems_of
from nmt_prep.config.yaml_text import KeyPath
from nmt_prep.errors import ConfigError


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Reads and checks a config.

    Args:
        path: the YAML file.
        overrides: assignments such as ``vocab.size=4096``, with the value in YAML; list items are addressed by number.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a valid config; the message lists every problem.
    """
    data, lines = read_file(Path(path), overrides)
    return check_config(data, str(path), lines)


def check_config(data: Mapping[str, object], origin: str, lines: Mapping[KeyPath, int] | None = None) -> Config:
    """Checks a config given as a mapping.

    Args:
        data: the mapping, as the YAML file would give it.
        origin: name of the config in messages.
        lines: line numbers of keys, if known.

    Raises:
        ConfigError: it is not a valid config; the message lists every problem.
    """
    model, values = config_model(), _tuples(data)
    try:
        config = model.model_validate(values, context=CHECKS)
    except ValidationError as error:
        problems = problems_of(error, model, lines or {}) | set(catalogue_problems(values, CHECKS))
    else:
        config, missing = fill_in(config, CHECKS)
        problems = {*missing, *stage_problems(config)}
        if not problems:
            return config
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    raise ConfigError("\n".join([f"{origin}: {count}", *(f"  {problem}" for problem in sorted(problems))]))


def _tuples(value: object) -> object:
    """Returns the value with lists replaced by tuples, which the strict models require."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return value
