from __future__ import annotations

import json
from pathlib import Path

import pytest

from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, T2TTokenizer, Tokenizer, load_tokenizer
from tests.cli.program import nmt_prep

PLAIN = ["Hello, world_wide.", "時間 と 𠮷  two spaces", "", "42 \\ 17"]
TEXT = [*PLAIN, "a\tb c　d"]  # its pieces contain white space, which a text file of pieces cannot represent


def filtered(text: str, *arguments: str) -> str:
    result = nmt_prep(*arguments, stdin=text.encode())
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def refused(content: bytes, *arguments: str) -> str:
    result = nmt_prep(*arguments, stdin=content)
    assert result.returncode == 1
    message = result.stderr
    assert message.startswith("nmt-prep: error: ")
    assert "config" not in message
    assert "--force" not in message
    return message.removeprefix("nmt-prep: error: ")


@pytest.fixture(scope="module", params=["t2t", "byte_bpe", "sentencepiece"])
def vocabulary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocab")
    lines = PLAIN * 20 if request.param == "sentencepiece" else TEXT * 20
    tokenizer: Tokenizer
    if request.param == "t2t":
        tokenizer, path = T2TTokenizer.train(lines, 100, reserved=["<2de>"]), path / "v.subwords"
    elif request.param == "byte_bpe":
        tokenizer, path = ByteBPETokenizer.train(lines, 300, reserved=["<2de>"]), path / "v.tokenizer.json"
    else:
        options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True}
        options["user_defined_symbols"] = ["<2de>"]
        tokenizer, path = SentencePieceTokenizer.train(lines, 311, model_type="bpe", **options), path / "v.model"
    tokenizer.save(path)
    return path


@pytest.mark.parametrize("form", ["ids", "pieces"])
def test_decode_reverses_encode(vocabulary: Path, form: str) -> None:
    lines = PLAIN if vocabulary.suffix == ".model" else TEXT
    text = "".join(f"{line}\n" for line in lines)
    encoded = filtered(text, "encode", "--vocab", str(vocabulary), "--as", form)
    assert encoded.count("\n") == len(lines)
    if form == "ids":
        expected = [load_tokenizer(vocabulary).encode(line) for line in lines]
        assert [[int(word) for word in line.split()] for line in encoded.splitlines()] == expected
    assert filtered(encoded, "decode", "--vocab", str(vocabulary), "--as", form) == text


@pytest.mark.parametrize("form", ["ids", "pieces"])
def test_decode_omits_padding_and_the_ends_of_sentences(vocabulary: Path, form: str) -> None:
    tokenizer, [first, *_] = load_tokenizer(vocabulary), PLAIN
    words = tokenizer.words() if form == "pieces" else [*map(str, range(len(tokenizer)))]
    bos, eos, pad = (
        [] if number is None else [number] for number in (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id)
    )
    rows = [[*bos, *tokenizer.encode(first), *eos, *pad, *pad], [*eos], [*tokenizer.encode(first)]]
    text = "".join(f"{' '.join(words[number] for number in row)}\n" for row in rows)
    assert filtered(text, "decode", "--vocab", str(vocabulary), "--as", form) == f"{first}\n\n{first}\n"


@pytest.mark.parametrize("form", ["ids", "pieces"])
def test_decode_gives_a_line_for_each_segment(vocabulary: Path, form: str, tmp_path: Path) -> None:
    lines = PLAIN[:3]
    encoded = filtered("".join(f"{line}\n" for line in lines), "encode", "--vocab", str(vocabulary), "--as", form)
    first, second, third = encoded.splitlines()
    spaced = filtered(f"{lines[0]} \n {lines[2]}\n", "encode", "--vocab", str(vocabulary), "--as", form).splitlines()
    tagged = filtered("\n", "encode", "--vocab", str(vocabulary), "--as", form, "--tag", "<2de>")
    separator = tagged.split()[0]
    windows = f"{first} {separator} {second}\n{third}\n"
    command = ("decode", "--vocab", str(vocabulary), "--as", form, "--documents", "<2de>")
    assert filtered(windows, *command).splitlines() == lines
    # A trainer that splits text into pieces has the spaces around the separator.
    assert filtered(f"{spaced[0]} {separator} {spaced[1]}\n", *command).split("\n") == [lines[0], lines[2], ""]
    (tmp_path / "like").write_text(f"{first}\n{first} {separator} {first} {separator} {first}\n")
    decoded = filtered(windows, *command, "--like", str(tmp_path / "like"))
    assert decoded.split("\n") == [f"{lines[0]} {lines[1]}", lines[2], "", "", ""]
    (tmp_path / "like").write_text(f"{first}\n")
    message = refused(windows.encode(), *command, "--like", str(tmp_path / "like"))
    assert message == f"{tmp_path / 'like'}: it ends before line 2 of standard input\n"
    (tmp_path / "like").write_text(f"{first}\n" * 3)
    message = refused(windows.encode(), *command, "--like", str(tmp_path / "like"))
    assert message == f"standard input ends before line 3 of {tmp_path / 'like'}\n"
    assert refused(b"", *command[:-1], "<x>").startswith(f"--documents: {vocabulary}: ")


