"""Makes the beginning of a file readable for the reader of its format."""

from __future__ import annotations

import codecs
from pathlib import Path
from xml.parsers import expat

from nmt_prep.corpora import Reader
from nmt_prep.corpora.markup import XmlReader


def make_readable(path: Path, reader: type[Reader]) -> bool:
    """Shortens a file that was cut at any byte so that its reader can read it.

    Returns False if the format does not allow that.

    Args:
        path: a temporary file, which is changed.
        reader: the reader of its format.
    """
    data = path.read_bytes()
    if reader.lines_apart:
        end = data.rfind(b"\n") + 1
        path.write_bytes(data[:end])
        return end > 0
    if issubclass(reader, XmlReader):
        closed = closed_markup(data)
        if closed is not None:
            path.write_bytes(closed)
        return closed is not None
    return False


def closed_markup(data: bytes) -> bytes | None:
    """Returns an XML document cut after its last end tag, with end tags added for all open elements.

    Returns None if the document has no end tag, declares entities, or is not in an encoding like ASCII.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    parser = expat.ParserCreate()
    names: list[str] = []
    cut, still_open, inside = 0, list[str](), True

    def start(name: str, _: object) -> None:
        nonlocal inside
        names.append(name)
        inside = False

    def text(_: str) -> None:
        nonlocal inside
        inside = True

    def end(_: str) -> None:
        nonlocal cut, still_open, inside
        names.pop()
        at = parser.CurrentByteIndex  # the byte after an empty element, the first byte of an end tag
        empty = not inside and data[at - 2 : at] == b"/>"
        cut, still_open, inside = at if empty else data.index(b">", at) + 1, names.copy(), True

    def refuse(*_: object) -> None:
        raise ValueError("declares an entity")

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = end
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, False)
    except expat.ExpatError:  # text before the error can be read
        pass
    except (ValueError, LookupError):
        return None
    if not cut:
        return None
    return data[:cut] + b"".join(f"</{name}>".encode() for name in reversed(still_open))
