"""The recipes give the bytes of the original tools, whose outputs are in ``../shared/golden/recipes``."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.config.file import as_tuples
from nmt_prep.runs.checks import check_config
from tests.conftest import REPOSITORY
from tests.server import Answer, WebServer

RECIPES = REPOSITORY / "nmt_prep" / "recipes"
SMALL: dict[str, dict[str, Any]] = {
    "subword_nmt": {"merges": 600},
    "sentencepiece": {"size": 500},
    "t2t": {"size": 400},
    "byte_bpe": {"size": 300},
}
PAIRS = {
    "ende": {"en": "in/m30k.en", "de": "in/m30k.de"},
    "frde": {"fr": "in/xml.fr", "de": "in/xml.de"},
    "tokens": {"en": "bpe/m30k.en.in", "de": "bpe/m30k.de.in"},
    "hostile": {"fr": "in/xml.fr", "de": "in/xml.de"},
}
HOSTILE = {
    "fr": ["", "seul", "Il a dit 'non.'", "a | b |c", "x\u200by\u2028z &amp; \u00a0 z", "\u2028", "« \u2603 »"],
    "de": ["allein hier", "", "Er sagte 'nein.'", "a|b &lt;", "x\u0085y\tz\u00ad", "q", "„ \ud55c “"],
}


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    pytest.importorskip("sacremoses._data_nonbreaking_prefixes")
    return shared / "golden" / "recipes"


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())


def prepared(
    place: Path, server: WebServer, golden: Path, name: str, texts: str, vocab: Mapping[str, Any], **more: Any
) -> Path:
    """Runs a recipe on a golden corpus in place of its own; returns the directory of its output."""
    data = yaml.safe_load((RECIPES / f"{name}.yaml").read_text("utf-8"))
    own = data["splits"]["train"][0]
    sides = dict(PAIRS[texts])
    first, second = sides
    for side, path in sides.items():
        lines = "".join(f"{line}\n" for line in HOSTILE[side]) if texts == "hostile" else ""
        server.answers[f"/{path}"] = [Answer(content(golden / path) + lines.encode())]
    kept = {key: value for key, value in own.items() if key in ("hold_out", "limit", "both_directions")}
    url = {"source": f"{server.url}/{sides[first]}", "target": f"{server.url}/{sides[second]}"}
    corpus = {"name": "x", "url": url, **kept, **more.pop("train", {})}
    if "pairs" in data:
        corpus["languages"] = {"source": first, "target": second}
        data["pairs"] = [f"{first}-{second}", *([f"{second}-{first}"] if "both_directions" in corpus else [])]
    else:
        data["languages"] = {"source": first, "target": second}
    splits: dict[str, Any] = {"train": [corpus]}
    for split, files in more.pop("splits", {}).items():
        for path in files.values():
            server.answers[f"/{path}"] = [Answer(content(golden / path))]
        url = {"source": f"{server.url}/{files[first]}", "target": f"{server.url}/{files[second]}"}
        splits[split] = [{"name": split, "url": url}]
    if "clean" in data:
        data["clean"] |= {"splits": ["train"], "overrides": {}}
    small = dict(SMALL[data["vocab"]["kind"]])
    if "total_symbols" in data["vocab"]:
        small = {"total_symbols": 400, "threshold": 2}
    data |= {"splits": splits, "output_dir": str(place / name), "vocab": {**data["vocab"], **small, **vocab}, **more}
    data.pop("records", None)
    made: Config = check_config(as_tuples(data), name).within(place)
    nmt_prep.run(made, until="outputs" if made.outputs else "encode")
    return made.run_dir / "outputs" / "text"


def same(directory: Path, golden: Path, files: Mapping[str, str]) -> None:
    for file, expected in files.items():
        assert (directory / file).read_bytes() == content(golden / expected), file


def split_files(split: str, start: str, *languages: str, end: str = "") -> dict[str, str]:
    return {f"{split}-00000-of-00001.{side}": f"recipes/{start}.{side}{end}" for side in languages}


@pytest.mark.parametrize("recipe", sorted(path.stem for path in RECIPES.glob("*.yaml")))
def test_every_recipe_names_its_source_and_is_small(recipe: str) -> None:
    text = (RECIPES / f"{recipe}.yaml").read_text("utf-8")
    title, source, exact, *_ = text.splitlines()
    assert title.startswith("# ")
    assert source.startswith("# Recipe: https://github.com/")
    assert exact.startswith("# Exact: ")
    data = yaml.safe_load(text)
    assert data["name"] == recipe
    page = (REPOSITORY / "docs" / "recipes.md").read_text("utf-8")
    assert f"`{recipe}`" in page


IWSLT14 = {"train": "fairseq-iwslt14.train.bpe", "valid": "fairseq-iwslt14.valid.bpe"}
WMT14 = {"train": "fairseq-wmt14.out.train", "valid": "fairseq-wmt14.out.valid"}
EVERY = {"every": 100, "positions": "lines", "split": "valid", "duplicates": "keep"}
EDINBURGH = {"train": "uedin17.train.bpe", "dev": "uedin17.dev.bpe"}
DEV = {"ende": {"en": "in/val.en", "de": "in/val.de"}, "frde": PAIRS["frde"]}
WHOLE: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ("fairseq-iwslt14-de-en", {"merges": 300}, {}, IWSLT14),
    ("joeynmt-iwslt14-de-en", {"merges": 300}, {"limits": {"tokens": {"max": 175, "ratio": 1.5}}}, IWSLT14),
    ("fairseq-wmt14-en-de", {"merges": 500}, {}, WMT14),
    ("fairseq-wmt18-en-de", {"merges": 500}, {}, WMT14),
    ("fairseq-wmt14-en-fr", {"merges": 500}, {"train": {"hold_out": EVERY}}, WMT14),
    ("tensorflow-nmt-wmt16-de-en", {"merges": 400}, {}, {"train": "tensorflow-nmt.out"}),
    ("edinburgh-wmt17-en-de", {"threshold": 10}, {}, EDINBURGH),
]


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["ende", "frde"])
@pytest.mark.parametrize(("name", "vocab", "more", "splits"), WHOLE)
def test_whole_recipes(
    tmp_path: Path,
    golden: Path,
    server: WebServer,
    pair: str,
    name: str,
    vocab: dict[str, Any],
    more: dict[str, Any],
    splits: dict[str, str],
) -> None:
    dev = {"splits": {"dev": DEV[pair]}} if "dev" in splits else {}
    directory = prepared(tmp_path, server, golden, name, pair, vocab, **more, **dev)
    for split, start in splits.items():
        same(directory, golden, split_files(split, f"{pair}.{start}", *PAIRS[pair]))
    if name.startswith("tensorflow"):
        same(directory, golden, {"vocab.tensorflow_nmt": f"recipes/{pair}.tensorflow-nmt.vocab"})
    if name.startswith("edinburgh"):
        same(directory, golden, {f"codes.{side}": f"recipes/{pair}.uedin17.codes" for side in PAIRS[pair]})
        lists = {f"vocab.subword_nmt.{side}": f"recipes/{pair}.uedin17.vocab.{side}" for side in PAIRS[pair]}
        same(directory, golden, lists)


def test_a_whole_recipe(tmp_path: Path, golden: Path, server: WebServer) -> None:
    directory = prepared(tmp_path, server, golden, "fairseq-iwslt14-de-en", "frde", {"merges": 300})
    for split in ("train", "valid"):
        same(directory, golden, split_files(split, f"frde.fairseq-iwslt14.{split}.bpe", "fr", "de"))


@pytest.mark.slow
def test_talks_and_test_sets(tmp_path: Path, golden: Path, server: WebServer) -> None:
    """The whole config, with the tags of talks, and with entities as grep and sed leave them."""
    data = yaml.safe_load((RECIPES / "fairseq-iwslt14-de-en.yaml").read_text("utf-8"))
    with tarfile.open(tmp_path / "talks.tgz", "w:gz") as archive:
        for corpus in (corpus for corpora in data["splits"].values() for corpus in corpora):
            corpus["url"] = "talks.tgz"
            for side in ("source", "target"):
                language = corpus[side].removesuffix(".xml")[-2:]
                made = content(golden / PAIRS["ende"][language])
                made = b"<url>x</url>\n<title>Der Titel</title>\n<keywords>a</keywords>\n" + made
                if corpus[side].endswith(".xml"):
                    made = '<doc docid="1">\n<seg id="1"> Er sagt’s: R&amp;D | <url> </seg>\n</doc>'.encode()
                info = tarfile.TarInfo(corpus[side])
                info.size = len(made)
                archive.addfile(info, io.BytesIO(made))
    data |= {"output_dir": str(tmp_path / "run"), "vocab": {**data["vocab"], "merges": 300}}
    nmt_prep.run(check_config(as_tuples(data), "recipe").within(tmp_path), until="outputs")
    text = tmp_path / "run" / "outputs" / "text"
    lines = {file.name: file.read_text("utf-8").replace("@@ ", "").split("\n") for file in text.glob("t*-00000*")}
    assert lines["train-00000-of-00001.de"][0] == "der titel"
    tokens = "r &amp; amp ; d &#124; &lt; url &gt;"
    assert lines["test-00000-of-00001.de"] == [f"er sagt &apos; s : {tokens}"] * 5 + [""]
    assert lines["test-00000-of-00001.en"] == [f"er sagt &apos;s : {tokens}"] * 5 + [""]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "vocab", "files"),
    [
        (
            "sockeye-wmt17-de-en",
            {"threshold": 5},
            {
                "train-00000-of-00001.en": "bpe/0.m30k.en.bpe-v5",
                "train-00000-of-00001.de": "bpe/0.m30k.de.bpe-v5",
                "codes.de": "bpe/0.joint-codes",
                "vocab.subword_nmt.en": "bpe/0.joint-vocab-0",
                "vocab.subword_nmt.de": "bpe/0.joint-vocab-1",
            },
        ),
        (
            "sockeye-wmt14-en-de",
            {},
            {
                "train-00000-of-00001.en": "bpe/0.m30k.en.bpe",
                "train-00000-of-00001.de": "bpe/0.m30k.de.bpe",
                "vocab.sockeye": "trainers/0.sockeye-min2-pad8.json",
            },
        ),
    ],
)
def test_recipes_from_tokens(
    tmp_path: Path, golden: Path, server: WebServer, name: str, vocab: dict[str, Any], files: dict[str, str]
) -> None:
    same(prepared(tmp_path, server, golden, name, "tokens", vocab), golden, files)


@pytest.mark.slow
def test_given_vocabularies(tmp_path: Path, golden: Path, server: WebServer) -> None:
    texts = {"en": "bpe/0.m30k.en.bpe", "de": "bpe/0.m30k.de.bpe"}
    url = server.give("/vocab", content(golden / "trainers" / "0.tensorflow-nmt"))
    given = {"from": {"source": url, "target": url}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAIRS, "pieces", texts)
        patch.setitem(SMALL, "subword_nmt", {})
        directory = prepared(tmp_path, server, golden, "tensorflow-nmt-iwslt15-en-vi", "pieces", given)
    same(directory, golden, {f"train-00000-of-00001.{side}": path for side, path in texts.items()})


@pytest.mark.slow
def test_words_of_a_truecased_recipe(tmp_path: Path, golden: Path, server: WebServer) -> None:
    directory = prepared(tmp_path, server, golden, "marian-transformer-wmt17-en-de", "ende", {})
    for side in ("en", "de"):
        made = (directory / f"train-00000-of-00001.{side}").read_bytes()
        expected = content(golden / "recipes" / f"ende.uedin17.train.bpe.{side}")  # with other pieces of the same words
        assert made.replace(b"@@ ", b"") == expected.replace(b"@@ ", b"")


OTHERS = {  # the digest of the files of train, which a program of the originals' own libraries also made
    "fairseq-iwslt17-de-fr-en": "042b7e209f15f6fc",
    "fairseq-joint-alignment-en-de": "75f9ba71a5454de4",
    "fairseq-wmt14-en-de": "a9d92adc71f0e89b",
    "marian-training-basics-ro-en": "8aec973c9238c10b",
    "marian-transformer-wmt17-en-de": "232242a8537dda57",
    "nvidia-transformer-en-de": "c28233289d52af07",
    "opennmt-py-wmt17-en-de": "d102bb7deffe90ad",
    "opennmt-tf-wmt-en-de": "8b40461cb8af03b0",
    "opus-mt-fi-en": "4604e66a8e94a4b7",
    "sockeye-multilingual-iwslt17": "3f72205c5a900b8d",
    "t2t-ende-wmt32k": "c06043d222dbacc0",
    "t2t-enfr-wmt32k": "c06043d222dbacc0",
    "t2t-enzh-wmt32k": "146483e672f346a6",
    "thumt-wmt18-zh-en": "d1c28c91913d75b6",
}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", OTHERS)
def test_other_recipes(tmp_path: Path, golden: Path, server: WebServer, recipe: str) -> None:
    outputs = {} if recipe.startswith("t2t") else {"outputs": [{"kind": "text", "order": "corpus"}]}
    prepared(tmp_path, server, golden, recipe, "hostile", {}, **outputs)
    files = [*(tmp_path / recipe).glob("outputs/text/train-*"), *(tmp_path / recipe).glob("vocab/*.subwords*")]
    made = b"".join(file.read_bytes() for file in sorted(files))
    assert hashlib.sha256(made).hexdigest()[:16] == OTHERS[recipe]


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", ["alma-de-en", "marian-sentencepiece-ro-en", "marian-transformer-intro-en-de", "mozilla-ru-en"]
)
def test_recipes_of_text_run(tmp_path: Path, golden: Path, server: WebServer, recipe: str) -> None:
    prepared(tmp_path, server, golden, recipe, "ende", {})
    pairs = nmt_prep.open_run(tmp_path / recipe).counts.to_pylist()
    assert min(row["encoded"] for row in pairs) > 450