def test_a_tag_begins_each_line(vocabulary: Path) -> None:
    text = "".join(f"{line}\n" for line in PLAIN)
    tokenizer = load_tokenizer(vocabulary)
    tag = tokenizer.piece_id("<2de>")
    encoded = filtered(text, "encode", "--vocab", str(vocabulary), "--tag", "<2de>")
    ids = [[int(word) for word in line.split()] for line in encoded.splitlines()]
    assert ids == [[tag, *tokenizer.encode(line)] for line in PLAIN]
    pieces = filtered(text, "encode", "--vocab", str(vocabulary), "--tag", "<2de>", "--as", "pieces")
    assert [line.split(" ")[0] for line in pieces.splitlines()] == [tokenizer.pieces[tag]] * len(PLAIN)


def test_a_tag_begins_each_line_of_pieces_of_codes(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("#version: 0.2\na b</w>\n")
    pieces = filtered("ab ba\n", "encode", "--vocab", str(tmp_path / "codes"), "--tag", "a", "--as", "pieces")
    assert pieces == "a ab b@@ a\n"


def test_a_tag_without_a_piece_is_an_error_before_any_line(vocabulary: Path) -> None:
    result = nmt_prep("encode", "--vocab", vocabulary, "--tag", "<2fr>", stdin=b"some text\n")
    assert (result.returncode, result.stdout) == (1, "")
    message = " ".join(result.stderr.split())
    assert f"--tag: {vocabulary}: '<2fr>' is not a piece of the vocabulary" in message


def test_vocab_describes_a_vocabulary_and_its_coverage_of_a_text(vocabulary: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in TEXT), encoding="utf-8")
    shown = filtered("", "vocab", str(vocabulary), "--text", str(tmp_path / "text"))
    facts: dict[str, str] = {}
    for words in (line.split(maxsplit=1) for line in shown.splitlines()):
        facts.setdefault(words[0], words[-1])
    tokenizer = load_tokenizer(vocabulary)
    assert facts["dialect"].strip() == tokenizer.dialect
    assert facts["pieces"].strip() == f"{len(tokenizer):,}"
    assert facts["fingerprint"].strip() == tokenizer.fingerprint
    assert facts[vocabulary.name].split()[:2] == ["text", f"{len(tokenizer.encode_batch(TEXT).values):,}"]


@pytest.mark.parametrize(
    ("command", "content", "expected"),
    [
        (
            "encode",
            "gut\nschön".encode() + b" \xff\n",
            "standard input, line 2, column 7: not UTF-8 (ff: invalid start byte); convert the text to UTF-8",
        ),
        (
            "encode",
            "x\n".encode("utf-16"),
            "standard input, line 1, column 1: not UTF-8 (ff: invalid start byte) (it",
        ),
        (
            "encode",
            b"a\n" * 3_000_000 + b"\xe4",
            "standard input, line 3000001, column 1: not UTF-8 (e4: ",
        ),
        ("decode", b"2 3\n2  x3 4\n", "standard input, line 2, column 4: not a line of IDs: '2  x3 4'\n"),
        ("decode", b"2 3\n\n2 99999999999\n", "standard input, line 3, column 3: "),
        ("decode --as pieces", b"a_ b_\na_ nope b_\n", "standard input, line 2, column 4: 'nope' is not a piece of"),
    ],
)
def test_errors_name_line_and_column_of_the_input(tmp_path: Path, command: str, content: bytes, expected: str) -> None:
    T2TTokenizer.train(["a b a b"] * 5, 60).save(tmp_path / "v")
    assert refused(content, *command.split(), "--vocab", str(tmp_path / "v")).startswith(expected)


