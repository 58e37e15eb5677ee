from __future__ import annotations

import re
from pathlib import Path

import pytest

from nmt_prep.base.errors import ArgumentError, CleaningError, ConfigError
from nmt_prep.runs.checks.load import load_config
from nmt_prep.runs.trial import changes as changes_module
from nmt_prep.runs.trial.changes import apply_changes, flow

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


def test_comments_within_a_changed_rule_stay(tmp_path: Path) -> None:
    rules = """    html:  # note: both
      # of the web
      tags: "any"   # a '#'
      entities: true  # last
"""
    config = CONFIG[: CONFIG.index("    html")] + rules + CONFIG[CONFIG.index("  rejects") :]
    one = applied(tmp_path, "clean: {rules: {html: {tags: known, entities: true}}}\n", config)
    assert one == config.replace('"any"', "known")
    off = applied(tmp_path, "clean: {rules: {html: off}}\n", config)
    above = "    # note: both\n    # of the web\n    # a '#'\n    html: off  # last\n"
    assert off == config.replace(rules, above)


def test_line_ends_mode_and_link_stay(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_bytes(CONFIG.replace("\n", "\r\n").encode())
    own.chmod(0o600)
    (tmp_path / "c.yaml").symlink_to("own.yaml")
    (tmp_path / "changes.yaml").write_text("clean: {rules: {copy: off, html: off}}\n", "utf-8")
    apply_changes(tmp_path / "c.yaml", tmp_path / "changes.yaml")
    expected = CONFIG.replace("html:\n      tags: any\n      entities: true ", "html: off ")
    expected = expected.replace("  rejects", "    copy: off\n  rejects")
    assert own.read_bytes() == expected.replace("\n", "\r\n").encode()
    assert own.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "c.yaml").is_symlink()


def test_an_edit_meanwhile_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = CONFIG.replace("seed: 1", "seed: 2")
    monkeypatch.setattr(changes_module, "check_config", lambda *_: (tmp_path / "c.yaml").write_text(edited) and checked)
    checked = load_config("configs/toy-clean.yaml")
    with pytest.raises(ArgumentError, match="was changed meanwhile, and stays as it is"):
        applied(tmp_path, "clean: {rules: {html: off}}\n")
    assert (tmp_path / "c.yaml").read_text("utf-8") == edited
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.yaml", "changes.yaml"]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ("clean: {rules: {program: {command: [./x]}}}\n", "clean.rules.program: {command: "),
        ("clean: {fix: {source: [nfc, {python: 'x:f'}]}}\n", 'clean.fix.source: {python: "x:f"}'),
        ("clean: {rules: {python/mine: 'x:f'}}\n", 'clean.rules.python/mine: "x:f"'),
        ("clean: {overrides: {a: {rules: {program: ./x}}}}\n", 'clean.overrides.a.rules.program: "./x"'),
    ],
)
def test_code_is_named_before_it_is_written(tmp_path: Path, changes: str, rule: str) -> None:
    (tmp_path / "x.py").write_text("raise SystemExit('it ran')\ndef f(source, target): return True\n")
    with pytest.raises(ArgumentError, match=re.escape(rule) + r"[^$]*--allow-code"):
        applied(tmp_path, changes)
    assert (tmp_path / "c.yaml").read_text("utf-8") == CONFIG


def test_allowed_code_is_written(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "changes.yaml").write_text("clean: {rules: {program: {command: [cat]}}}\n", "utf-8")
    keys = apply_changes(tmp_path / "c.yaml", tmp_path / "changes.yaml", allow_code=True)
    assert keys == ["clean.rules.program"]
    assert "    program: {command: [cat]}\n" in (tmp_path / "c.yaml").read_text("utf-8")
    assert apply_changes(tmp_path / "c.yaml", tmp_path / "changes.yaml") == []


@pytest.mark.parametrize(
    ("rules", "changes", "after"),
    [
        ("rules: *r", "html: off", None),
        ("rules:\n    length: *l", "html: off", "rules:\n    length: *l\n    html: off"),
        ("rules:\n    length: *l", "length: {max: 70}", "rules:\n    length: {max: 70}"),
        ("rules: {length: *l}", "html: off", "rules: {length: *l, html: off}"),
        ("rules: {html: &h {}, copy: *h}", "html: off", None),
        ("rules: {html: &h {}, copy: *h}", "copy: off", "rules: {html: &h {}, copy: off}"),
        ("rules:\n    <<: *r", "html: off", "rules:\n    <<: *r\n    html: off"),
    ],
)
def test_aliases(tmp_path: Path, rules: str, changes: str, after: str | None) -> None:
    start = CONFIG[: CONFIG.index("clean:")] + "vocab: {size: 300}\nclean:\n"
    config = f"{start}  overrides: {{a: {{rules: &r {{url_only: {{}}, length: &l {{max: 9}}}}}}}}\n  "
    if after is None:
        with pytest.raises(ArgumentError, match="cannot be changed here without changing other text"):
            applied(tmp_path, f"clean: {{rules: {{{changes}}}}}\n", f"{config}{rules}\n")
    else:
        assert applied(tmp_path, f"clean: {{rules: {{{changes}}}}}\n", f"{config}{rules}\n") == f"{config}{after}\n"


def test_flow() -> None:
    value = {"a": [1, 0.5, True, None], "b c": "off", "d": "true", "e": "", "f": "ä: b"}
    assert flow(value) == '{a: [1, 0.5, true, null], "b c": off, d: "true", e: "", f: "ä: b"}'
