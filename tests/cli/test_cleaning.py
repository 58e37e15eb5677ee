from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep.cleaning.presets import PRESET_FIXES, PRESETS
from tests.cli.test_tasks import invoke
from tests.corpus import write_config


def config(directory: Path, clean: dict[str, Any] | None) -> Path:
    path = write_config(directory, pairs=30)
    data = yaml.safe_load(path.read_text())
    if clean is not None:
        data["clean"] = clean
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def test_the_rules_are_printed_in_full_as_a_section_that_does_the_same(tmp_path: Path) -> None:
    override = {"fix": ["nfc"], "rules": {"length": {"max": {"source": 5, "target": 6}}, "html": "off"}}
    clean = {"preset": "light", "rules": {"html": {}}, "overrides": {"x": override}, "rejects": "all"}
    path = config(tmp_path, clean)
    result = invoke("plan", str(path), "--show-rules")
    assert result.exit_code == 0, result.output
    section = yaml.safe_load(result.output)["clean"]
    assert section["preset"] == "none"
    assert section["fix"] == [*PRESET_FIXES["light"]]
    assert list(section["rules"]) == [*PRESETS["light"], *({"html"} - {*PRESETS["light"]})]
    assert section["rules"]["length"] == {"unit": "word", "min": 1.0, "max": 250.0}
    length = {"unit": "word", "min": 1.0, "max": {"source": 5.0, "target": 6.0}}
    assert section["overrides"] == {"x": {"fix": ["nfc"], "rules": {"length": length, "html": "off"}}}
    again = config(tmp_path / "again", section)
    assert invoke("plan", str(again), "--show-rules").output == result.output


def test_a_rule_that_only_one_corpus_has_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    rules = {"only_symbols": "off", "html": "off"}
    clean = {"preset": "light", "rules": rules, "overrides": {"x": {"rules": {"only_symbols": {"min": 0.4}}}}}
    section = yaml.safe_load(invoke("plan", str(config(tmp_path, clean)), "--show-rules").output)["clean"]
    assert [*section["rules"]] == [*PRESETS["light"]]
    assert section["rules"]["only_symbols"] == "off"
    assert section["overrides"] == {"x": {"rules": {"only_symbols": {"min": 0.4}}}}


def test_a_config_without_cleaning_has_no_rules_to_show(tmp_path: Path) -> None:
    result = invoke("plan", str(config(tmp_path, None)), "--show-rules")
    assert result.output == "# The config has no section clean: nothing is cleaned.\n"


@pytest.mark.parametrize("option", [["--verify"], ["--force", "clean"], ["--estimate"]])
def test_showing_rules_is_all_that_the_command_does(tmp_path: Path, option: list[str]) -> None:
    result = invoke("plan", str(config(tmp_path, {})), "--show-rules", *option)
    assert result.exit_code == 2
    assert "--show-rules does not go with" in result.stderr


def test_a_corpus_of_which_nothing_is_left_is_an_error_unless_that_is_allowed(tmp_path: Path) -> None:
    path = config(tmp_path, {"preset": "none", "rules": {"length": {"unit": "char", "max": 1}}})
    refused = invoke("run", str(path), "--until", "clean")
    assert refused.exit_code == 1
    assert "clean.rules.length: cleaning drops all 30 pairs of splits.train.x" in str(refused.exception)
    allowed = invoke("run", str(path), "--until", "clean", "--allow-empty")
    assert allowed.exit_code == 0, allowed.output
    assert invoke("run", str(path), "--until", "clean").exit_code == 0  # the option does not change the result


def test_allowing_that_needs_a_config_that_cleans(tmp_path: Path) -> None:
    result = invoke("run", str(config(tmp_path, None)), "--allow-empty")
    assert result.exit_code == 2
    assert "the config has no section clean" in result.stderr


def test_every_preset_can_be_shown(tmp_path: Path) -> None:
    for preset in PRESETS:
        path = config(tmp_path / preset, {"preset": preset})
        shown = invoke("plan", str(path), "--show-rules").output
        section = yaml.safe_load(shown)["clean"]
        assert list(section["rules"]) == [*PRESETS[preset]]
        full = config(tmp_path / f"{preset}-full", section)
        assert invoke("plan", str(full), "--show-rules").output == shown
