from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.errors import ArgumentError, CleaningError, ConfigError
from nmt_prep.trial.changes import apply_changes, flow

CONFIG = """# my corpus
name: x
languages: {source: en, target: de}   # both
output_dir: run
seed: 1
splits:
  train:
    - {name: a, url: a.tsv}
clean:
  preset: standard  # web
  rules:
    # from the second run
    length: {unit: word, max: 80}   # words
    html:
      tags: any
      entities: true   # both
  rejects: all
vocab: {size: 300}
"""


def applied(directory: Path, changes: str, config: str = CONFIG) -> str:
    (directory / "c.yaml").write_text(config, "utf-8")
    (directory / "changes.yaml").write_text(changes, "utf-8")
    apply_changes(directory / "c.yaml", directory / "changes.yaml")
    return (directory / "c.yaml").read_text("utf-8")


def test_only_what_changes_is_written(tmp_path: Path) -> None:
    changes = """clean:
  preset: strict
  fix: [control, nfc]
  rules:
    length: {unit: word, max: 60.5}
    html: off
    numbers: {min: 0.5}
  overrides:
    a:
      rules:
        copy: off
"""
    expected = (
        CONFIG.replace("preset: standard", "preset: strict")
        .replace("max: 80", "max: 60.5")
        .replace("html:\n      tags: any\n      entities: true ", "html: off ")
        .replace("  rejects", "    numbers: {min: 0.5}\n  rejects")
        .replace("vocab", "  fix: [control, nfc]\n  overrides: {a: {rules: {copy: off}}}\nvocab")
    )
    assert applied(tmp_path, changes) == expected
    keys = apply_changes(tmp_path / "c.yaml", tmp_path / "changes.yaml")
    assert keys == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "clean: {rules: {html: off}}\n"),
        ("clean:\n", "clean: {rules: {html: off}}\n"),
        ("clean: {}\n", "clean: {rules: {html: off}}\n"),
        ("clean: {preset: light}  # c\n", "clean: {preset: light, rules: {html: off}}  # c\n"),
        ("clean:\n  rules: {copy: {}}\n", "clean:\n  rules: {copy: {}, html: off}\n"),
        ("clean:\n    rules:\n        copy: {}", "clean:\n    rules:\n        copy: {}\n        html: off\n"),
    ],
)
def test_sections_of_all_kinds(tmp_path: Path, before: str, after: str) -> None:
    start = CONFIG[: CONFIG.index("clean:")] + "vocab: {size: 300}\n"
    assert applied(tmp_path, "clean: {rules: {html: off}}\n", start + before) == start + after


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ("seed: 2\n", "expected a mapping with the key clean alone"),
        ("clean: {rules: {htlm: off}}\n", "there is no rule 'htlm'|no such rule"),
        ("clean: {rules: {length: {max: x}}}\n", "length.max"),
        ("clean: {rules: {length: {min: 3000}}}\n", "min 3000 is greater than max 100, so no pair passes"),
        ("clean: [", "not valid YAML|changes.yaml"),
    ],
)
def test_changes_that_do_not_fit(tmp_path: Path, changes: str, problem: str) -> None:
    with pytest.raises((ArgumentError, CleaningError, ConfigError), match=problem):
        applied(tmp_path, changes)
    assert (tmp_path / "c.yaml").read_text("utf-8") == CONFIG


def test_anchors_are_not_changed(tmp_path: Path) -> None:
    config = CONFIG.replace("rules:\n", "overrides: {a: {rules: &r {copy: {}}}}\n  rules: *r\n  fix: []\nx: &y\n", 1)
    config = config[: config.index("x: &y")] + "vocab: {size: 300}\n"
    with pytest.raises(ArgumentError, match="cannot be changed here without changing other text"):
        applied(tmp_path, "clean: {rules: {html: off}}\n", config)
    assert (tmp_path / "c.yaml").read_text("utf-8") == config


def test_flow() -> None:
    value = {"a": [1, 0.5, True, None], "b c": "off", "d": "true", "e": "", "f": "ä: b"}
    assert flow(value) == '{a: [1, 0.5, true, null], "b c": off, d: "true", e: "", f: "ä: b"}'
