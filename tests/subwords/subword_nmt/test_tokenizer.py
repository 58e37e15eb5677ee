from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_prep import SubwordNMTTokenizer, load_tokenizer
from nmt_prep.base.errors import EncodeError, InvalidTextError, NmtPrepError, TrainingError, VocabularyError
from nmt_prep.subwords.subword_nmt import SUBWORD_NMT
from nmt_prep.subwords.subword_nmt.codes import Codes
from tests.reference.subword_nmt import learn, segment

LINES = ["low low low lower", "newest newest  widest ", " \u2028a é\tb low"]
CODES = "#version: 0.2\nl o\nlo w</w>\nw e\nlo we\ne r</w>\n"

# Words with "</w>" in them can spell the end of a word; those with repeated letters have overlapping pairs.
TEXT = st.text(st.sampled_from("aaab</w> \u00a0\u2028é😀\r"), max_size=24)
WORDS = st.lists(st.one_of(TEXT, st.lists(st.sampled_from(["a</w>", "aa", "ab", "b</w>a"]), max_size=6).map(" ".join)))


def codes_file(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def pieces(tokenizer: SubwordNMTTokenizer, *lines: str) -> list[str]:
    found: list[str] = tokenizer.segment(list(lines), 1).to_pylist()
    return found


def test_codes_and_ids_of_a_worked_example(tmp_path: Path) -> None:
    tokenizer = SubwordNMTTokenizer.train(["aab aab ab", "b  ab"], merges=2)
    tokenizer.save(tmp_path / "codes")
    # a b</w> occurs four times, a ab</w> twice.
    assert (tmp_path / "codes").read_bytes() == b"#version: 0.2\na b</w>\na ab</w>\n"
    assert tokenizer.pieces == ("<pad>", "</s>", "<unk>", "<s>", "aab", "ab", "b", "a@@", "a", "b@@")
    assert tokenizer.encode("aab ab aa x") == [4, 5, 7, 8, 2]
    assert tokenizer.decode([4, 5, 7, 8]) == "aab ab aa"
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id, tokenizer.bos_id) == (0, 1, 2, 3)


@given(WORDS, st.integers(1, 20), st.integers(0, 3), st.integers(1, 2))
@example(["a</w>b a</w>b a</w>b a a xa xa"], 20, 1, 1)
def test_merges_follow_the_definition(lines: list[str], merges: int, min_frequency: int, threads: int) -> None:
    expected = learn(lines, merges, min_frequency)
    if not expected:
        with pytest.raises(TrainingError, match="nothing to merge"):
            SubwordNMTTokenizer.train(lines, merges=merges, min_frequency=min_frequency)
        return
    tokenizer = SubwordNMTTokenizer.train(lines, merges=merges, min_frequency=min_frequency, threads=threads)
    assert tokenizer.codes == Codes(tuple(expected))


@given(
    WORDS,
    st.lists(st.tuples(*[st.sampled_from(["a", "b", "aa", "ab", "b</w>", "</w>", "aab</w>", "é", "<", "/w>"])] * 2)),
    st.one_of(st.none(), st.sets(st.sampled_from(["a@@", "b@@", "aa@@", "ab@@", "b", "aab", "é", "</w>@@"]))),
    st.booleans(),
    st.sampled_from(["@@", "￭"]),
)
def test_pieces_follow_the_definition(
    lines: list[str], merges: list[tuple[str, str]], known: set[str] | None, end_apart: bool, separator: str
) -> None:
    codes = Codes(tuple(merges), end_apart)
    marked = known and {piece.replace("@@", separator) for piece in known}
    tokenizer = SubwordNMTTokenizer(
        codes, ["<unk>", "aa", f"a{separator}"], known=None if marked is None else sorted(marked), separator=separator
    )
    expected = [segment(line, merges, marked, separator=separator, end_apart=end_apart) for line in lines]
    assert pieces(tokenizer, *lines) == expected
    ids = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    assert tokenizer.encode_batch(lines).to_lists() == [
        [ids.get(piece, 0) for piece in line.strip("\r\n ").split(" ") if piece] for line in expected
    ]


