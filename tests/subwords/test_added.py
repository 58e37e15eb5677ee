from __future__ import annotations

import pytest

from nmt_prep.subwords.added import AddedToken, AddedTokenFinder


@pytest.mark.parametrize(
    ("token", "text", "parts"),
    [
        (AddedToken(5, False), " a <m> b", [" a ", 5, " b"]),
        (AddedToken(5, False, lstrip=True), " a \u3000<m> b", [" a", 5, " b"]),
        (AddedToken(5, False, lstrip=True), "  <m>", [5]),
        (AddedToken(5, False, rstrip=True), " a <m> \t b", [" a ", 5, "b"]),
        (AddedToken(5, False, rstrip=True), "<m> ", [5]),
        (AddedToken(5, False, lstrip=True, rstrip=True), "<m>  <m>", [5, 5]),
        (AddedToken(5, False, single_word=True), "<m> a<m> <m>_ <m>", [5, " a<m> <m>_ ", 5]),
    ],
)
def test_white_space_that_a_token_includes(token: AddedToken, text: str, parts: list[str | int]) -> None:
    assert list(AddedTokenFinder({"<m>": token}).cut(text)) == parts


@pytest.mark.parametrize("option", ["lstrip", "rstrip", "single_word"])
def test_many_tokens_in_one_line_take_linear_time(option: str) -> None:
    finder = AddedTokenFinder({"<m>": AddedToken(5, False, **{option: True})})
    # rescanning all previous text would take hours
    assert sum(part == 5 for part in finder.cut("<m> " * 300_000)) == 300_000
