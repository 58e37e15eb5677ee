"""The command modify: kinds of evaluation sets, modifiers by YAML, links, and errors."""

from __future__ import annotations

import pytest

from tests.cli.program import nmt_prep

PAIR = "Hello, big world.\tHallo, große Welt.\n"
LINKED = PAIR.replace("\n", "\t0-0 1-1 2-2 3-3 4-4\n")


@pytest.mark.parametrize(
    ("arguments", "given", "expected"),
    [
        (["aug-upper"], PAIR, "HELLO, BIG WORLD.\tHALLO, GROSSE WELT.\n"),
        (["aug-punct"], LINKED, "Hello, big world\tHallo, große Welt\t0-0 1-1 2-2 3-3\n"),
        (["aug-title"], "", ""),
        (["--modifier", "LowerCase: 1", "--modifier", "RemoveEndPunct: 1"], PAIR, PAIR.lower().replace(".", "")),
        (
            ["--modifier", "{Tags: 1, template: '{src} ({trg})'}", "--pretokenized"],
            "a b\tA b\t0-0 1-1\n",
            "a (A) b\tA b\t0-0 1-0 2-1\n",
        ),
    ],
)  # fmt: skip
def test_modified_lines(arguments: list[str], given: str, expected: str) -> None:
    done = nmt_prep("modify", *arguments, stdin=given.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_a_line_depends_on_its_number_and_the_seed_alone() -> None:
    lines = [f"This is line {number}, of many.\tDies ist Zeile {number}, von vielen.\n" for number in range(50)]
    typos = ["modify", "aug-typos"]
    whole = nmt_prep(*typos, stdin="".join(lines).encode()).stdout.splitlines()
    other = nmt_prep(*typos, stdin="".join(["x\ty\n", *lines[1:]]).encode()).stdout.splitlines()
    assert len(whole) == 50
    assert whole[1:] == other[1:]
    assert sum(f"{line}\n" != before for line, before in zip(whole, lines, strict=True)) > 30
    assert nmt_prep(*typos, "--seed", "1", stdin="".join(lines).encode()).stdout.splitlines() != whole


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (["aug-loud"], PAIR, "no kind is named 'aug-loud'; the kinds are aug-upper, "),
        ([], PAIR, "give a kind of evaluation set, or modifiers with --modifier"),
        (["--modifier", "Typos"], PAIR, "expected a modifier and its probability, such as 'Typos: 0.1'"),
        (["--modifier", "Shout: 1"], PAIR, "--modifier.0: no modifier is named 'Shout'"),
        (["aug-upper"], "one\n", "standard input, line 1: 1 columns; a line has a source and a target"),
        (["aug-upper"], PAIR + LINKED, "standard input, line 2: 3 columns; "),
        (["aug-typos"], LINKED + "a\tb\tc\n", "standard input, line 2: 'c' in the third column are no links of words"),
        (["--modifier", "{Prefix: 1, template: 5}"], PAIR, "Prefix: template is 5; it must be text without tabs"),
        (["--modifier", "{Retokenize: 1, src: {detokenize: 5}}"], PAIR, "Retokenize: detokenize is 5; it must be text"),
        (["--modifier", '{WordBlank: 1, blank: "a\\nb"}'], PAIR, "WordBlank: blank is 'a\\nb'; it must be text"),
        (["--modifier", '{Tags: 1, template: "{src}\\t{trg}"}'], PAIR, "it must be text without tabs and line ends"),
        (["aug-inline-noise"], PAIR, "Tags needs links; give them in a third column"),
    ],
)
def test_wrong_use(arguments: list[str], given: str, message: str) -> None:
    done = nmt_prep("modify", *arguments, stdin=given.encode())
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