def test_long_words_take_little_time() -> None:
    word = "ab" * 100_000
    tokenizer = SubwordNMTTokenizer.train([word, word], merges=3)
    assert len(tokenizer.encode(word)) == 25_003  # the last b ends the word
    backwards = SubwordNMTTokenizer(Codes((("ab", "a"), ("a", "b"))), ["<unk>"])  # merges a pair at all places first
    assert pieces(backwards, "ababc") == ["ab@@ ab@@ c"]
    assert len(pieces(backwards, word)[0].split(" ")) == 100_000


def test_many_lines_use_the_caches() -> None:
    tokenizer = SubwordNMTTokenizer(Codes((("a", "b"), ("ab", "c</w>"))), ["<unk>", "abc", "ab@@"])
    lines = [" ".join(f"{'ab' * (number % 200)}c" for number in range(start, start + 300)) for start in range(9)]
    expected = [segment(line, [("a", "b"), ("ab", "c</w>")]) for line in lines]
    assert pieces(tokenizer, *lines, *lines) == expected * 2


def test_a_vocabulary_with_a_threshold(tmp_path: Path) -> None:
    codes = codes_file(tmp_path / "codes", CODES)
    vocabulary = codes_file(tmp_path / "vocab", "low 5\nlo@@ 3\nwe@@ 2\ner 9\nw@@ 1\nl@@ 1\n")
    tokenizer = SubwordNMTTokenizer.load(codes, vocabulary=vocabulary, threshold=2)
    assert pieces(tokenizer, "low lower x") == ["low lo@@ we@@ r x"]
    assert tokenizer.pieces == ("<pad>", "</s>", "<unk>", "<s>", "low", "lo@@", "we@@", "er", "w@@", "l@@")
    tokenizer.save(tmp_path / "all.json")
    again = load_tokenizer(tmp_path / "all.json")
    assert isinstance(again, SubwordNMTTokenizer)
    assert pieces(again, "low lower x") == ["low lo@@ we@@ r x"]
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode("lower x") == [5, 6, 2, 2]


def test_threshold_of_a_training() -> None:
    tokenizer = SubwordNMTTokenizer.train(["low low low lower newer"], merges=9, min_frequency=1, threshold=2)
    assert pieces(tokenizer, "lower low") == ["l@@ o@@ w@@ e@@ r low"]


def test_glossaries() -> None:
    tokenizer = SubwordNMTTokenizer(Codes((("l", "o"), ("lo", "w</w>"))), ["<unk>"], glossaries=["[0-9]+", "o(w)e"])
    assert pieces(tokenizer, " low12 12 lowest low") == [" low@@ 12 12 l@@ owe@@ w@@ s@@ t low"]


def test_glossaries_that_match_nothing_or_everything() -> None:
    tokenizer = SubwordNMTTokenizer(Codes((("l", "o"),)), ["<unk>"], glossaries=["x*"])
    assert pieces(tokenizer, "lo \r lo", "\r1 a\r b", " xx ") == ["l@@ o \r l@@ o", "\r1 a@@ \r b", " xx "]


@pytest.mark.parametrize(
    ("text", "merges", "end_apart"),
    [
        (CODES, 5, False),
        ("l o\no w\nw </w>\n", 3, True),
        ("#version: 0.1\nl o\n\n\n", 1, True),
        ("#version: 0.2.0\r\nl o\r\n", 1, False),
        ("l o 17\nlo w</w> 5\n", 2, False),  # fastBPE
        ("#version: 0.2\na\u2028 b\n\u00a0 c</w>\n", 2, False),
    ],
)
def test_codes_of_all_versions(tmp_path: Path, text: str, merges: int, end_apart: bool) -> None:
    tokenizer = load_tokenizer(codes_file(tmp_path / "codes", text))
    assert isinstance(tokenizer, SubwordNMTTokenizer)
    assert tokenizer.codes is not None
    assert (len(tokenizer.codes.merges), tokenizer.codes.word_end_apart) == (merges, end_apart)


