from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nmt_prep.base import artefacts
from nmt_prep.base.artefacts import (
    FlushingWriter,
    atomic_write,
    atomic_writes,
    output_file,
    parse_json,
    parse_json_as,
    remove_partial,
    write_json,
    writing,
)
from nmt_prep.base.errors import OutputError
from nmt_prep.corpora.sources.downloads import Stored


def test_published_appears_complete_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    with atomic_write(target) as beside:
        beside.write_text("words")
        assert not target.exists()
    assert target.read_text() == "words"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_an_output_file_replaces_a_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with output_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_an_output_file_does_not_replace_a_pipe_or_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``/dev/stderr`` is a link, which leads to a regular file if standard error is redirected."""
    monkeypatch.setattr(artefacts, "_DEVICES", tmp_path / "dev")
    pipe, stream = tmp_path / "pipe", tmp_path / "dev" / "stderr"
    stream.parent.mkdir()
    os.mkfifo(pipe)
    (tmp_path / "redirected").touch()
    stream.symlink_to(tmp_path / "redirected")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for path in (pipe, stream):
        with output_file(path) as file:
            file.write(b"text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert (pipe.is_fifo(), stream.is_symlink()) == (True, True)
    assert (tmp_path / "redirected").read_text() == "text"


def test_published_keeps_the_old_file_if_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")

    def fail() -> None:
        with atomic_write(target) as beside:
            beside.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EACCES, "permission denied; set output_dir to a directory that you may write"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EIO, "Input/output error; nothing complete was lost"),
    ],
)
def test_writing_says_what_where_and_what_to_do(code: int, advice: str) -> None:
    with pytest.raises(OutputError, match=rf"cannot write /there/x: {advice}"), writing(Path("/there/x")):
        raise OSError(code, os.strerror(code))


def test_publish_json_bytes_do_not_depend_on_the_order_of_keys(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": 1, "ä": ["x"]})
    write_json(tmp_path / "b", {"ä": ["x"], "b": 1})
    expected = '{\n  "b": 1,\n  "ä": [\n    "x"\n  ]\n}\n'
    assert (tmp_path / "a").read_text("utf-8") == (tmp_path / "b").read_text("utf-8") == expected


def test_remove_partial_removes_only_leftovers_of_published(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in (".x.0123456789abcdef.partial", "sub/.y.fedcba9876543210.partial", "kept.partial", ".mine.partial"):
        (tmp_path / name).touch()
    remove_partial(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".mine.partial", "kept.partial", "sub"]


def test_remove_partial_ignores_files_that_vanish_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".x.0123456789abcdef.partial").touch()
    listed = list(tmp_path.rglob("*"))
    (tmp_path / ".x.0123456789abcdef.partial").unlink()
    monkeypatch.setattr(Path, "rglob", lambda *_: listed)
    remove_partial(tmp_path)
    assert not list(tmp_path.iterdir())


def test_flush_tree_flushes_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").touch()
    (tmp_path / "sub" / "link").symlink_to("nothing")
    flushed = []
    monkeypatch.setattr(artefacts.os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    artefacts.flush_tree(tmp_path)
    everything = [tmp_path / "sub", tmp_path / "sub" / "file", tmp_path]  # directories too
    assert flushed == [path.stat().st_ino for path in everything]


def test_links_replace_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "below" / "link"
    for target in ("a", "b"):
        assert artefacts.point_to(tmp_path / target, link)
        assert link.readlink() == tmp_path / target
    assert list(link.parent.iterdir()) == [link]

    def refuse(code: int) -> None:
        def symlink(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(Path, "symlink_to", symlink)

    refuse(errno.EOPNOTSUPP)
    assert not artefacts.point_to(tmp_path / "c", link)
    refuse(errno.ENOSPC)
    with pytest.raises(OutputError, match="the disk is full"):
        artefacts.point_to(tmp_path / "c", link)


def test_several_files_are_flushed_before_the_first_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / "a" / "x", tmp_path / "b" / "y", tmp_path / "a" / "z"]
    flushed: list[tuple[int, list[bool]]] = []
    fsync = os.fsync

    def flush(handle: int) -> None:
        flushed.append((os.fstat(handle).st_ino, [path.exists() for path in paths]))
        fsync(handle)

    monkeypatch.setattr(artefacts.os, "fsync", flush)
    with atomic_writes(paths) as unfinished:
        for number, beside in enumerate(unfinished):
            beside.write_text(str(number))
    assert [path.read_text() for path in paths] == ["0", "1", "2"]
    assert sorted(flushed[:3]) == sorted((path.stat().st_ino, [False] * 3) for path in paths)
    assert flushed[3:] == [((tmp_path / name).stat().st_ino, [True] * 3) for name in "ab"]


def test_a_file_is_flushed_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(artefacts.os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    monkeypatch.setattr(artefacts, "_FLUSHED_EARLY", 4)
    with (tmp_path / "file").open("wb") as file:
        with FlushingWriter(file) as writer:
            assert [writer.write(data) for data in (b"abc", b"de", b"fgh")] == [3, 2, 3]
            assert writer.tell() == 8
        assert len(flushed) == 1
        assert flushed[0] in (5, 8)


def test_a_failed_flush_is_raised_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(artefacts.os, "fsync", fail)
    monkeypatch.setattr(artefacts, "_FLUSHED_EARLY", 1)
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="No space"), FlushingWriter(file) as out:
        out.write(b"a")


def test_a_file_of_several_that_is_missing_leaves_none(tmp_path: Path) -> None:
    paths = [tmp_path / "x", tmp_path / "y"]
    with pytest.raises(OutputError, match=r"cannot write .*/\.y\..*: No such file"), atomic_writes(paths) as unfinished:
        unfinished[0].touch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"\xff", "codec can't decode"),
        (b"{", "Expecting property name"),
        (b"9" * 5000, "integer string conversion"),
    ],
)
def test_damaged_json_is_a_value_error(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(content)


def test_fields_of_a_dataclass_are_checked() -> None:
    assert parse_json_as(Stored, {"file": "a", "sha256": "b", "size": 1}) == Stored("a", "b", 1)
    with pytest.raises(ValueError, match=r"^size: Input should be a valid integer, unable to parse string"):
        parse_json_as(Stored, {"file": "a", "sha256": "b", "size": "x"})
    with pytest.raises(ValueError, match=r"^sha256: Field required$"):
        parse_json_as(Stored, {"file": "a", "size": 1})