def test_a_character_not_allowed_in_pieces_is_named_by_line_and_column(tmp_path: Path) -> None:
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    tokenizer = SentencePieceTokenizer.train(["a　b", "ab", "a b"] * 20, 9, model_type="bpe", **options)
    tokenizer.save(tmp_path / "v.model")
    message = refused("ab\nab　a\n".encode(), "encode", "--as", "pieces", "--vocab", str(tmp_path / "v.model"))
    assert message.startswith("standard input, line 2, column 3: the text has piece ")


def test_unreadable_text_files(tmp_path: Path) -> None:
    T2TTokenizer.train(["a b a b"] * 5, 60).save(tmp_path / "v")
    (tmp_path / "text").write_bytes(b"a\n\xc3(\n")
    for name, expected in (
        ("none", f"{tmp_path / 'none'}: No such file or directory\n"),
        ("", f"{tmp_path}: Is a directory\n"),
        ("text", f"{tmp_path / 'text'}, line 2, column 1: not UTF-8 (c3: invalid continuation byte); convert"),
    ):
        assert refused(b"", "vocab", str(tmp_path / "v"), "--text", str(tmp_path / name)).startswith(expected)


def test_several_vocabularies_are_compared_by_column(tmp_path: Path) -> None:
    T2TTokenizer.train(["a b a b", "über"] * 5, 60).save(tmp_path / "v.subwords")
    ByteBPETokenizer.train(["a b"] * 5, 260).save(tmp_path / "v.tokenizer.json")
    (tmp_path / "dev.tsv").write_text("a ba\tü\nb\t√b b\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("v.subwords", "v.tokenizer.json")]
    shown = filtered("", "vocab", *files, "--text", str(tmp_path / "dev.tsv"), "--languages", "en-de")
    rows = [row.split() for row in shown.split("\n")]
    assert ["v.tokenizer.json", "en", "4", "1.333", "0.800", "1.000", "0.000%", "0.000%", "256", "of", "259"] in rows
    assert ["v.tokenizer.json", "de", "7", "2.333", "1.400", "1.750", "0.000%", "71.429%", "252", "of", "259"] in rows
    assert ["v.subwords", "de", "11", "3.667", "2.200", "2.750", "9.091%", "0.000%", "22", "of", "31"] in rows
    assert ["v.tokenizer.json", "de", "√b", "(4)", "ü", "(2)"] in rows
    (tmp_path / "dev.tsv").write_text("a\tb\na\n")
    message = refused(b"", "vocab", *files, "--text", str(tmp_path / "dev.tsv"))
    assert message.startswith(f"{tmp_path / 'dev.tsv'}, line 2: expected 2 columns separated by tabs; name the columns")
    assert nmt_prep("vocab", *files).returncode == 2
    assert nmt_prep("vocab", files[0], "--languages", "en-de").returncode == 2


def test_vocabularies_of_a_run(tmp_path: Path) -> None:
    assert "neither" not in refused(b"", "vocab", str(tmp_path))
    vocab = tmp_path / "vocab"
    vocab.mkdir()
    for name in ("v.en", "v.de"):
        T2TTokenizer.train([f"a {name} b"] * 5, 60).save(vocab / name)
    facts = {
        side: {"file": f"v.{language}", "id_layout": None} for side, language in (("source", "en"), ("target", "de"))
    }
    (vocab / "vocab.json").write_text(json.dumps(facts))
    shown = filtered("", "vocab", str(tmp_path)).splitlines()
    assert [line for line in shown if str(vocab) in line] == [f"source: {vocab / 'v.en'}", f"target: {vocab / 'v.de'}"]
    assert sum(line.split() == ["dialect", "t2t"] for line in shown) == 2
    (vocab / "vocab.json").write_text(json.dumps({**facts, "target": facts["source"]}))
    shown = filtered("", "vocab", str(tmp_path)).splitlines()
    assert shown[0] == f"source and target: {vocab / 'v.en'}"
    assert sum(line.split()[:1] == ["dialect"] for line in shown) == 1
    (vocab / "vocab.json").write_text("[]")
    assert refused(b"", "vocab", str(tmp_path)).startswith(f"{vocab / 'vocab.json'} does not describe vocabularies")
    (vocab / "vocab.json").unlink()
    (tmp_path / "records").mkdir()
    assert (
        refused(b"", "vocab", str(tmp_path)) == f"the run in {tmp_path} has no vocabularies yet; run it --until vocab\n"
    )
