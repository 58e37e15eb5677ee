from __future__ import annotations

import copy
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config import Config
from nmt_prep.corpora import format_of
from nmt_prep.runs.checks import json_schema, load_config

MINIMAL = """\
name: toy
languages: {source: no, target: zh}
output_dir: runs/x
seed: 1
splits:
  train:
    - name: a
      url: x.tgz
      source: s.en
      target: s.zh
"""


def load(tmp_path: Path, text: str, *overrides: str) -> Config:
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, overrides)


def problems(tmp_path: Path, text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, *overrides)
    return str(caught.value).replace(str(tmp_path / "c.yaml"), "c.yaml").split("\n")


def test_defaults_and_norwegian(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)
    assert config.languages.source == "no"
    assert config.splits["train"][0].url.both == ("x.tgz",)
    assert format_of(config.splits["train"][0]) == "plain"
    assert (config.sample.bytes_per_corpus, config.vocab.size, config.vocab.max_subtoken_length) == (10**8, 8192, 200)
    assert (config.engine.memory, config.engine.workers, config.shards("train")) == (2 * 10**9, "auto", 1)


def test_overrides_take_yaml_and_reach_into_lists(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        MINIMAL,
        "vocab.size=4096",
        "records.shards={train: 7}",
        "engine.memory=1.5GB",
        "splits.train.0.url=[m1.tgz, m2.tgz]",
        "sample.bytes_per_corpus=1e6",
        "vocab.max_subtoken_length=null",
        "languages.target=no",
    )
    assert config.vocab.size == 4096
    assert config.shards("train") == 7
    assert config.engine.memory == 1_500_000_000
    assert config.splits["train"][0].url.both == ("m1.tgz", "m2.tgz")
    assert config.sample.bytes_per_corpus == 1_000_000
    assert config.vocab.max_subtoken_length is None
    assert config.languages.target == "no"


