from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from _nmt_prep_core import ByteBPEModel
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer, models
from tokenizers import pre_tokenizers as peer_pre_tokenizers

from nmt_prep.base.errors import OutputError, VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import (
    BYTE_CHARACTERS,
    GPT2_PATTERN,
    Pretokenization,
    byte_level,
    bytes_of,
    spelled,
)
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary
from tests.subwords.byte_bpe.samples import LINES, small_tokenizer

TEXTS = [*LINES, "", " x", "  two  spaces \n", "<pad>", "👩🏽\u200d🚀 naïve ½", "cat's'd'LL don't", "\t的的的的的猫"]
TEXTS_WITHOUT_PAD = [text for text in TEXTS if text != "<pad>"]


def test_byte_characters() -> None:
    assert len(set(BYTE_CHARACTERS)) == 256
    assert [spelled(bytes([byte])) for byte in (0, 32, 33, 126, 127, 160, 173, 255)] == [*"ĀĠ!~ġłŃÿ"]
    assert spelled("é 好".encode()) == "Ã©Ġå¥½"
    assert bytes_of("Ã©Ġå¥½") == "é 好".encode()
    assert bytes_of("好") is None


def same_ids(tokenizer: ByteBPETokenizer, encode: Callable[[str], list[int]], texts: list[str] = TEXTS) -> None:
    assert tokenizer.encode_batch(texts).to_lists() == [encode(text) for text in texts]


