"""Measures the reading of corpora: pairs per second and memory of one thread, for nmt_prep and, if installed, mtdata.

    python -m benchmarks.readers [--pairs 300000] [--text SOURCE TARGET]

The text is the toy corpus, repeated, or the two given files. Times are CPU times of the process; memory is the increase
of its peak during reading. mtdata's readers (``pip install mtdata``) read the same files.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import open_corpus

FORMATS = ("plain", "tsv", "csv", "csv quoted", "jsonl", "tmx", "xliff", "po")
TOY = Path(__file__).resolve().parent.parent / "data" / "toy" / "training-parallel-toy.tgz"
QUOTE = '"'
_TMX_HEAD = (
    '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="en"/><body>\n'
)
_XLIFF_HEAD = '<xliff version="1.2"><file source-language="en" target-language="zh" original="x"><body>\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--one", nargs=3, metavar=("WHO", "FORMAT", "DIRECTORY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, name, directory = arguments.one
        print(json.dumps(measure(who, name, Path(directory))))
        return
    print(f"{'format':12} {'reader':9} {'pairs/s':>10} {'MB/s':>8} {'memory':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        write_files(directory, itertools.islice(itertools.cycle(texts(arguments.text)), arguments.pairs))
        for name in FORMATS:
            for who in ("nmt_prep", "mtdata"):
                report(who, name, directory)


def report(who: str, name: str, directory: Path) -> None:
    """Measures in a separate process, so that the memory is that of one reader."""
    command = [sys.executable, "-m", "benchmarks.readers", "--one", who, name, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["?"])[-1]
        if who == "nmt_prep":
            raise SystemExit(done.stderr)
        print(f"{name:12} {who:9} {reason[:80]}")
        return
    result = json.loads(done.stdout)
    seconds = result["seconds"]
    speed, size = result["pairs"] / seconds, result["bytes"] / seconds / 1e6
    print(f"{name:12} {who:9} {speed:10,.0f} {size:8.1f} {result['memory'] / 1e6:6.0f}MB")


def measure(who: str, name: str, directory: Path) -> dict[str, float]:
    files = files_of(directory, name)
    reading = read_ours(name, files) if who == "nmt_prep" else read_mtdata(name, files)
    pairs = next(reading)  # loading before the first pair is not counted
    forget_peak()
    before, started = peak_memory(), time.process_time()
    pairs += sum(reading)
    seconds = time.process_time() - started
    memory = peak_memory() - before
    size = sum(path.stat().st_size for path in files.values())
    return {"pairs": pairs, "seconds": seconds, "memory": memory, "bytes": size}


def read_ours(name: str, files: dict[str, Path]) -> Iterator[int]:
    """Yields 0, then the number of pairs of each batch."""
    kind = name.partition(" ")[0]
    fields: dict[str, Any] = {"fields": {"source": "t.en", "target": "t.zh"}} if kind == "jsonl" else {}
    url = {part: (path.name,) for part, path in files.items()}
    corpus = Corpus.model_validate({"name": "x", "url": url, "format": kind, **fields})
    yield 0
    for batch in open_corpus(corpus, [files], Languages(source="en", target="zh")).pairs():
        yield len(batch)


def read_mtdata(name: str, files: dict[str, Path]) -> Iterator[int]:
    """Yields 0, then 1 for each pair, since mtdata yields single pairs."""
    if name not in ("plain", "tsv", "tmx"):
        raise SystemExit("mtdata has no reader of this format")
    from mtdata.parser import Parser  # noqa: PLC0415  (only where it is installed and asked for)
    from mtdata.tmx import read_tmx  # noqa: PLC0415

    paths, entry = list(files.values()), SimpleNamespace(meta=None, cols=None)
    pairs = (
        read_tmx(paths[0], ("en", "zh"))
        if name == "tmx"
        else Parser(paths, ext={"plain": "txt", "tsv": "tsv"}[name], ent=entry).read_segs(show_pbar=False)
    )
    yield 0
    for _ in pairs:
        yield 1


def peak_memory() -> int:
    """Returns the peak memory in bytes since :func:`forget_peak`."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def files_of(directory: Path, name: str) -> dict[str, Path]:
    if name == "plain":
        return {"source": directory / "x.en", "target": directory / "x.zh"}
    return {"both": directory / f"x.{name.replace(' ', '-')}"}


def texts(files: Iterable[Path] | None) -> list[tuple[str, str]]:
    if files is None:
        with tarfile.open(TOY) as tar:
            members = [tar.extractfile(f"training/toy.zh-en.{side}") for side in ("en", "zh")]
            contents = [member.read() for member in members if member is not None]
    else:
        packed = [path.read_bytes() for path in files]
        contents = [gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content for content in packed]
    sides = [content.decode("utf-8").split("\n")[:-1] for content in contents]
    return [
        (s.replace("\t", " ").replace("\\", ""), t.replace("\t", " ").replace("\\", ""))
        for s, t in zip(*sides, strict=True)
    ]


def write_files(directory: Path, pairs: Iterable[tuple[str, str]]) -> None:
    opened = {name: files_of(directory, name) for name in FORMATS}
    source, target = (path.open("w", encoding="utf-8") for path in opened.pop("plain").values())
    files = {name: paths["both"].open("w", encoding="utf-8") for name, paths in opened.items()}
    files["tmx"].write(_TMX_HEAD)
    files["xliff"].write(_XLIFF_HEAD)
    for s, t in pairs:
        source.write(f"{s}\n")
        target.write(f"{t}\n")
        files["tsv"].write(f"{s}\t{t}\n")
        files["csv"].write(f"{s.replace(',', ';').replace(QUOTE, '')},{t.replace(',', ';').replace(QUOTE, '')}\n")
        files["csv quoted"].write(f'"{s.replace(QUOTE, QUOTE * 2)}","{t.replace(QUOTE, QUOTE * 2)}"\n')
        files["jsonl"].write(json.dumps({"t": {"en": s, "zh": t}}, ensure_ascii=False) + "\n")
        en, zh = escape(s, quote=False), escape(t, quote=False)
        files["tmx"].write(
            f'    <tu>\n      <tuv xml:lang="en"><seg>{en}</seg></tuv>\n'
            f'      <tuv xml:lang="zh"><seg>{zh}</seg></tuv>\n    </tu>\n'
        )
        files["xliff"].write(f"<trans-unit><source>{en}</source><target>{zh}</target></trans-unit>\n")
        files["po"].write(f'msgid "{s.replace(QUOTE, "")}"\nmsgstr "{t.replace(QUOTE, "")}"\n\n')
    files["tmx"].write("</body></tmx>\n")
    files["xliff"].write("</body></file></xliff>\n")
    for file in (source, target, *files.values()):
        file.close()


if __name__ == "__main__":
    main()
