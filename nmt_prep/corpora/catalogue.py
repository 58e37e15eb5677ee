"""Functions shared by the readers of PO and MO, the two forms of gettext catalogues."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.errors import CorpusError

_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]+)")


def charset(head: bytes, path: Path) -> str:
    """Returns the encoding in the header of a catalogue, or UTF-8 if there is none.

    Raises:
        CorpusError: the encoding is unknown.
    """
    found = _CHARSET.search(head)
    if found is None or found[1] == b"CHARSET":
        return "utf-8"
    name = found[1].decode("ascii")
    try:
        "".encode(name)
        known = codecs.lookup(name).name
    except LookupError as error:
        raise CorpusError(
            f"{path}: its header states the unknown encoding {name}; set encoding in the config"
        ) from error
    return "utf-8" if known == "ascii" else known


def add_entry(builder: PairBuilder, text: str, plural: str | None, forms: Sequence[str], fault: int) -> None:
    """Adds the pair of an entry, and for an entry with a plural a second pair with the last plural form.

    Skips the header, whose text is empty.
    """
    if not text:
        return
    builder.add(text, forms[0] if forms else None, fault)
    if plural is not None and len(forms) > 1:
        builder.add(plural, forms[-1], fault)