def test_tokenizer_json_in_tokenizers(tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    tokenizer.save(tmp_path / "tokenizer.json")
    peer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    same_ids(tokenizer, lambda text: peer.encode(text).ids, TEXTS_WITHOUT_PAD)
    assert peer.encode("the<sep>cat").ids == tokenizer.encode("the<sep>cat", allowed_special="all")
    assert peer.decode(peer.encode(LINES[2]).ids) == LINES[2]
    assert {number: peer.id_to_token(number) for number in range(400)} == dict(enumerate(tokenizer.pieces))

    for path in (tmp_path, tmp_path / "tokenizer.json"):
        loaded = ByteBPETokenizer.load(path)
        assert loaded.fingerprint == tokenizer.fingerprint
        assert (loaded.pad_id, loaded.eos_id, loaded.bos_id) == (0, 1, 2)


def test_tokenizer_json_written_by_tokenizers(tmp_path: Path) -> None:
    small_tokenizer().save(tmp_path / "ours.json")
    peer = Tokenizer.from_file(str(tmp_path / "ours.json"))
    for number, pre_tokenizer in enumerate(
        [
            peer_pre_tokenizers.ByteLevel(add_prefix_space=False),
            peer_pre_tokenizers.ByteLevel(add_prefix_space=True),
            peer_pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ):
        peer.pre_tokenizer = pre_tokenizer
        peer.save(str(tmp_path / f"{number}.json"))
        tokenizer = ByteBPETokenizer.load(tmp_path / f"{number}.json")
        same_ids(tokenizer, lambda text: peer.encode(text).ids, TEXTS_WITHOUT_PAD)


def test_own_pattern_in_tokenizer_json(tmp_path: Path) -> None:
    tokenizer = ByteBPETokenizer.train(LINES, 350, pattern=r"\p{L}{1,3}|\d| ?[^\s\p{L}\d]+|\s+")
    tokenizer.save(tmp_path / "own.json")
    peer = Tokenizer.from_file(str(tmp_path / "own.json"))
    same_ids(tokenizer, lambda text: peer.encode(text).ids, TEXTS_WITHOUT_PAD)
    assert ByteBPETokenizer.load(tmp_path / "own.json").fingerprint == tokenizer.fingerprint


def test_openai_files(tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    tokenizer.save(tmp_path / "gpt", format="openai")
    assert sorted(path.name for path in (tmp_path / "gpt").iterdir()) == ["encoder.json", "vocab.bpe"]
    assert (tmp_path / "gpt/vocab.bpe").read_text().startswith("#version: 0.2\n")
    peer = Tokenizer(models.BPE.from_file(str(tmp_path / "gpt/encoder.json"), str(tmp_path / "gpt/vocab.bpe")))
    peer.pre_tokenizer = peer_pre_tokenizers.ByteLevel(add_prefix_space=False)
    same_ids(tokenizer, lambda text: peer.encode(text).ids)
    for name in ("gpt", "gpt/encoder.json", "gpt/vocab.bpe"):
        assert ByteBPETokenizer.load(tmp_path / name).fingerprint == tokenizer.fingerprint
    (tmp_path / "gpt/encoder.json").rename(tmp_path / "gpt/vocab.json")
    (tmp_path / "gpt/vocab.bpe").rename(tmp_path / "gpt/merges.txt")
    assert ByteBPETokenizer.load(tmp_path / "gpt").fingerprint == tokenizer.fingerprint


def test_tiktoken_ranks(tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    path = tmp_path / "small.tiktoken"
    tokenizer.save(path, format="tiktoken")
    specials = dict(tokenizer.vocabulary.specials)
    peer = tiktoken.Encoding(
        "small", pat_str=GPT2_PATTERN, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens=specials
    )
    same_ids(tokenizer, peer.encode_ordinary)
    text = "the<sep>x<pad>cat"
    assert peer.encode(text, allowed_special={"<pad>"}, disallowed_special=()) == tokenizer.encode(
        text, allowed_special={"<pad>"}, disallowed_special=()
    )
    loaded = ByteBPETokenizer.load(path, pattern=GPT2_PATTERN, specials=specials)
    same_ids(loaded, peer.encode_ordinary)
    assert loaded.decode(loaded.encode(LINES[2])) == LINES[2]
    assert np.array_equal(loaded.vocabulary.merges, tokenizer.vocabulary.merges)
    loaded.save(tmp_path / "again.json")
    again = Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again.encode(LINES[0]).ids == peer.encode_ordinary(LINES[0])


def test_tiktoken_ranks_unreachable_by_merges(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {
        b"ab": 256,
        b"bc": 257,
        b"abc": 300,
        b"abcd": 258,
        b"xyz": 259,
    }
    path = tmp_path / "ranks"
    path.write_bytes(b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items()))
    peer = tiktoken.Encoding("ranks", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={"<e>": 302})
    tokenizer = ByteBPETokenizer.load(path, pattern=GPT2_PATTERN, specials={"<e>": 302})
    for text in ("xyz", "xyzz", "abcd abc", "abcdabcd", "bcd", "xxyz xyz"):
        assert tokenizer.encode(text) == peer.encode_ordinary(text)
    assert len(tokenizer) == 303
    assert tokenizer.pieces[260] == ""
    tokenizer.save(tmp_path / "again", format="tiktoken")
    assert load_tiktoken_bpe(str(tmp_path / "again")) == ranks


def vocabulary(merges: list[tuple[bytes, bytes]], tokens: list[bytes], **options: Any) -> ByteBPEVocabulary:
    all_tokens = (*(bytes([byte]) for byte in range(256)), *tokens)
    ids = {token: number for number, token in enumerate(all_tokens)}
    rules = [[ids[left], ids[right], ids[left + right]] for left, right in merges]
    return ByteBPEVocabulary(all_tokens, np.array(rules, np.int32).reshape(-1, 3), **options)


OWN = Pretokenization.by_pattern(r"\w+")
PREFIXED = Pretokenization(add_prefix_space=True)
NORMALIZED = Pretokenization.by_steps({"type": "NFC"}, byte_level(use_regex=True))
DIGITS = {"type": "Digits", "individual_digits": True}
TWICE = Pretokenization.by_steps(None, {"type": "Sequence", "pretokenizers": [DIGITS, byte_level(use_regex=True)]})


@pytest.mark.parametrize(
    ("content", "file_format", "reason"),
    [
        (
            vocabulary([], [], pretokenization=Pretokenization.by_pattern(r"\w+")),
            "openai",
            "pretokens follow a pattern that is not GPT-2's",
        ),
        (vocabulary([], [], pretokenization=PREFIXED), "openai", "a space is added before each line"),
        (vocabulary([], [b"xyz"]), "openai", "'xyz' is a token although no merge produces it"),
        (vocabulary([], [], pretokenization=PREFIXED), "tiktoken", "a space is added before each line"),
        (vocabulary([], [], pretokenization=NORMALIZED), "openai", "text is normalized"),
        (vocabulary([], [], pretokenization=NORMALIZED), "tiktoken", "text is normalized"),
        (vocabulary([], [], pretokenization=TWICE), "tiktoken", "pretokens follow several patterns, or none"),
        (
            vocabulary([], [b""], added={"  ": AddedToken(256, special=False)}),
            "openai",
            "the added token '  ' is recognized in ordinary text, or depends on the text around it",
        ),
        (
            vocabulary([], [b""], added={"  ": AddedToken(256, lstrip=True)}),
            "tiktoken",
            "the added token '  ' is recognized in ordinary text, or depends on the text around it",
        ),
        (
            vocabulary([], [b"xyz"]),
            "tiktoken",
            "some tokens are never used, because no sequence of merges produces them",
        ),
        (
            vocabulary([(b"b", b"c"), (b"a", b"b")], [b"ab", b"bc"]),
            "tiktoken",
            "the order of merges differs from the order of IDs",
        ),
    ],
)
def test_vocabularies_that_a_format_cannot_represent(
    tmp_path: Path, content: ByteBPEVocabulary, file_format: Any, reason: str
) -> None:
    with pytest.raises(VocabularyError, match=f"cannot express that {reason}; use format='tokenizer.json'"):
        ByteBPETokenizer(content).save(tmp_path / "x", format=file_format)
    assert not list(tmp_path.iterdir())


def test_unwritable_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"format 'pickle': it must be one of tokenizer.json, openai, tiktoken"):
        small_tokenizer().save(tmp_path / "x", format="pickle")  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        small_tokenizer().save(tmp_path / "file/x.json")


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Writes the small vocabulary's tokenizer.json after a change to its content."""

    def write(path: Path) -> None:
        small_tokenizer().save(path)
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return write


def raw(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


SPLIT = {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}


def part(**changes: Any) -> Callable[[Path], None]:
    return edited(lambda content: content.update(changes))


def model(**changes: Any) -> Callable[[Path], None]:
    return edited(lambda content: content["model"].update(changes))


def vocab(changes: dict[str, Any]) -> Callable[[Path], None]:
    return edited(lambda content: content["model"]["vocab"].update(changes))


def merge(rule: Any) -> Callable[[Path], None]:
    return edited(lambda content: content["model"]["merges"].append(rule))


def token(entry: Any) -> Callable[[Path], None]:
    return edited(lambda content: content["added_tokens"].append(entry))


def steps(*parts: object) -> Callable[[Path], None]:
    return part(pre_tokenizer={"type": "Sequence", "pretokenizers": list(parts)})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (raw(b""), "the last line has no line end, so the file is truncated"),
        (raw(b'{"model": {"type": "BPE"'), "is not valid JSON .*fetch the file again"),
        (raw(b'{"model": 1}'), "model is missing or not an object"),
        (raw(b"{}"), "model is missing"),
        (raw(b'{"a": "\xff"}'), "byte 7 is not UTF-8"),
        (raw(b"{" * 100_000), "is not valid JSON"),
        (raw(b"\x1f\x8b\x08\x00\n"), "line 1: expected a token in base64"),
        (raw(b"IQ== 0\nIg== x\n"), "line 2: expected a token in base64 and its rank"),
        (raw(b"IQ== 0\nIQ== 1\n"), "2 lines have 1 distinct tokens"),
        (raw(b"IQ== 0\n"), "have no pattern; load it with pattern="),
        (raw(b"'<pad>_'\n'<EOS>_'\n"), "line 1: expected a token in base64"),
        (model(type="WordPiece"), "a model of type 'WordPiece' is not supported"),
        (model(byte_fallback=True), "byte_fallback True is not supported"),
        (model(end_of_word_suffix="</w>"), "end_of_word_suffix '</w>'"),
        (model(dropout=0.1), "dropout 0.1 is not supported: encode with dropout="),
        (part(normalizer={"type": "Uppercase"}), "tokenizers does not accept .*Uppercase"),
        (part(pre_tokenizer=None), "the pre-tokenizer None is not supported"),
        (part(pre_tokenizer={"type": "Metaspace"}), "the pre-tokenizer Metaspace"),
        (steps(BYTE_LEVEL, {"type": "Metaspace"}), "steps after ByteLevel may only split"),
        (steps(), "the pre-tokenizer None"),
        (steps("x", BYTE_LEVEL), "tokenizers does not accept"),
        (steps(BYTE_LEVEL, "x"), "tokenizers does not accept"),
        (steps({**SPLIT, "behavior": "Thrown"}, BYTE_LEVEL), "tokenizers does not accept .*Thrown"),
        (steps(SPLIT), "pre-tokenizer Split is not supported: it must contain"),
        (steps(BYTE_LEVEL, BYTE_LEVEL), "ByteLevel, ByteLevel is not supported"),
        (steps({**BYTE_LEVEL, "use_regex": "no"}), "use_regex is 'no', not true or false"),
        (steps({**SPLIT, "pattern": {"Regex": "(a"}}, BYTE_LEVEL), r"tokenizers does not accept .*\(a"),
        (steps({**SPLIT, "pattern": {}}, BYTE_LEVEL), "tokenizers does not accept"),
        (vocab({"a": "x"}), "token 'a' has the ID 'x', not a number"),
        (vocab({"a": True}), "token 'a' has the ID True"),
        (vocab({"a": 6}), "both have ID 6"),
        (vocab({"a": 10**9}), "IDs must be 0 or more, without large gaps"),
        (vocab({"a": -1}), "IDs must be 0 or more"),
        (vocab({"▁x": 400}), "'▁x' .* is not spelled with GPT-2's 256 characters"),
        (vocab({"": 400}), "token '' "),
        (model(merges=None), "model.merges is missing or not a list"),
        (merge("a"), "a merge joins two tokens, found 'a'"),
        (merge(["a", 1]), "a merge joins two tokens"),
        (merge("z z"), "merge 139 joins 'z' and 'z', but 'zz' is not in the vocab"),
        (merge("< sep>"), "'sep>' is not in the vocabulary"),
        (token({"id": 5}), "needs a content, the same ID"),
        (token({"id": 7, "content": "the"}), "needs a content, the same ID"),
        (token({"id": 400, "content": "\ud800"}), "needs a content"),
        (token({"id": True, "content": "x"}), "needs a content"),
        (token("x"), "the added token 'x'"),
        (token({"id": 400, "content": "x", "lstrip": 1}), "flags that are"),
        (token({"id": 0, "content": "<pad>"}), "the added token '<pad>' is given twice"),
        (token({"id": 401, "content": "xyz"}), "tokenizers would assign 400"),
        (part(added_tokens={"a": 1}), "added_tokens is missing or not a list"),
        (
            edited(lambda c: c["added_tokens"].append({"id": c["model"]["vocab"]["the"], "content": "the"})),
            "but 'the' is an added token",
        ),
    ],
)
def test_damaged_or_foreign_files(tmp_path: Path, write: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "tokenizer.json"
    write(path)
    with pytest.raises(VocabularyError, match=message) as raised:
        ByteBPETokenizer.load(path)
    assert str(path) in str(raised.value)


def test_more_merges_than_are_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.subwords.byte_bpe.vocabulary.MAX_MERGES", 130)
    small_tokenizer().save(tmp_path / "tokenizer.json")
    with pytest.raises(VocabularyError, match="139 merges are more than the 130 that are supported"):
        ByteBPETokenizer.load(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match="there are too many merges"):
        ByteBPEModel([b"a"], [], np.zeros(3 << 22, np.int32), False)


def test_truncated_files(tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    formats: dict[Any, Path] = {
        "tokenizer.json": tmp_path / "t.json",
        "openai": tmp_path,
        "tiktoken": tmp_path / "ranks",
    }
    for file_format, target in formats.items():
        tokenizer.save(target, format=file_format)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for size in [*range(0, len(whole) - 2, max(len(whole) // 40, 1)), len(whole) - 2]:
            # A rank file cut at the end of a line is valid, so it cannot be recognised.
            path.write_bytes(whole[:size].removesuffix(b"\n"))
            with pytest.raises(VocabularyError):
                ByteBPETokenizer.load(path, pattern=GPT2_PATTERN, specials=dict(tokenizer.vocabulary.specials))
        path.write_bytes(whole)


def test_merges_truncated_at_a_line(tmp_path: Path) -> None:
    small_tokenizer().save(tmp_path, format="openai")
    path = tmp_path / "vocab.bpe"
    lines = path.read_bytes().splitlines(keepends=True)
    for count in (0, 1, 2, 70, len(lines) - 1):
        path.write_bytes(b"".join(lines[:count]))
        with pytest.raises(VocabularyError, match="truncated"):
            ByteBPETokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("encoder", "merges", "message"),
    [
        ('{"a": 0, "b": "x"}', "#version: 0.2\n", "token 'b' has the ID 'x'"),
        ('{"a": 0, "b": 1, "ab": 2}', "#version: 0.2\n", "no merge produces 'ab', although both its halves are tokens"),
        ('{"a": 0}', "a b c\n", "vocab.bpe, line 1: expected two tokens"),
        ('{"a": 0}', "#version: 0.2\na b\n", "merge 0 joins 'a' and 'b', but 'b' is not in the vocabulary"),
        ("[]", "\n", "is JSON, but not an object"),
    ],
)
def test_damaged_openai_files(tmp_path: Path, encoder: str, merges: str, message: str) -> None:
    (tmp_path / "encoder.json").write_text(encoder)
    (tmp_path / "vocab.bpe").write_text(merges)
    with pytest.raises(VocabularyError, match=message):
        ByteBPETokenizer.load(tmp_path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"holds none of tokenizer.json, encoder.json, vocab.json"):
        ByteBPETokenizer.load(tmp_path)
    with pytest.raises(VocabularyError, match="No such file or directory; check the path"):
        ByteBPETokenizer.load(tmp_path / "x.json")
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(VocabularyError, match=r"vocab.bpe: No such file"):
        ByteBPETokenizer.load(tmp_path)
    (tmp_path / "ranks").write_text("IQ== 0\n")
    with pytest.raises(VocabularyError, match="no rank for byte 0 and 254 more"):
        ByteBPETokenizer.load(tmp_path / "ranks", pattern=GPT2_PATTERN)


def test_roles(tmp_path: Path) -> None:
    small_tokenizer().save(tmp_path / "x.json")
    tokenizer = ByteBPETokenizer.load(tmp_path / "x.json", pad="<sep>", eos="<sep>x", bos="<pad>")
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id) == (3, 4, 0)
    with pytest.raises(VocabularyError, match="no special token '</s>'"):
        ByteBPETokenizer.load(tmp_path / "x.json", eos="</s>")