def test_every_problem_is_listed_with_path_line_and_what_is_allowed(tmp_path: Path) -> None:
    text = """\
name: toy
languages: {source: en us, target: zh}
output_dir: runs/x
seed: one
splits:
  train:
    - name: a
      url: x.tgz
      sourse: s.en
      target: s.zh
    - {name: b, url: [], source: a, target: b}
vocab: {size: 0, sise: 3, shared: maybe}
engine: {workers: 0, memory: 2 parsecs}
records: {shards: {train: 0}}
"""
    assert problems(tmp_path, text) == [
        "c.yaml: 10 problems",
        (
            "  engine.memory (line 13): found the text '2 parsecs'; "
            "allowed: an amount of memory >= 256MB, such as 512MB or 2GB: the limit for all processes of the "
            "run together"
        ),
        (
            "  engine.workers (line 13): found the number 0; "
            "allowed: an integer >= 1, or auto for one per core: the number of threads"
        ),
        (
            "  languages.source (line 2): found the text 'en us', which is not a language tag "
            "(allowed: a language tag such as en, zh or pt-BR)"
        ),
        (
            "  records.shards.train (line 14): found the number 0; "
            "allowed: a mapping from splits to integers from 1 to 99999: the shard count of each split, 1 by "
            "default"
        ),
        (
            "  seed (line 4): found the text 'one'; allowed: an integer >= 0: the seed for the sample, the shuffle "
            "and other random choices"
        ),
        (
            "  splits.train.0.sourse (line 9): unknown key; did you mean 'source'? (allowed here: both_directions, "
            "columns, corpora, crlf, document, documents, encoding, fields, format, header, hold_out, invalid, "
            "languages, licence, limit, manual, max_line_bytes, member, name, options, pivot, references, "
            "role, scores, sha256, source, split, swap, systems, tag, target, texts, translate, url)"
        ),
        (
            "  splits.train.1.url (line 11): found an empty list; "
            "allowed: a URL, a path, or a list of mirrors: one archive or file for both sides"
        ),
        (
            "  vocab.shared (line 12): found the text 'maybe'; "
            "allowed: true or false: build one vocabulary for both sides"
        ),
        (
            "  vocab.sise (line 12): unknown key; did you mean 'size'? (allowed here: compare, frame, kind, "
            "max_subtoken_length, reserved, shared, size, words)"
        ),
        (
            "  vocab.size (line 12): found the number 0; "
            "allowed: an integer >= 1: the number of pieces (approximate for t2t)"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MINIMAL.replace("seed: 1\n", ""), "seed: this key is required"),
        (MINIMAL + "seed: 2\n", "c.yaml:11: the key seed is given twice"),
        (MINIMAL.replace("train:", "dev:"), "splits has no train"),
        (MINIMAL.replace("name: toy", "name: a/b"), "name (line 1): found the text 'a/b'"),
        (
            MINIMAL + "records: {shards: {test: 2}}\n",
            "config (line 11): records.shards names 'test'; the splits are train",
        ),
        (
            MINIMAL + "clean: {splits: [trian]}\n",
            "clean.splits names 'trian'; did you mean 'train'? the splits are train",
        ),
        (
            MINIMAL + "clean: {preset: standart}\n",
            "'standart'; did you mean 'standard'? allowed: none, light, standard",
        ),
        (MINIMAL + "clean: {rules: {length: {unit: wrd}}}\n", "'wrd'; did you mean 'word'? allowed: char, byte"),
        (MINIMAL + "publish: {url: 's3://a/b', stages: [encde]}\n", "'encde'; did you mean 'encode'? allowed: a list"),
        (MINIMAL + "      format: tvs\n", "no reader is named 'tvs'; did you mean 'tsv'? allowed: plain, tsv"),
        (MINIMAL + "      format: mo\n", "the format mo no longer exists: msgunfmt makes PO files of MO files; all"),
        (MINIMAL + "    - {name: a, url: y, source: s, target: t}\n", "names the corpus 'a' twice"),
        (
            MINIMAL.replace("      target: s.zh\n", ""),
            "the corpus has only the side source: name the other one too, or give translate, the name",
        ),
        (
            MINIMAL + "      columns: {source: 0}\n",
            "columns does not belong to format plain, which takes crlf, encoding",
        ),
        (MINIMAL.replace("s.zh", "s.en"), "source and target are the same member"),
        (
            MINIMAL.replace("      source: s.en\n      target: s.zh\n", ""),
            "format plain has one file per side: name the members of the archive with source and target, or give url",
        ),
        (MINIMAL + "download: {retries: 101}\n", "found the number 101; allowed: an integer from 0 to 100"),
        (MINIMAL + "      format: tsv\n", "format tsv holds both sides in one file"),
        (MINIMAL + "      sha256: xyz\n", "splits.train.0.sha256 (line 11): found the text 'xyz'; allowed: 64 hex"),
        ("", "the file is empty"),
        ("- a\n", "a config is a mapping of keys to values; found a list of 1"),
        ("a: [1\n", "not valid YAML"),
        ("a: !!python/object/apply:os.system [ls]\n", "not valid YAML"),
        ("a: &a [*a]\n", "an alias refers to itself"),
    ],
)
def test_refused_values(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in "\n".join(problems(tmp_path, text))


@pytest.mark.parametrize(
    ("vocab", "expected"),
    [
        ("kind: bpe", "vocab.kind (line 11): found the text 'bpe'; allowed: 't2t', 'byte_bpe', "),
        ("kind: byte_bpe, max_subtoken_length: 5", "vocab.max_subtoken_length (line 11): unknown key"),
        (
            "kind: byte_bpe, pattern: '(a'",
            "vocab (line 11): pattern '(a': tokenizers does not accept pre_tokenizer {",
        ),
        ("kind: byte_bpe, eos: <pad>", "vocab (line 11): pad, eos, bos and reserved must all differ"),
        (
            "kind: sentencepiece, options: {user_defined_symbols: [a]}",
            "vocab (line 11): options has user_defined_symbols; set the key reserved of vocab instead",
        ),
        (
            "kind: sentencepiece, options: {lines: 5}",
            "vocab (line 11): SentencePiece has no training option 'lines' that can be set here",
        ),
        (
            "kind: sentencepiece, options: {split_digit: true}",
            "SentencePiece has no training option 'split_digit' that can be set here; did you mean split_digits?",
        ),
        (
            "kind: sentencepiece, options: {shrinking_factor: 0.4}",
            "vocab (line 11): SentencePiece's training option shrinking_factor is 0.4: it must be a number from 0.5 to",
        ),
        (
            "kind: sentencepiece, options: {split_digits: maybe}",
            "SentencePiece's training option split_digits is 'maybe': it must be true or false",
        ),
        (
            "kind: sentencepiece, options: {control_symbols: [a, a]}",
            "training option control_symbols is ['a', 'a']: it must be a list of different strings, each of them not",
        ),
        (
            "kind: sentencepiece, options: {input_sentence_size: 50}",
            "input_sentence_size is 50: it must be 0 for all lines, or an integer from 101",
        ),
        ("kind: sentencepiece, options: {use_all_vocab: true}", "use_all_vocab is for word and char models; remove it"),
        (
            'kind: sentencepiece, reserved: [<a>, "a\\0b"]',
            "vocab.reserved.1 (line 11): found the text 'a\\x00b'; allowed:",
        ),
        ('kind: byte_bpe, eos: "\\0"', "vocab.eos (line 11): found the text '\\x00'; allowed: "),
        ("kind: byte_bpe, eos: <e>", "eos is '<e>', but no token will be taken for it when the file is read; name it"),
        ("kind: byte_bpe, eos: </s>, reserved: [<EOS>]", "eos is '</s>', but '<EOS>' will be taken for it when"),
        ("kind: byte_bpe, pad: '[PAD]', bos: <pad>", "pad is '[PAD]', but '<pad>' will be taken for it when"),
        ("kind: byte_bpe, reserved: [x]", "vocab (line 11): the special token 'x' is the spelling of a byte"),
        ("kind: sentencepiece, reserved: [</s>]", "reserved has '</s>', which then ends no row; remove it, or set"),
        ("kind: sentencepiece, id_layout: fairseq, reserved: [<mask>]", "<mask>: id_layout fairseq itself adds and"),
        ("kind: sentencepiece, id_layout: fairseq, options: {eos_piece: a}", "eos_piece: id_layout fairseq itself"),
        (f"kind: sentencepiece, reserved: [{'a' * 8000}]", "it must be not empty, of less than 8,000 bytes, without"),
        ('reserved: [""]', "vocab.reserved.0 (line 11): found the text ''; allowed: a list of strings, none of"),
        ('reserved: ["a\\r"]', "vocab (line 11): reserved has a carriage return"),
        (
            'kind: sentencepiece, options: {control_symbols: "<a>,a\\0b"}',
            "control_symbols is '<a>,a\\x00b': it must be a list of different strings, each of them not empty",
        ),
        ("kind: sentencepiece, reserved: [<unk>]", "vocab (line 11): '<unk>' is the unknown piece, which there is"),
        ("kind: sentencepiece, options: {bos_piece: </s>}", "bos_piece is '</s>', as another special piece is"),
        ("kind: sentencepiece, character_coverage: 7", "found the number 7; allowed: a number from 0.98 to 1"),
        ("kind: sentencepiece, character_coverage: 0.9", "found the number 0.9; allowed: a number from 0.98 to 1"),
        ("kind: sentencepiece, size: 4", "vocab (line 11): vocabulary size 4: it must be at least 5, to have room for"),
        (
            "kind: sentencepiece, size: 260, byte_fallback: true",
            "vocabulary size 260: it must be at least 261, to have room for",
        ),
        ("kind: sentencepiece, size: 4, id_layout: fairseq, reserved: [a]", "vocabulary size 4: it must be at least 5"),
        (
            "kind: byte_bpe, size: 100",
            "vocab (line 11): size is 100: it must be at least 258, to have room for 256 bytes",
        ),
        ("kind: byte_bpe, size: 259, bos: <s>, reserved: [<a>]", "size is 259: it must be at least 260"),
        ("kind: byte_bpe, size: 3000000", "size is 3000000: byte_bpe allows 2,097,152 pieces at most"),
        (
            "size: 16, reserved: [<a>]",
            "vocab (line 11): size is 16: it must be at least 17, to have room for <pad>, <EOS>",
        ),
        ("reserved: [<pad>]", "vocab (line 11): reserved names <pad> or <EOS>, which always have the IDs 0 and 1"),
    ],
)
def test_each_dialect_has_its_own_keys(tmp_path: Path, vocab: str, expected: str) -> None:
    assert expected in "\n".join(problems(tmp_path, MINIMAL + f"vocab: {{{vocab}}}\n"))


CLEAN = "clean: {preset: strrict, rules: {lenght: {max: 3}, length: {maxx: 3}}, fix: [nope]}\n"
DOCUMENT_LINES = "outputs: [{kind: text, pieces: false, vocab: [], documents: lines}]\n"
TWICE = "outputs: [{kind: marian}, {kind: marian}]\n"


def keys_of(tmp_path: Path, text: str) -> list[str]:
    """Returns the keys with problems."""
    return [line.strip().partition(" (")[0].partition(": ")[0] for line in problems(tmp_path, text)[1:]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            MINIMAL + "bogus: 1\n" + CLEAN + TWICE,
            ["bogus", "clean.fix", "clean.preset", "clean.rules.lenght", "clean.rules.length.maxx", "outputs.1.name"],
        ),
        (MINIMAL.replace("seed: 1", "seeed: 1") + TWICE, ["outputs.1.name", "seed", "seeed"]),
        (MINIMAL + "records: {shards: {foo: 3}}\nbogus: 1\n", ["bogus", "config"]),
        (
            MINIMAL + "records: {shards: {foo: 3}}\n" + CLEAN.replace("strrict", "strict"),
            ["clean.fix", "clean.rules.lenght", "clean.rules.length.maxx", "config"],
        ),
        (
            MINIMAL.replace("url", "utl") + "clean: {fix: [nope]}\n",
            ["clean.fix", "splits.train.0.url", "splits.train.0.utl"],
        ),
        # Parts that could be wrong only because another part is left out give no message.
        (MINIMAL + "      tag: {source: <a>}\nvocab: {size: 0, reserved: [<a>]}\n", ["vocab.size"]),
        (MINIMAL + "      tag: {source: <a>}\nvocab: {kind: t3t, reserved: [<a>]}\n", ["vocab.kind"]),
        (MINIMAL + "vocab: {size: many, max_subtoken_length: none}\n", ["vocab.max_subtoken_length", "vocab.size"]),
        (MINIMAL + "vocab: {kind: byte_bpe, pattern: '('}\n" + TWICE, ["outputs.1.name", "vocab"]),
        (MINIMAL + "vocab: {kind: t3t}\n" + TWICE, ["outputs.1.name", "vocab.kind"]),
        (MINIMAL + "vocab: {size: many}\noutputs: [{kind: megatron}]\n", ["vocab.size"]),
        (MINIMAL + "vocab: {kind: t3t}\noutputs: [{kind: marian, pieces: false}]\n", ["vocab.kind"]),
        (
            MINIMAL + "vocab: {kind: byte_bpe, pattern: '('}\noutputs: [{kind: text, alignments: true}]\n",
            ["outputs.0.alignments", "vocab"],
        ),
        (MINIMAL.replace("train:", "dev:"), ["config"]),
        (MINIMAL + "align: true\noutputs: [{kind: text, alignments: true}]\n", ["align"]),
        (MINIMAL + "clean: []\npublish: {url: 's3://a/b', stages: [clean]}\n", ["clean"]),
        (
            MINIMAL + "      document: {url: d.txt}\ndocuments: {context: 3}\n" + DOCUMENT_LINES,
            ["documents.context", "documents.separator"],
        ),
    ],
)
def test_problems_do_not_hide_each_other(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert keys_of(tmp_path, text) == expected


def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert problems(tmp_path, "\n".join(bomb)) == ["c.yaml: more than 100000 values after expanding aliases; use fewer"]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("vocab.size", "--set vocab.size: expected KEY=VALUE, such as vocab.size=4096"),
        ("seed.x=1", "--set seed.x=1: seed is not a section"),
        ("splits.train.5.name=x", "splits.train is a list of 1; found '5' instead of an index"),
        ("vocab.sizee=1", "vocab.sizee: unknown key; did you mean 'size'?"),
        (
            f"output_dir={'x' * 256}",
            f"output_dir (line 3): {'x' * 40}… is no path: a file name has at most 255 bytes; ",
        ),
        (
            "output_dir=s3://bucket/x",
            "  output_dir (line 3): s3://bucket/x is a URL, but a run works in a local directory; name a directory, ",
        ),
    ],
)
def test_wrong_overrides(tmp_path: Path, override: str, expected: str) -> None:
    assert expected in "\n".join(problems(tmp_path, MINIMAL, override))


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the config .*none\.yaml: No such file"):
        load_config(tmp_path / "none.yaml")
    (tmp_path / "latin1.yaml").write_bytes(b"name: \xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 6"):
        load_config(tmp_path / "latin1.yaml")


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("{name: r, url: refs.tsv.gz}", "tsv"),
        ("{name: r, url: x.tgz, source: a.sgm, target: b.sgm}", "sgm"),
        ("{name: r, url: x.zip, source: a.sgm.gz, target: b.sgm.gz}", "sgm"),
        ("{name: r, url: {source: a.en.gz, target: a.de.gz}}", "plain"),
        ("{name: r, url: x.tgz, member: all.tsv, columns: {source: 3, target: 1}, header: true}", "tsv"),
    ],
)
def test_format_is_inferred_from_the_file_name(tmp_path: Path, text: str, format_: str) -> None:
    config = load(tmp_path, MINIMAL + f"    - {text}\n")
    assert format_of(config.splits["train"][1]) == format_


def test_scalars_follow_yaml_1_2(tmp_path: Path) -> None:
    text = MINIMAL + "vocab: {reserved: [no, yes, on, 12:30, 2017-01-01, '1', \"~\", 0010]}\n"
    assert load(tmp_path, text).vocab.reserved == ("no", "yes", "on", "12:30", "2017-01-01", "1", "~", "0010")


def test_the_bundled_configs_are_valid(repository: Path) -> None:
    paths = sorted((repository / "configs").glob("*.yaml"))
    assert [path.name for path in paths][:1] == ["enzh.yaml"]
    for path in paths:
        load_config(path)
    enzh = load_config(repository / "configs" / "enzh.yaml")
    assert (enzh.vocab.size, enzh.sample.bytes_per_corpus) == (8192, 100_000_000)
    assert (enzh.shards("train"), enzh.shards("dev")) == (100, 1)


def test_a_config_goes_to_another_process_and_back(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL, "outputs=[{kind: text}]", "clean={}")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(copy.copy, config).result() == config


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(Config.model_fields)
    assert schema["required"] == ["name", "languages", "output_dir", "seed", "splits"]
    assert schema["additionalProperties"] is False
    assert '"url"' in json.dumps(schema["$defs"]["Corpus"])
