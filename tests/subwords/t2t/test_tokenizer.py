from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError, InvalidTextError, TrainingError, VocabularyError
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from nmt_prep.subwords.t2t.training import TokenCounts
from tests.subwords.counted import as_dict, token_counts

HEAD = ["<pad>_", "<EOS>_"]
ESCAPES = list("\\_u;0123456789")
LINES = ["Dude - that's so cool.", "so so so", "a_b\\c, 中文。"]


def test_trains_the_same_vocabulary_as_upstream() -> None:
    tokenizer = T2TTokenizer.train(["aaa b", "aaa b", "ab c"], 30)
    assert tokenizer.pieces == (
        "<pad>_", "<EOS>_", "b_", "aaa_", "c_", "ab_", "u", "p", "d", "c", "b", "a", "_", "\\", "S", "O", "E", ">", "<",
        ";", "9", "8", "7", "6", "5", "4", "3", "2", "1", "0",
    )  # fmt: skip
    assert tokenizer.encode("aaa ab") == [3, 5]


def test_reserved_tokens_come_first_and_can_match() -> None:
    tokenizer = T2TTokenizer.train(["x <sep> yend", "end"], 40, reserved=["<sep>", "end", "a_b"])
    assert tokenizer.pieces[:5] == ("<pad>_", "<EOS>_", "<sep>_", "end_", "a\\ub_")
    assert [tokenizer.piece_id(token) for token in ("<pad>", "<EOS>", "<sep>", "end", "a_b")] == [0, 1, 2, 3, 4]
    with pytest.raises(VocabularyError, match="'x y' is not a piece"):
        tokenizer.piece_id("x y")


def test_counts_tokens_as_upstream_does() -> None:
    counts = TokenCounts()
    counts.add(["Dude - that's so cool.", " a ", " ", ""])
    counts.add(TextColumn.from_strings(["so ２二²"]))
    assert as_dict(counts.columns()) == {
        "Dude": 1, " - ": 1, "that": 1, "'": 1, "s": 1, "so": 2, "cool": 1, ".": 1, " ": 3, "a": 1, "２二²": 1,
    }  # fmt: skip


def test_trains_from_counts() -> None:
    counts = token_counts({"aaa": 2, "b": 2, "ab": 1, "c": 1})
    assert T2TTokenizer.train(counts, 30).pieces == T2TTokenizer.train(["aaa b", "aaa b", "ab c"], 30).pieces


def test_reports_the_bisection() -> None:
    events = []
    T2TTokenizer.train(["ab " * 40], 27, progress=lambda name, numbers: events.append((name, dict(numbers))))
    # With larger minimum counts there are 26 at most, which is known without trying.
    assert events == [("bisection", {"min_count": 31, "size": 27})]


def test_pieces_do_not_depend_on_threads() -> None:
    draw = random.Random(1)
    counts = token_counts(
        {"".join(draw.choices("aaabbcdef", k=draw.randint(2, 16))): number for number in range(1, 8000)}
    )
    assert counts.native.characters() > 1 << 16  # fewer characters are counted on one thread
    one, *others = (T2TTokenizer.train(counts, 500, threads=threads) for threads in (1, 2, 3))
    assert [other.pieces for other in others] == [one.pieces, one.pieces]


def test_progress_can_stop_the_training() -> None:
    class StopTrainingError(Exception):
        pass

    def stop(name: str, numbers: object) -> None:
        raise StopTrainingError

    with pytest.raises(StopTrainingError):
        T2TTokenizer.train(["a b"], 25, progress=stop)


@pytest.mark.parametrize("lines", [[], [""], ["", ""], pa.array([], pa.string())])
def test_training_needs_tokens(lines: object) -> None:
    with pytest.raises(TrainingError, match="there are no tokens"):
        T2TTokenizer.train(lines, 100)  # type: ignore[arg-type]


def test_training_refuses_invalid_options() -> None:
    with pytest.raises(TrainingError, match="vocabulary size 0"):
        T2TTokenizer.train(["a"], 0)
    with pytest.raises(TrainingError, match="'<EOS>' is given twice"):
        T2TTokenizer.train(["a"], 100, reserved=["<EOS>"])
    for token in ("", "a\r"):
        with pytest.raises(TrainingError, match=f"reserved token {token!r}: it must".replace("\\", r"\\")):
            T2TTokenizer.train(["a"], 100, reserved=[token])
    with pytest.raises(InvalidTextError, match="reserved token"):
        T2TTokenizer.train(["a"], 100, reserved=["\ud800"])


