from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.file import parse_yaml, read_file


def test_values_and_line_numbers_of_keys() -> None:
    value, lines = parse_yaml("a: 1\nb:\n- {c: no}\n- x\n", "c.yaml")
    assert value == {"a": 1, "b": [{"c": "no"}, "x"]}
    assert lines == {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 1): 4}


@pytest.mark.parametrize(
    ("text", "where", "problem", "snippet"),
    [
        (
            "name: a\nseed 1\nx: 2\n",
            "2:1",
            "no ':' followed by a space after the key",
            ["  2 | seed 1", "    | ^"],
        ),
        ("a:\n\tb: 1\n", "2:1", "a tab; use spaces", ["  2 |  b: 1", "    | ^"]),
        ("a:\tb\n", "1:3", "a tab; use spaces", ["  1 | a: b", "    |   ^"]),
        (
            "a: \x1b[31m\n",
            "1:4",
            "the character U+001B cannot be in YAML text; delete it",
            ["  1 | a:  [31m", "    |    ^"],
        ),
        (
            "a: 1\nb: \x00\n",
            "2:4",
            "the character U+0000 cannot be in YAML text; delete it",
            ["  2 | b:  ", "    |    ^"],
        ),
        (
            "名: 日本: x\n",
            "1:6",
            "a second ':' followed by a space; put quotes around the value, or fix the line above",
            ["  1 | 名: 日本: x", "    |         ^"],
        ),
        (
            "a: 1\nb: 'x\nc: 2\n",
            "2:4",
            "not closed: no end was found (found unexpected end of stream)",
            ["  2 | b: 'x", "    |    ^"],
        ),
        (
            "a:\n  - b\n c: 1\n",
            "3:2",
            "while parsing a block mapping from line 1, expected <block end>, but found '<block mapping start>'",
            ["  3 |  c: 1", "    |  ^"],
        ),
        ("a: 1\r\nb 2\r\nc: 3\r\n", "2:1", "no ':' followed by a space after the key", ["  2 | b 2", "    | ^"]),
        ("a: @b\n", "1:4", "found character '@' that cannot start any token", ["  1 | a: @b", "    |    ^"]),
    ],
)
def test_syntax_errors_show_their_position(text: str, where: str, problem: str, snippet: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "c.yaml")
    assert str(caught.value).split("\n") == [f"c.yaml:{where}: not valid YAML: {problem}", *snippet]


def test_a_long_line_is_shown_only_around_its_fault() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(f"a: {'x' * 200}: {'y' * 200}", "c.yaml")
    _, shown, caret = str(caught.value).split("\n")
    assert shown == f"  1 | {'x' * 34}: {'y' * 32}"
    assert caret == f"    | {' ' * 34}^"


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^/dev/zero is larger than 16 MiB; is this a config\?$"):
        read_file(Path("/dev/zero"))