def test_the_first_rank_of_a_repeated_merge_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tokenizer = SubwordNMTTokenizer.load(codes_file(tmp_path / "codes", "#version: 0.2\na b\nb c\na b\n"))
    assert pieces(tokenizer, "abcd") == ["ab@@ c@@ d"]
    assert "the merge 'a b' occurs twice; its first rank counts" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("A man sleeps.\n", "starts with 'A man sleeps.'"),
        ('{"model": {}}\n', "looks like JSON"),
        ("the 12\nof 9\n", "looks like a list of tokens and numbers"),
        ("#version: 0.2\na b\nc\n", "line 3: expected two symbols separated by a space, found 'c'"),
        ("a b 3\nc d\n", "line 1: expected two symbols"),
        ("#version: 0.2\nĠ t\n", "byte-level BPE"),
        ("#version: 0.2 - Trained by `huggingface/tokenizers`\na b\n", "another tool"),
        ("#version: 0.2 byte\na b\n", "codes of bytes"),
        ("#version: 0.7\na b\n", "version 0.7"),
    ],
)
def test_files_of_other_tools(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        SubwordNMTTokenizer.load(codes_file(tmp_path / "codes", text))


@pytest.mark.parametrize("text", ["", "a  3\n", "a b\n", "a 3\na 4\n", "a \u0663\n"])
def test_bad_vocabularies(tmp_path: Path, text: str) -> None:
    with pytest.raises(VocabularyError, match="vocab"):
        SubwordNMTTokenizer.load(codes_file(tmp_path / "c", CODES), vocabulary=codes_file(tmp_path / "vocab", text))


def test_words_that_are_segmented_already(tmp_path: Path) -> None:
    path = codes_file(tmp_path / "list", "<unk>\n<s>\n</s>\nlo@@\nwer\n")
    tokenizer = SubwordNMTTokenizer.of_words(path)
    assert tokenizer.encode("lo@@ wer <s> x") == [3, 4, 0, 0]
    assert tokenizer.decode([3, 4]) == "lower"
    with pytest.raises(VocabularyError, match="no codes"):
        tokenizer.save(tmp_path / "codes")


def test_dropout_keeps_the_text() -> None:
    tokenizer = SubwordNMTTokenizer.train(["lower lower lowest slower"], merges=9)
    lines = ["lower slower lowest"] * 2
    plain, all_dropped = tokenizer.encode_batch(lines), tokenizer.encode_batch(lines, dropout=1.0, seed=1)
    assert [len(row) for row in all_dropped] == [17, 17]
    some = tokenizer.encode_batch(lines, 2, dropout=0.5, seed=3)
    assert some.to_lists() == tokenizer.encode_batch(lines, 1, dropout=0.5, seed=3).to_lists() != plain.to_lists()
    assert tokenizer.decode_batch(some) == lines
    with pytest.raises(ValueError, match="seed"):
        tokenizer.encode_batch(lines, dropout=0.5)


def test_errors_of_text_and_options() -> None:
    tokenizer = SubwordNMTTokenizer.train(["ab ab"], merges=1)
    with pytest.raises(InvalidTextError, match="surrogate"):
        tokenizer.encode("\ud800")
    with pytest.raises(EncodeError, match="from 0 to 8"):
        tokenizer.decode([9])
    options: list[dict[str, int]] = [{"merges": 1, "total_symbols": 9}, {"total_symbols": 2}, {"merges": 0}]
    for bad in options:
        with pytest.raises(TrainingError):
            SubwordNMTTokenizer.train(["ab ab"], **bad)
    for broken in ({"separator": "\ud800"}, {"known": ["\ud800"]}, {"reserved": ["\ud800"]}):
        with pytest.raises(VocabularyError, match="surrogate"):
            SubwordNMTTokenizer(None, ["<unk>"], **broken)  # type: ignore[arg-type]
    for wrong in (["<unk>", "\ud800"], ["<unk>", "a", "a"], ["a"]):
        with pytest.raises(VocabularyError, match=r"surrogate|'a' occurs twice|unknown text"):
            SubwordNMTTokenizer(None, wrong)
    with pytest.raises(NmtPrepError, match="not regular expressions"):
        SubwordNMTTokenizer(None, ["<unk>"], glossaries=["("])


def test_text_without_spaces_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        SubwordNMTTokenizer.train(["今天" * 40] * 2, merges=1)
    assert "no spaces between words" in caplog.text


def test_codes_of_both_sides_and_a_vocabulary_for_each(tmp_path: Path) -> None:
    source, target = ["low lower low", "new newest"], ["lowest wide wider", "low wide"]
    made = SubwordNMTTokenizer.train(source, other=target, merges=6, threshold=2, threads=1)
    other = SubwordNMTTokenizer.train(target, other=source, merges=6, threshold=2, threads=1)
    assert made.codes == other.codes
    assert made.codes is not None
    assert made.codes.text() == "#version: 0.2\nl o\nw i\nwi d\nw e\nlo w</w>\nwid e</w>\n"
    assert made.vocabulary() == ["low 2", "we@@ 2", "n@@ 2", "e@@ 2", "lo@@ 1", "r 1", "w 1", "s@@ 1", "t 1"]
    assert other.segment(target).to_pylist() == ["l@@ o@@ w@@ e@@ s@@ t wide w@@ i@@ d@@ e@@ r", "l@@ o@@ w wide"]
    assert " ".join(other.pieces) == "<pad> </s> <unk> <s> e@@ l@@ o@@ w@@ wide d@@ i@@ r s@@ t w"
    made.save(tmp_path / "v.json")
    loaded = SubwordNMTTokenizer.load(tmp_path / "v.json")
    assert (loaded.vocabulary(), loaded.fingerprint) == (made.vocabulary(), made.fingerprint)
    both = [
        SubwordNMTTokenizer.train(*lines, other=rest, merges=6, threshold=2, shared=True)
        for lines, rest in (((source,), target), ((target,), source))
    ]
    assert both[0].pieces == both[1].pieces
    assert " ".join(both[0].pieces[4:]) == "e@@ l@@ o@@ low n@@ r s@@ t w w@@ we@@ wide d@@ i@@"
    with pytest.raises(VocabularyError, match=r"train it with the other side \(vocab\.joint\)"):
        SubwordNMTTokenizer.train(source, merges=6).vocabulary()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a@@ 9\nb 8\nmadeupword0000 0\n", "<s> <pad> </s> <unk> a@@ b madeupword0000"),
        ("a@@\t9\nb\t8\n", "<blank> <s> </s> <unk> a@@ b"),
        ("a@@\nb\n", "<unk> <pad> <s> </s> a@@ b"),
        ("<blank>\n<s>\n</s>\na@@\nb\n", "<blank> <s> </s> a@@ b <unk>"),
        ('</s>: 0\n<unk>: 1\nb: 2\n"\\"": 3\n"\\x01": 4\n"a:": 5', '</s> <unk> b " \x01 a:'),
        ('{\n    "<pad>": 0,\n    "<unk>": 1,\n    "</s>": 3,\n    "<s>": 2\n}', "<pad> <unk> <s> </s>"),
    ],
)
def test_vocabulary_files_of_trainers(tmp_path: Path, text: str, pieces: str) -> None:
    path = tmp_path / "v"
    path.write_text(text)
    tokenizer = SUBWORD_NMT.load(path)
    assert " ".join(tokenizer.pieces) == pieces
    assert tokenizer.encode("<unk> c") == [tokenizer.unk_id] * 2
    if "a@@" in pieces:
        assert tokenizer.decode(tokenizer.encode("a@@ b b")) == "ab b"


@pytest.mark.parametrize("text", ["</s>: 0\n<unk>: 2\n", '{\n    "<pad>": 0,\n    "<unk>": []\n}', "<unk>: 0\nb: x\n"])
def test_vocabulary_files_with_wrong_ids(tmp_path: Path, text: str) -> None:
    (tmp_path / "v").write_text(text)
    with pytest.raises(VocabularyError, match=r"/v"):
        SubwordNMTTokenizer.of_words(tmp_path / "v")