def test_lone_surrogates_are_not_text() -> None:
    tokenizer = T2TTokenizer(HEAD + ESCAPES)
    with pytest.raises(InvalidTextError, match=r"line 1: character 2 is the lone surrogate U\+D83D"):
        T2TTokenizer.train(["ok", "no\ud83d"], 100)
    with pytest.raises(InvalidTextError):
        tokenizer.encode("\udc00")
    with pytest.raises(InvalidTextError, match="null"):
        tokenizer.encode_batch(pa.array(["a", None]))


def test_escapes() -> None:
    tokenizer = T2TTokenizer([*HEAD, *ESCAPES, "a", "\\u", "ab_", "\n"])
    spelled = [tokenizer.pieces[i] for i in tokenizer.encode("a_\\é\n")]
    assert spelled == [
        "a", "_", "\\u", "\\", "\\", "_", "\\", "2", "3", "3", ";", "_", "\\", "1", "0", ";", "_",
    ]  # fmt: skip
    assert tokenizer.decode(tokenizer.encode("a_\\é\n")) == "a_\\é\n"


def test_batches_equal_single_texts() -> None:
    tokenizer = T2TTokenizer.train(LINES, 60)
    expected = [tokenizer.encode(line) for line in LINES]
    for form in (
        LINES,
        iter(LINES),
        pa.array(LINES),
        pa.array(LINES, pa.large_string()),
        pa.chunked_array([LINES, []]),
    ):
        rows = tokenizer.encode_batch(form)
        assert rows.to_lists() == expected
        assert (rows.values.dtype, rows.offsets.dtype) == (np.int32, np.int64)
    assert tokenizer.encode_batch(pa.array(LINES).slice(1)).to_lists() == expected[1:]
    chunked = tokenizer.encode_batch(pa.chunked_array([LINES[:1], LINES[1:]]), threads=2)
    assert chunked.to_lists() == expected
    assert tokenizer.decode_batch(chunked) == LINES
    assert tokenizer.encode_batch([]).to_lists() == []
    assert tokenizer.encode_batch(["", ""]).to_lists() == [[], []]
    assert tokenizer.decode_batch(Ragged.from_lists([[], []])) == ["", ""]


def test_many_lines_on_several_threads() -> None:
    lines = [f"line {i} of {'many ' * (i % 50)}" for i in range(20_000)]
    tokenizer = T2TTokenizer.train(lines, 300, threads=3)
    assert tokenizer.pieces == T2TTokenizer.train(lines, 300, threads=1).pieces
    one = tokenizer.encode_batch(lines, threads=1)
    for threads in (2, 7):
        several = tokenizer.encode_batch(lines, threads=threads)
        assert np.array_equal(one.values, several.values)
        assert np.array_equal(one.offsets, several.offsets)
    assert tokenizer.decode_batch(one, threads=3) == lines


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["ab_", "cd_"], "ab cd"),
        (["ab_", ",_", "cd_"], "ab,cd"),
        (["\\65", ";_"], "A"),
        (["\\u\\\\_"], "_\\"),
        (["\\x\\_"], "\\x\\"),
        (["\\12_", ";_"], "\\12;"),
        (["\\1114111;_", "\\1114112;_"], "\U0010ffff〓"),
        (["\\55296;_", "a_"], "\ud800a"),
        (["\\55357;\\56832;_"], "\ud83d\ude00"),
        (["\\" + "0" * 4298 + "65;_"], "A"),
        (["\\" + "0" * 4299 + "65;_"], "〓"),
        (["\\" + "9" * 5000 + ";_"], "〓"),
        (["\\0;_"], "\0"),
        (["___", "a", "__", "b"], "a b"),
        (["\\٣;_"], "\\٣;"),
    ],
)
def test_decoding(pieces: list[str], text: str) -> None:
    assert T2TTokenizer(pieces).decode(range(len(pieces))) == text


def test_ids_outside_the_vocabulary_decode_to_nothing() -> None:
    tokenizer = T2TTokenizer([*HEAD, "a", "b_"])
    assert tokenizer.decode([2, -1, 4, 10**30, -(10**30), 2**31 - 1, 3]) == "ab"
    rows = Ragged(np.array([2, -5, 99, 3], np.int32), np.array([0, 4], np.int64))
    assert tokenizer.decode_batch(rows) == ["ab"]


@pytest.mark.parametrize("offsets", [[0, 5], [2, 1], [-1, 2], []])
def test_rows_must_fit_their_values(offsets: list[int]) -> None:
    tokenizer = T2TTokenizer([*HEAD, "a"])
    with pytest.raises(EncodeError, match="offsets"):
        tokenizer.decode_batch(Ragged(np.zeros(4, np.int32), np.array(offsets, np.int64)))


