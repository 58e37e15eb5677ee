"""Packs sentence pairs as files: plain text, or tgz archives with SGM development sets as WMT packs them."""

import gzip
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from toy_corpus.defects import damaged

Pair = tuple[str, str]

_CHUNK_PAIRS = 4096
_SEGMENTS_PER_DOC = 25
_MEMBER_MODE = 0o644
_QUOTE = {'"': "&quot;"}


def write_lines(pairs: Iterable[Pair], source: BinaryIO, target: BinaryIO, max_bytes: int | None = None) -> int:
    """Writes one file per side, one sentence per line, in constant memory.

    Args:
        pairs: (English, Chinese) sentences.
        source: file for the English lines, in UTF-8.
        target: file for the Chinese lines, in UTF-8.
        max_bytes: stop after the pair with which both files together reach this size; None for all pairs.

    Returns:
        The number of pairs written.
    """
    written = count = 0
    lines: tuple[list[str], list[str]] = ([], [])

    def flush() -> None:
        for stream, side in zip((source, target), lines, strict=True):
            stream.write("".join(side).encode())
            side.clear()

    for en, zh in pairs:
        if max_bytes is not None:
            if written >= max_bytes:
                break
            written += len(en.encode()) + len(zh.encode()) + 2
        lines[0].append(en + "\n")
        lines[1].append(zh + "\n")
        count += 1
        if count % _CHUNK_PAIRS == 0:
            flush()
    flush()
    return count


def write_tgz(path: Path, members: list[tuple[str, Path]]) -> None:
    """Writes an archive whose bytes depend only on the members' names, order and content.

    Args:
        path: the archive.
        members: (name in the archive, file to read), in the archive's order.
    """
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, file in members:
            info = tarfile.TarInfo(name)
            info.size = file.stat().st_size
            info.mode = _MEMBER_MODE
            with file.open("rb") as content:
                archive.addfile(info, content)


def sgm_lines(sentences: list[str], *, reference: bool) -> Iterator[str]:
    """Yields a development set in WMT's SGM form, source side or reference side, documents of 25 segments."""
    kind = "refset" if reference else "srcset"
    languages = 'srclang="en" trglang="zh"' if reference else 'srclang="en"'
    yield f'<{kind} setid="toydev" {languages}>\n'
    system = 'sysid="ref" ' if reference else ""
    for number, start in enumerate(range(0, len(sentences), _SEGMENTS_PER_DOC), 1):
        yield f'<doc {system}docid="toy.{number:04}" genre="toy" origlang="en">\n<p>\n'
        for i, sentence in enumerate(sentences[start : start + _SEGMENTS_PER_DOC], 1):
            yield f'<seg id="{i}">{escape(sentence, _QUOTE)}</seg>\n'
        yield "</p>\n</doc>\n"
    yield f"</{kind}>\n"


def package_plain(output: Path, train: Iterable[Pair], dev: list[Pair], max_bytes: int | None) -> int:
    """Writes train.en, train.zh, dev.en and dev.zh under `output`; return the number of training pairs."""
    with (output / "dev.en").open("wb") as source, (output / "dev.zh").open("wb") as target:
        write_lines(dev, source, target)
    with (output / "train.en").open("wb") as source, (output / "train.zh").open("wb") as target:
        return write_lines(train, source, target, max_bytes)


def package_wmt(output: Path, train: Iterable[Pair], dev: list[Pair], max_bytes: int | None) -> int:
    """Writes training-parallel-toy.tgz and dev.tgz under `output`; return the number of training pairs.

    A tar header contains its member's size, so the text is first written to a temporary directory under `output`.
    """
    with tempfile.TemporaryDirectory(dir=output) as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        members = [("training/toy.zh-en.en", source), ("training/toy.zh-en.zh", target)]
        with source.open("wb") as source_stream, target.open("wb") as target_stream:
            count = write_lines(train, source_stream, target_stream, max_bytes)
        write_tgz(output / "training-parallel-toy.tgz", members)
        source.write_bytes("".join(sgm_lines([en for en, _ in dev], reference=False)).encode())
        target.write_bytes("".join(sgm_lines([zh for _, zh in dev], reference=True)).encode())
        members = [("dev/toydev-src.en.sgm", source), ("dev/toydev-ref.zh.sgm", target)]
        write_tgz(output / "dev.tgz", members)
    return count


def package_dirty(output: Path, train: Iterable[Pair], dev: list[Pair], max_bytes: int | None) -> int:
    """Writes dirty-toy.tsv under `output`, with columns en, zh, kind and quality; returns the number of pairs."""
    del dev
    count = written = 0
    with (output / "dirty-toy.tsv").open("wb") as stream:
        stream.write(b"en\tzh\tkind\tquality\n")
        for pair in damaged(train):
            if max_bytes is not None and written >= max_bytes:
                break
            written += stream.write(("\t".join(pair) + "\n").encode())
            count += 1
    return count
