"""Pruned vocabularies give the IDs of the original ones, but for their numbers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tiktoken
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, Tokenizer, load_tokenizer
from nmt_prep.subwords.byte_bpe.files import to_tokenizer_json
from nmt_prep.subwords.resizing import editable, kept_ids
from tests.conftest import examples
from tests.reference.sentencepiece import CONTROL, NORMAL, UNUSED, USER_DEFINED
from tests.subwords.byte_bpe.samples import LINES, small_tokenizer
from tests.subwords.resizing.texts import LANGUAGES
from tests.subwords.sentencepiece.json_models import SPECIAL, added, content, data
from tests.subwords.sentencepiece.models import BPE, BYTES, UNIGRAM, UNK, library, model_file, trained
from tests.subwords.sentencepiece.test_json_properties import STEPS, TEXTS, bpe_models, unigram_models
from tests.subwords.sentencepiece.test_properties import bpe_models_of_runs, models, ties
from tests.subwords.sentencepiece.test_properties import texts as model_texts


def pruned(
    path: Path, lines: list[str], *, least: int = 1, keep: tuple[int, ...] = (), **options: Any
) -> tuple[Tokenizer, Tokenizer]:
    """Prunes a file to lines, in place; returns the old and the new tokenizer, and checks their IDs."""
    old = load_tokenizer(path, **options)
    counts = np.bincount(old.encode_batch(lines).values, minlength=len(old))
    vocabulary = editable(old, path, "x")
    ids = kept_ids(vocabulary, old, counts, least, keep)
    path.write_bytes(vocabulary.edited(ids))
    new = load_tokenizer(path, **options)
    assert [*new.pieces] == [old.pieces[number] for number in ids]
    if least == 1:
        numbers = {number: place for place, number in enumerate(ids.tolist())}
        expected = [[numbers[number] for number in row] for row in old.encode_batch(lines).to_lists()]
        assert new.encode_batch(lines).to_lists() == expected
    return old, new


def json_of(tokenizer: ByteBPETokenizer, **changes: Any) -> bytes:
    """Returns a tokenizer.json with other parts."""
    return json.dumps(json.loads(to_tokenizer_json(tokenizer.vocabulary)) | changes).encode()


MODELS = st.one_of(models((NORMAL, USER_DEFINED, UNUSED, CONTROL)), bpe_models_of_runs())
LENIENT = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@settings(max_examples=examples(150), **LENIENT)
@given(MODELS, st.lists(st.one_of(model_texts, ties, st.text("あいう 中", max_size=30)), max_size=4))
def test_random_models(tmp_path: Path, model: bytes, lines: list[str]) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(model)
    try:
        editable(load_tokenizer(path), path, "x")
    except VocabularyError:  # user-defined symbols that are refused
        return
    _, new = pruned(path, lines)
    assert library(path.read_bytes()).encode(lines, out_type=int) == new.encode_batch(lines).to_lists()


@settings(max_examples=examples(100), **LENIENT)
@given(st.one_of(unigram_models(), bpe_models()), st.sampled_from(STEPS), TEXTS)
def test_random_tokenizer_json(
    tmp_path: Path, model: dict[str, Any], steps: tuple[dict[str, Any] | None, dict[str, Any] | None], lines: list[str]
) -> None:
    names = [*model["vocab"]] if model["type"] == "BPE" else [name for name, _ in model["vocab"]]
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data(content(model, *steps, tokens=added((name, names.index(name)) for name in SPECIAL))))
    pruned(path, [*lines, "ab▁é日𠮷"])


@settings(max_examples=examples(60), **LENIENT)
@given(st.lists(st.tuples(*[st.integers(0, 30)] * 2), max_size=25), st.lists(st.text("ab c", max_size=20), max_size=4))
def test_random_merges_of_bytes(tmp_path: Path, drawn: list[tuple[int, int]], lines: list[str]) -> None:
    """Also several merges that make the same token, in any order."""
    known, merges = ["a", "b", "c", "Ġ"], list[str]()
    for left, right in drawn:
        pair = known[left % len(known)], known[right % len(known)]
        if len("".join(pair)) < 12:
            merges.append(" ".join(pair))
            known.append("".join(pair))
    model = json.loads(json_of(small_tokenizer()))["model"]
    alphabet = [piece for piece in model["vocab"] if len(piece) == 1]
    model |= {"vocab": {piece: at for at, piece in enumerate(dict.fromkeys([*alphabet, *known]))}, "merges": merges}
    (tmp_path / "tokenizer.json").write_bytes(json_of(small_tokenizer(), added_tokens=[], model=model))
    pruned(tmp_path / "tokenizer.json", lines)


@pytest.mark.parametrize(
    "name", ["gpt2.tokenizer.json", "gpt_neox.tokenizer.json", "cl100k_base.tiktoken", "llama2.sentencepiece.model"]
)
def test_published_models(shared: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes((shared / "golden" / "published" / name).read_bytes())
    _, new = pruned(path, LANGUAGES)
    check_library(path, new)
    assert len(new) < {"gpt2": 1100, "gpt_neox": 1200, "cl100k_base": 1200, "llama2": 1200}[name.partition(".")[0]]


def check_library(path: Path, ours: Tokenizer) -> None:
    """Compares with the library that reads a file."""
    rows = ours.encode_batch(LANGUAGES).to_lists()
    if path.suffix == ".model":
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        assert processor.encode(LANGUAGES, out_type=int) == rows
        assert (processor.unk_id(), processor.eos_id()) == (ours.unk_id, -1 if ours.eos_id is None else ours.eos_id)
        assert processor.decode(rows) == ours.decode_batch(ours.encode_batch(LANGUAGES))
    elif path.suffix == ".tiktoken":
        assert isinstance(ours, ByteBPETokenizer)
        lines = (line.split() for line in path.read_bytes().splitlines())
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        pattern = ours.vocabulary.pretokenization.ranks_pattern
        peer = tiktoken.Encoding(
            "x", pat_str=str(pattern), mergeable_ranks=ranks, special_tokens=ours.vocabulary.specials
        )
        assert peer.encode_ordinary_batch(LANGUAGES) == rows
        assert peer.n_vocab == len(ours)
    else:
        reader = tokenizers.Tokenizer.from_file(str(path))
        assert [reader.encode(line, add_special_tokens=False).ids for line in LANGUAGES] == rows
        assert reader.get_vocab_size() == len(ours)


def test_what_stays(tmp_path: Path) -> None:
    pieces = [("▁a", -1.0), ("b", -2.0), ("▁ab", -1.5), ("q", -9.0), ("x", -3.0)]
    defined = ("@", 0.0, USER_DEFINED)
    listed = [UNK, ("</s>", 0.0, CONTROL), defined, *((text, score, NORMAL) for text, score in pieces)]
    (tmp_path / "x.model").write_bytes(model_file(listed, UNIGRAM))
    _, new = pruned(tmp_path / "x.model", ["ab"])
    assert [*new.pieces] == ["<unk>", "</s>", "@", "▁ab", "q"]  # q has the lowest score
    assert new.encode("ab é") == [3, 0]
    (tmp_path / "x.model").write_bytes(model_file([*listed, *BYTES], BPE, byte_fallback=True))
    _, new = pruned(tmp_path / "x.model", ["ab"], keep=(7,))
    assert [*new.pieces[:8]] == ["<unk>", "</s>", "@", "▁a", "b", "▁ab", "x", "<0x00>"]  # "▁a" is on the way to "▁ab"


def test_rare_pieces_are_spelled_by_their_characters(tmp_path: Path) -> None:
    lines = ["low lower", "low low", "lower", "wide"]
    (tmp_path / "x.model").write_bytes(trained(lines * 9, 30, model_type="bpe"))
    old, new = pruned(tmp_path / "x.model", lines, least=2)
    assert "▁wide" in old.pieces
    assert "▁wide" not in new.pieces
    assert new.unk_id not in new.encode_batch(lines).values


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("layout", ["sentencepiece", "fairseq"])
def test_layouts_and_special_ids(tmp_path: Path, model_type: str, layout: Any) -> None:
    options = (
        {"pad_id": 3, "unk_id": 0, "bos_id": 1, "eos_id": 2}
        if layout == "sentencepiece"
        else {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": None}
    )
    (tmp_path / "x.model").write_bytes(trained(LINES * 3, 200, model_type=model_type, **options))
    _, new = pruned(tmp_path / "x.model", LINES[:2], id_layout=layout)
    roles = ("pad_id", "unk_id", "bos_id", "eos_id")
    assert [new.pieces[getattr(new, role)] for role in roles] == ["<pad>", "<unk>", "<s>", "</s>"]
    reason = editable(new, tmp_path / "x.model", "x").fixed_ids_reason
    assert (reason is None) == (layout == "sentencepiece")
    if layout == "fairseq":
        assert new.pieces[-1] == "<mask>"
    else:
        check_library(tmp_path / "x.model", new)


def test_special_pieces_behind_others_are_renumbered(tmp_path: Path) -> None:
    listed = [("a", -1.0, NORMAL), ("b", -2.0, NORMAL), ("c", -9.0, NORMAL), UNK, ("<s>", 0.0, CONTROL)]
    (tmp_path / "x.model").write_bytes(model_file(listed, UNIGRAM, dummy_prefix=False))
    _, new = pruned(tmp_path / "x.model", ["b"])
    processor = library((tmp_path / "x.model").read_bytes())
    assert [*new.pieces] == ["b", "c", "<unk>", "<s>"]
    assert (processor.unk_id(), processor.bos_id(), processor.encode("xb", out_type=int)) == (2, 3, [2, 0])


def test_a_numbering_of_marian_follows(tmp_path: Path) -> None:
    (tmp_path / "x.spm").write_bytes(trained(LINES * 3, 200, model_type="unigram"))
    plain = SentencePieceTokenizer.load(tmp_path / "x.spm")
    ids = {piece: number for number, piece in enumerate(["</s>", "<unk>", "other", *plain.pieces[3:], "<pad>"])}
    plain.numbered(ids).save(tmp_path / "x.spm")
    _, new = pruned(tmp_path / "x.spm", LINES[:2])
    assert (new.pieces[0], new.pieces[1], new.pieces[-1], new.pad_id) == ("</s>", "<unk>", "<pad>", len(new) - 1)
    assert "other" not in new.pieces
    assert isinstance(new, SentencePieceTokenizer)
    assert new.numbering == {piece: number for number, piece in enumerate(new.pieces)}


def test_pieces_that_a_numbering_lacks_keep_their_parts(tmp_path: Path) -> None:
    pieces = [("▁", -9.0), ("a", -8.0), ("b", -7.0), ("c", -6.0), ("d", -5.0), ("ab", -1.0), ("abc", -2.0)]
    (tmp_path / "x.spm").write_bytes(model_file([UNK, *((text, score, NORMAL) for text, score in pieces)], BPE))
    names = ["</s>", "<unk>", "▁", "a", "b", "c", "d", "abc"]  # without "ab", which is on the way to "abc"
    ids = {piece: number for number, piece in enumerate(names)}
    SentencePieceTokenizer.load(tmp_path / "x.spm").numbered(ids).save(tmp_path / "x.spm")
    _, new = pruned(tmp_path / "x.spm", ["abc"])
    assert [*new.pieces] == ["</s>", "<unk>", "▁", "a", "b", "c", "abc"]


def test_openais_files_become_a_tokenizer_json(tmp_path: Path) -> None:
    ByteBPETokenizer.train(["model"] * 9, 262).save(tmp_path, format="openai")
    old = load_tokenizer(tmp_path / "encoder.json")
    vocabulary = editable(old, tmp_path / "encoder.json", "x")
    kept = kept_ids(vocabulary, old, np.zeros(len(old), np.int64), 1, [old.piece_id("model")])
    (tmp_path / "tokenizer.json").write_bytes(vocabulary.edited(kept))
    assert load_tokenizer(tmp_path / "tokenizer.json").pieces == old.pieces


def test_the_rest_of_a_tokenizer_json_follows(tmp_path: Path) -> None:
    file = json.loads(json_of(ByteBPETokenizer.train(LINES, 300, bos="<s>")))
    vocab = file["model"]["vocab"]
    ids = {name: len(vocab) - 3 + place for place, name in enumerate(["<pad>", "<EOS>", "<s>"])}
    file["model"]["vocab"] = {piece: number - 3 for piece, number in vocab.items() if number > 2} | ids
    for token in file["added_tokens"]:
        token["id"] = ids[token["content"]]
    template = {"<s>": {"id": "<s>", "ids": [ids["<s>"]], "tokens": ["<s>"]}}
    sequence = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    file["post_processor"] = {
        "type": "TemplateProcessing",
        "single": sequence,
        "pair": [*sequence, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": template,
    }
    padding = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_type_id": 0}
    file["padding"] = {**padding, "pad_id": ids["<pad>"], "pad_token": "<pad>"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    _, new = pruned(tmp_path / "tokenizer.json", ["the cat"])
    check_library(tmp_path / "tokenizer.json", new)
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert peer.encode("the cat").tokens == ["<s>", "the", "Ġcat"]
    assert peer.encode("the cat").ids == [new.piece_id("<s>"), *new.encode("the cat")]
    assert peer.padding["pad_id"] == new.pad_id


def with_tokens(*names: str, **flags: bool) -> bytes:
    tokens = added([(name, len(small_tokenizer()) + place) for place, name in enumerate(names)], **flags)
    return json_of(small_tokenizer(), added_tokens=tokens, normalizer={"type": "Lowercase"})


def with_special_tokens(ids: object) -> bytes:
    processor = {"type": "TemplateProcessing", "special_tokens": {"x": {"ids": ids}}}
    return json_of(small_tokenizer(), added_tokens=[], post_processor=processor)


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("a.json", lambda: with_tokens("<x>", "<x>y"), "the added token '<x>y' contains the added token '<x>'; libr"),
        ("a.json", lambda: with_tokens("Ab", special=False, normalized=True),
         "the added token 'Ab' is searched in normalized text, where it reads 'ab'"),
        *(
            ("a.json", partial(with_special_tokens, ids),
             "post_processor or padding is damaged, or names an ID that the")
            for ids in (None, [999], ["y"])
        ),
        ("x.model", lambda: trained(["a b ab"] * 9, 12, user_defined_symbols=["<a>", "b<a>"]),
         "the user-defined symbol 'b<a>' contains the user-defined symbol '<a>'"),
        ("x.model", lambda: trained(["a b ab"] * 9, 12, user_defined_symbols=["①"]),
         "the model's normalization makes '1' from the user-defined symbol '①', and libr"),
        ("x.subwords", lambda: b"'<pad>'\n'<EOS>'\n'a_'\n'b_'\n",
         "a vocabulary of kind t2t cannot be pruned or extended, only byte-l"),
    ],
)  # fmt: skip
def test_refused_files(tmp_path: Path, name: str, make: Callable[[], bytes], message: str) -> None:
    (tmp_path / name).write_bytes(make())
    with pytest.raises(VocabularyError, match=f"x: {message}"):
        editable(load_tokenizer(tmp_path / name), tmp_path / name, "x")