def test_a_character_without_a_piece() -> None:
    tokenizer = T2TTokenizer([*HEAD, "_", "ab", "中文_"])
    assert tokenizer.encode("ab") == [3, 2]
    with pytest.raises(EncodeError, match=r"no piece for the character 'b' \(U\+0062\), which the token 'abb' needs"):
        tokenizer.encode("abb")
    with pytest.raises(EncodeError, match=r"'中' \(U\+4E2D\)"):
        tokenizer.encode_batch(["ab", "中"])
    with pytest.raises(EncodeError, match=r"character '\\' \(U\+005C\), which the token 'é' needs"):
        tokenizer.encode("é")


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_saves_and_loads(tmp_path: Path) -> None:
    tokenizer = T2TTokenizer.train(LINES, 60, reserved=["<sep>"])
    tokenizer.save(tmp_path / "vocab.subwords")
    written = (tmp_path / "vocab.subwords").read_bytes()
    assert written.startswith(b"'<pad>_'\n'<EOS>_'\n'<sep>_'\n")
    assert written.decode().count("\n") == len(tokenizer)
    loaded = T2TTokenizer.load(str(tmp_path / "vocab.subwords"))
    assert loaded.pieces == tokenizer.pieces
    assert loaded.fingerprint == tokenizer.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.subwords"]


def test_every_form_of_line_loads(tmp_path: Path) -> None:
    lines = [
        "'<pad>_'", "<EOS>_\r", '"it\'s_"', "'\"'", "'", "''", "", "' '  \u3000", "'a\u2028b'", "bare \u0085", "'\t'",
        "'x", "'\x0c'", "'x'",
    ]  # fmt: skip
    tokenizer = T2TTokenizer.load(write(tmp_path / "v", "\n".join(lines).encode()))
    assert tokenizer.pieces == (
        "<pad>_", "<EOS>_", "it's_", '"', "", "", "", " ", "a\u2028b", "bare", "\t", "'x", "\x0c", "x",
    )  # fmt: skip


def test_the_last_of_equal_pieces_has_the_id(tmp_path: Path) -> None:
    content = "\n".join([*HEAD, "a_", "", "a_", *ESCAPES, "a", "a"]).encode()
    tokenizer = T2TTokenizer.load(write(tmp_path / "v", content))
    assert tokenizer.encode("a") == [4]
    assert tokenizer.encode("aa") == [20, 4]
    assert len(tokenizer) == 21


def test_a_newline_in_the_text_breaks_the_file_as_upstream_does(tmp_path: Path) -> None:
    tokenizer = T2TTokenizer.train(["a\nb"], 20)
    assert "\n" in tokenizer.pieces
    tokenizer.save(tmp_path / "v")
    loaded = T2TTokenizer.load(tmp_path / "v")
    assert len(loaded) == len(tokenizer) + 1
    assert loaded.decode(loaded.encode("a\nb")) == "a\nb"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"line 1: expected '<pad>_'.*end of the file"),
        (b"'<pad>_'\n", r"line 2: expected '<EOS>_'.*end of the file"),
        (gzip.compress(b"'<pad>_'\n'<EOS>_'\n", mtime=0), "line 1: not UTF-8.*unpack"),
        (b"'<pad>_'\n'<EOS>_'\n'\xff'\n", "line 3: not UTF-8"),
        (json.dumps({"model": {}}).encode(), "line 1: expected '<pad>_'"),
        (b"\0" * 100, "line 1: expected '<pad>_'"),
        (b"the\nof\n", "line 1: expected '<pad>_'.*found 'the'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(VocabularyError, match=message) as caught:
        T2TTokenizer.load(write(tmp_path / "v.subwords", content))
    assert str(tmp_path / "v.subwords") in str(caught.value)


def test_older_vocabularies_have_reserved_tokens_without_quotes(tmp_path: Path) -> None:
    tokenizer = T2TTokenizer.load(write(tmp_path / "v", b"'<pad>'\n'<EOS>'\n'a_'\n"))
    assert (tokenizer.piece_id("<pad>"), tokenizer.piece_id("<EOS>")) == (0, 1)


def test_properties() -> None:
    tokenizer = T2TTokenizer([*HEAD, "a_"])
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id, tokenizer.unk_id) == (0, 1, None, None)
    assert (tokenizer.dialect, len(tokenizer), tokenizer.unicode_version) == ("t2t", 3, "14.0.0")


def test_fingerprint() -> None:
    assert T2TTokenizer([*HEAD, "a", "b"]).fingerprint == (
        "94a4164f0f95c80ffe35e1bcc656e132f93c4d36a96821b484aff31b906ae5a4"
    )
    pieces = [["a", "b"], ["b", "a"], ["ab"], ["a", "b", ""], ["a\nb"]]
    assert len({T2TTokenizer([*HEAD, *each]).fingerprint for each in pieces}) == 5
