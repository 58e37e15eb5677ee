"""A small corpus for whole runs: a tgz with one file per side, and a pair of SGM files."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from html import escape
from pathlib import Path
from typing import Any

import yaml

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.runs.checks import check_config

WORDS = [
    "time",
    "year",
    "way",
    "day",
    "thing",
    "world",
    "life",
    "hand",
    "part",
    "child",
    "eye",
    "place",
    "wörk",
    "week",
]
CHARACTERS = "的一是不了人我在有他这中大来上国𠮷"


def pair(number: int) -> tuple[str, str]:
    """Returns the pair with a number: words and characters derived from its digest, and the number itself."""
    digest = hashlib.sha256(str(number).encode()).digest()
    length = 1 + digest[0] % 9
    source = " ".join(WORDS[byte % len(WORDS)] for byte in digest[1 : 1 + length])
    target = "".join(CHARACTERS[byte % len(CHARACTERS)] for byte in digest[8 : 9 + length])
    return f"{source.capitalize()}, {number}.", f"{target}，{number}。"


def write_tgz(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def sgm(lines: list[str], kind: str) -> bytes:
    segments = "\n".join(f'<seg id="{n}">{escape(line)}</seg>' for n, line in enumerate(lines, 1))
    return f'<{kind} setid="d">\n<doc docid="d">\n<p>\n{segments}\n</p>\n</doc>\n</{kind}>\n'.encode()


def write_corpus(directory: Path, pairs: int = 300, dev: int = 20) -> None:
    """Writes train.tgz (with one more pair, whose target is empty) and dev.tgz."""
    directory.mkdir(parents=True, exist_ok=True)
    write_tgz(directory / "train.tgz", {f"t/{name}": content for name, content in _train_files(pairs).items()})
    sources, targets = zip(*(pair(number) for number in range(10**6, 10**6 + dev)), strict=True)
    write_tgz(
        directory / "dev.tgz", {"d/x.en.sgm": sgm(list(sources), "srcset"), "d/x.zh.sgm": sgm(list(targets), "refset")}
    )


def write_plain_corpus(directory: Path, pairs: int) -> None:
    """Writes x.en and x.zh, the text of train.tgz as plain files."""
    for name, content in _train_files(pairs).items():
        (directory / name).write_bytes(content)


def _train_files(pairs: int) -> dict[str, bytes]:
    train = [pair(number) for number in range(pairs)]
    train.insert(7, ("nothing on the other side", " "))
    sides = ("".join(f"{line}\n" for line in side).encode() for side in zip(*train, strict=True))
    return dict(zip(("x.en", "x.zh"), sides, strict=True))


def corpus_config(output_dir: Path, **changes: Any) -> Config:
    """Returns a config over that corpus."""
    base: dict[str, Any] = {
        "name": "small",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(output_dir),
        "seed": 1,
        "splits": {
            "train": [{"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh"}],
            "dev": [{"name": "y", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm"}],
        },
        "vocab": {"size": 200},
        "records": {"shards": {"train": 3}},
    }
    return check_config({**base, **changes}, "test config").within(output_dir.parent)


def run_corpus(place: Path, until: str) -> Path:
    """Writes the corpus to a directory, runs its stages up to one in ``run`` there, and returns the directory."""
    write_corpus(place)
    nmt_prep.run(corpus_config(place / "run"), until=until)
    return place


def tree(root: Path) -> dict[str, str]:
    """Returns the digests of all files below a run's directory except the lock and the notes of times."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in ("lock", "run.json")
    }


def lines_of(path: Path) -> list[str]:
    """Returns the lines of a text file."""
    lines = path.read_text("utf-8").split("\n")
    assert lines.pop() == ""
    return lines


def write_config(directory: Path, pairs: int = 300) -> Path:
    """Writes a corpus and a ``config.yaml`` whose run directory is ``run``; returns the path of the config."""
    write_corpus(directory, pairs)
    path = directory / "config.yaml"
    config = corpus_config(directory / "run")
    path.write_text(yaml.safe_dump(json.loads(config.model_dump_json(exclude_unset=True)), sort_keys=False))
    return path
