from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, DownloadError, TokenizerError, VocabularyError
from nmt_prep.cli.run import batch_preview
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpus import corpus_config, pair, write_corpus
from tests.hub import running_hub
from tests.server import web_server

LINES = [text for number in range(300) for text in pair(number)]


def save_vocabulary(path: Path, kind: str) -> nmt_prep.Tokenizer:
    tokenizer: nmt_prep.Tokenizer
    if kind == "t2t":
        tokenizer = nmt_prep.T2TTokenizer.train(LINES, 200, reserved=["<2zh>"])
    elif kind == "byte_bpe":
        tokenizer = nmt_prep.ByteBPETokenizer.train(LINES, 300, reserved=["<2zh>"])
    else:
        tokenizer = nmt_prep.SentencePieceTokenizer.train(LINES, 120, hard_vocab_limit=False, control_symbols="<2zh>")
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(path)
    return tokenizer


def run(place: Path, until: str | None = "encode", **changes: Any) -> list[str]:
    write_corpus(place)
    config = corpus_config(place / "run", **changes)
    return [outcome.stage for outcome in nmt_prep.run(config, until=until, workers=1)]


def rows(run: Path) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Returns the IDs of both sides of each pair of the train split."""
    found = set()
    for shard in sorted((run / "records").glob("small-train-*")):
        sources, targets = (side.to_lists() for side in read_shard(shard))
        found |= {(tuple(source), tuple(target)) for source, target in zip(sources, targets, strict=True)}
    return found


@pytest.mark.parametrize(
    ("kind", "name"), [("t2t", "words"), ("byte_bpe", "tokenizer.json"), ("sentencepiece", "vocab.spm")]
)
def test_records_have_the_ids_of_an_existing_vocabulary(tmp_path: Path, kind: str, name: str) -> None:
    tokenizer = save_vocabulary(tmp_path / name, kind)
    stages = run(tmp_path, None, vocab={"from": name, "kind": kind})
    assert "sample" not in stages
    assert "report" in stages
    info = load_dataset_info(tmp_path / "run" / "records")
    facts = info.vocab.source
    assert (facts.file, facts.kind, facts.fingerprint) == (f"../vocab/{name}", kind, tokenizer.fingerprint)
    assert info.vocab.target == facts
    assert (tmp_path / "run" / "vocab" / name).read_bytes() == (tmp_path / name).read_bytes()
    expected = [tuple([*tokenizer.encode(text), tokenizer.eos_id] for text in pair(number)) for number in range(300)]
    assert rows(tmp_path / "run") == {(tuple(source), tuple(target)) for source, target in expected}


def test_codes_have_the_ids_of_a_vocabulary_for_each_side(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("#version: 0.2\n0 0\n00 0\n")
    for side in ("source", "target"):
        words = sorted({word for number in range(300) for word in pair(number)[side == "target"].split(" ")})
        (tmp_path / side).write_text("".join(f"{piece} 9\n" for piece in [f"{side}@@", *words]))
    run(tmp_path, vocab={"from": "codes", "ids": {"source": "source", "target": "target"}, "threshold": 2})
    folder = tmp_path / "run" / "vocab"
    tokenizers = [
        nmt_prep.SubwordNMTTokenizer.load(tmp_path / "codes", vocabulary=tmp_path / side, threshold=2)
        for side in ("source", "target")
    ]
    assert tokenizers[0].pieces[:5] == ("<pad>", "</s>", "<unk>", "<s>", "source@@")
    for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        stored = nmt_prep.load_tokenizer(folder / f"{side}.codes.subword_nmt.json")
        assert stored.fingerprint == tokenizer.fingerprint
    expected = {
        tuple((*tokenizer.encode(text), 1) for tokenizer, text in zip(tokenizers, pair(number), strict=True))
        for number in range(300)
    }
    assert rows(tmp_path / "run") == expected


def test_segmented_text_gets_the_ids_of_a_list_of_words(tmp_path: Path) -> None:
    words = sorted({word for number in range(300) for text in pair(number) for word in text.split(" ")})
    (tmp_path / "list").write_text("\n".join(["<unk>", "<s>", "</s>", *words, ""]))
    run(tmp_path, vocab={"from": "list"})
    ids = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", *words])}
    expected = {tuple((*(ids[word] for word in text.split(" ")), 2) for text in pair(number)) for number in range(300)}
    assert rows(tmp_path / "run") == expected


def test_each_side_may_have_a_file_of_its_own_dialect(tmp_path: Path) -> None:
    source = save_vocabulary(tmp_path / "a" / "vocab", "t2t")
    target = save_vocabulary(tmp_path / "b" / "vocab", "byte_bpe")
    run(tmp_path, until="vocab", vocab={"from": {"source": "a/vocab", "target": "b/vocab"}})
    facts = json.loads((tmp_path / "run" / "vocab" / "vocab.json").read_text())
    assert [(facts[side]["file"], facts[side]["kind"]) for side in ("source", "target")] == [
        ("source.vocab", "t2t"),
        ("target.vocab", "byte_bpe"),
    ]
    assert [facts[side]["fingerprint"] for side in ("source", "target")] == [source.fingerprint, target.fingerprint]


def test_a_vocabulary_behind_a_url_is_stored_by_digest(tmp_path: Path) -> None:
    tokenizer = save_vocabulary(tmp_path / "tokenizer.json", "byte_bpe")
    with web_server() as server:
        url = server.give("/tokenizer.json", (tmp_path / "tokenizer.json").read_bytes())
        run(tmp_path, until="vocab", vocab={"from": url})
    facts = json.loads((tmp_path / "run" / "vocab" / "vocab.json").read_text())
    assert facts["source"]["fingerprint"] == tokenizer.fingerprint
    assert len(list((tmp_path / "run" / "downloads").glob("*/tokenizer.json"))) == 1


def test_another_file_under_the_same_name_makes_other_records(tmp_path: Path) -> None:
    save_vocabulary(tmp_path / "vocab", "t2t")
    run(tmp_path, until="vocab", vocab={"from": "vocab"})
    other = save_vocabulary(tmp_path / "vocab", "byte_bpe")
    run(tmp_path, until="vocab", vocab={"from": "vocab"})
    facts = json.loads((tmp_path / "run" / "vocab" / "vocab.json").read_text())
    assert facts["source"]["fingerprint"] == other.fingerprint


def test_a_tag_is_a_piece_of_an_existing_vocabulary(tmp_path: Path) -> None:
    tokenizer = save_vocabulary(tmp_path / "vocab", "byte_bpe")
    train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "tag": {"source": "<2zh>"}}
    run(tmp_path, until="encode", vocab={"from": "vocab"}, splits={"train": [train]})
    assert {source[0] for source, _ in rows(tmp_path / "run")} == {tokenizer.piece_id("<2zh>")}


def test_a_tag_that_is_no_piece_is_named_before_any_work(tmp_path: Path) -> None:
    save_vocabulary(tmp_path / "vocab", "byte_bpe")
    train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "tag": {"target": "<2de>"}}
    with pytest.raises(VocabularyError, match=r"^splits\.train\.x\.tag\.target: '<2de>' is not a piece of "):
        run(tmp_path, vocab={"from": "vocab"}, splits={"train": [train]})
    assert not (tmp_path / "run" / "compiled").exists()


@pytest.mark.parametrize("trained", [True, False])
def test_a_frame_says_what_is_around_the_ids(tmp_path: Path, trained: bool) -> None:
    kind = {"kind": "byte_bpe", "size": 300, "reserved": ["<2zh>"], "shared": True}
    file = {"from": "vocab", "kind": "byte_bpe"}
    save_vocabulary(tmp_path / "vocab", "byte_bpe")
    frame = {"source": "<EOS> {tag} {ids} <2zh> <EOS>", "target": "<2zh> {ids}"}
    train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "tag": {"source": "<2zh>"}}
    run(tmp_path, vocab={**(kind if trained else file), "frame": frame}, splits={"train": [train]})
    info = load_dataset_info(tmp_path / "run" / "records")
    assert (info.vocab.source.frame, info.vocab.target.frame) == (frame["source"], frame["target"])
    tokenizer = nmt_prep.load_tokenizer(tmp_path / "run" / "records" / info.vocab.source.file)
    eos, tag = tokenizer.eos_id, tokenizer.piece_id("<2zh>")
    texts = [[tokenizer.encode(text) for text in pair(number)] for number in range(300)]
    expected = {((eos, tag, *source, tag, eos), (tag, *target)) for source, target in texts}
    assert rows(tmp_path / "run") == expected


def test_another_frame_encodes_again_but_trains_no_vocabulary(tmp_path: Path) -> None:
    run(tmp_path, until="encode", vocab={"size": 200})
    config = corpus_config(tmp_path / "run", vocab={"size": 200, "frame": {"target": "<pad> {ids} <EOS>"}})
    done = nmt_prep.run(config, workers=1, until="encode")
    assert [outcome.stage for outcome in done if outcome.ran] == ["encode"]
    assert {target[0] for _, target in rows(tmp_path / "run")} == {0}


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ("{tag} </s>", "vocab.frame.source: found the text '{tag} </s>'; allowed: pieces separated by spaces"),
        ("{ids} {ids}", "vocab.frame.source: found the text '{ids} {ids}'; allowed: pieces separated by spaces"),
        ("{ids}  x", "vocab.frame.source: found the text '{ids}  x'; allowed: pieces separated by spaces"),
        ("{ids} </s>", "vocab.frame.source: '</s>' is not a piece of the vocabulary; add it to vocab.reserved"),
        ("{ids} <EOS>", "splits.train.x.tag.source: vocab.frame.source has no place for it; put {tag} into the frame"),
    ],
)
def test_frames_that_do_not_fit_the_config(tmp_path: Path, frame: str, problem: str) -> None:
    tag = {} if "</s>" in frame else {"tag": {"source": "<2zh>"}}
    train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", **tag}
    vocab = {"reserved": ["<2zh>"], "frame": {"source": frame}}
    with pytest.raises(ConfigError) as raised:
        corpus_config(tmp_path / "run", vocab=vocab, splits={"train": [train]})
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("vocab", "problem"),
    [
        ({"from": "a", "size": 100}, "vocab: size is for a vocabulary that is trained, and from names one"),
        ({"from": "a", "reserved": ["x"]}, "vocab: reserved is for a vocabulary that is trained"),
        ({"from": {"source": "a"}}, "vocab.from: give one file for both sides, or {source: …, target: …}"),
        (
            {"from": "a", "kind": "bpe"},
            "vocab: there is no tokenizer type 'bpe'; the types are subword_nmt, byte_bpe, sentencepiece, t2t",
        ),
        (
            {"from": "a", "pad": "x"},
            "vocab.pad: unknown key (allowed here: compare, extend, frame, from, id_layout, ids, kind, prune, thresh",
        ),
    ],
)
def test_keys_that_do_not_go_with_from(tmp_path: Path, vocab: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        corpus_config(tmp_path / "run", vocab=vocab)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("text", "changes", "problem"),
    [
        ("a text\n", {}, "vocab.from: {file} is not a vocabulary of a known kind"),
        ('{"model": {"type": "WordPiece"}}', {}, "vocab.from: {file}: a model of type 'WordPiece' is not supported"),
        (None, {"kind": "t2t"}, "vocab.kind is t2t, but {file} (vocab.from) is a vocabulary of kind byte_bpe"),
        (None, {"id_layout": "fairseq"}, "vocab.id_layout is for SentencePiece models, and {file} (vocab.from) is"),
        (
            None,
            {"frame": {"target": "{ids} <2de>"}},
            "vocab.frame.target: '<2de>' is not a piece of {file} (vocab.from)",
        ),
        (None, {"from": "absent"}, "vocab.from: cannot read the vocabulary"),
        (None, {"from": "ftp://x/y"}, "vocab.from: cannot fetch ftp://x/y"),
        (None, {"from": "."}, "is a directory; name the vocabulary file in it"),
    ],
)
def test_files_that_cannot_be_used_are_refused_before_any_work(
    tmp_path: Path, text: str | None, changes: dict[str, Any], problem: str
) -> None:
    file = tmp_path / "vocab"
    if text is None:
        save_vocabulary(file, "byte_bpe")
    else:
        file.write_text(text)
    with pytest.raises(VocabularyError) as raised:
        run(tmp_path, vocab={"from": "vocab", **changes})
    assert problem.replace("{file}", str(file)) in str(raised.value)
    assert not (tmp_path / "run" / "compiled").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "gpt_neox.tokenizer.json"])
def test_published_files_give_the_ids_of_their_library(tmp_path: Path, shared: Path, name: str) -> None:
    transformers = pytest.importorskip("transformers")
    file = shared / "golden" / "published" / name
    peer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))
    run(tmp_path, vocab={"from": str(file)})
    end = peer.convert_tokens_to_ids("<|endoftext|>")
    texts = [pair(number) for number in range(300)]
    expected = {tuple((*peer.encode(text, add_special_tokens=False), end) for text in both) for both in texts}
    assert rows(tmp_path / "run") == expected


def test_a_model_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    tokenizer = save_vocabulary(tmp_path / "tokenizer.json", "byte_bpe")
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        content = (tmp_path / "tokenizer.json").read_bytes()
        model = hub.model("owner/name", {"tokenizer.json": content, "config.json": b"{}"})
        lock = tmp_path / "c.lock"
        for name in ("a", "b"):
            write_corpus(tmp_path)
            config = corpus_config(tmp_path / name, vocab={"from": "hf:owner/name"}, download={"cache": False})
            nmt_prep.run(config, until="encode", workers=1, lock_file=lock)
            info = load_dataset_info(tmp_path / name / "records")
            assert (info.vocab.source.file, info.vocab.source.fingerprint) == (
                "../vocab/tokenizer.json",
                tokenizer.fingerprint,
            )
            model.commit({"tokenizer.json": b"{}"})  # the second run has the commit of the first
        locked = json.loads(lock.read_text())["files"]
        assert [name.partition("@")[2] for name in locked] == ["", f"{next(iter(model.commits))}/tokenizer.json"]
        assert hub.downloads() == ["tokenizer.json", "tokenizer.json"]


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("hf:owner", "hf:owner: an ID on the Hugging Face Hub is hf:<owner>/<name>[@<revision>], such as"),
        (
            "hf:o/n/config",
            "hf:o/n/config: an ID on the Hugging Face Hub is hf:<owner>/<name>[@<revision>], such as hf:",
        ),
        (["hf:o/n", "x.json"], "an hf: ID names a whole repository, and has no mirrors"),
    ],
)
def test_bad_ids_of_models(tmp_path: Path, address: Any, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        corpus_config(tmp_path / "run", vocab={"from": address})
    assert error in str(caught.value)


def test_a_repository_without_a_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.model("owner/name", {"config.json": b"{}"})
        with pytest.raises(DownloadError, match=r"^vocab.from: hf:owner/name: the repository has no tokenizer.json"):
            run(tmp_path, until="download", vocab={"from": "hf:owner/name"})


def test_steps_before_an_existing_vocabulary(tmp_path: Path) -> None:
    save_vocabulary(tmp_path / "v.model", "sentencepiece")
    run(tmp_path, "vocab", vocab={"from": "v.model", "words": ["lowercase"]})
    folder = tmp_path / "run" / "vocab"
    own = folder / "vocab.small.en.words.json"
    other = tmp_path / "other"
    other.mkdir()
    run(other, vocab={"from": {"source": str(own), "target": "../v.model"}, "kind": "sentencepiece"})
    stored = other / "run" / "vocab"
    assert {path.name for path in stored.iterdir()} == {"v.model", "vocab.json", own.name}
    info = load_dataset_info(other / "run" / "records").vocab
    assert (info.source.file, info.source.words, info.target.words) == (
        *("../vocab/v.model", f"../vocab/{own.name}"),
        None,
    )
    assert info.source.fingerprint == nmt_prep.load_tokenizer(own).fingerprint


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["lowercas"], "vocab.words.source: there is no step 'lowercas'; did you mean 'lowercase'?"),
        ({"target": [{"truecase": "gone"}]}, "gone: No such file or directory"),
        (
            [{"truecase": "train"}],
            "vocab.words.source: truecase: train is for a vocabulary that is trained; name a model",
        ),
        ([{"program": "no-such-program"}], "there is no program 'no-such-program' on the PATH"),
        (["lowercase"], "own.words.json has steps of its own; remove vocab.words, or name its vocabulary"),
    ],
)
def test_steps_that_cannot_be_before_a_vocabulary(tmp_path: Path, words: Any, problem: str) -> None:
    save_vocabulary(tmp_path / "v.model", "sentencepiece")
    (tmp_path / "own.words.json").write_text('{"words": 1, "language": "en", "vocabulary": "v.model", "steps": []}')
    name = "own.words.json" if words == ["lowercase"] else "v.model"
    with pytest.raises(VocabularyError, match=problem.replace("?", r"\?")):
        run(tmp_path, "vocab", vocab={"from": name, "words": words})
    assert not (tmp_path / "run" / "extracted").exists()


def test_code_of_steps_from_elsewhere_is_not_run(tmp_path: Path) -> None:
    save_vocabulary(tmp_path / "v.model", "sentencepiece")
    entry = {"step": "program", "options": {"command": "touch harm"}, "files": {}, "copies": {}}
    chain = {"words": 1, "language": "en", "vocabulary": "v.model", "steps": [entry]}
    (tmp_path / "v.words.json").write_text(json.dumps(chain))
    with pytest.raises(TokenizerError, match="has the step program, which runs 'touch harm'; if you trust it, set"):
        run(
            tmp_path,
            vocab={"from": {"source": "v.words.json", "target": "v.model"}, "words": {"target": ["lowercase"]}},
        )
    assert not [*tmp_path.rglob("harm")]


def test_code_of_steps_of_a_config_runs_in_its_commands(tmp_path: Path) -> None:
    save_vocabulary(tmp_path / "v.model", "sentencepiece")
    (tmp_path / "loud.py").write_text("def upper(line): return line.upper()\n")
    config = corpus_config(
        tmp_path / "run",
        vocab={"from": "v.model", "words": [{"python": "loud:upper"}]},
        records={"layout": "text"},
        outputs=[{"kind": "text"}],
    )
    write_corpus(tmp_path)
    nmt_prep.run(config, workers=1)
    assert batch_preview(config).startswith("a batch: source [")
