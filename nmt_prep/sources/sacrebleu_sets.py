"""sacreBLEU test sets by id: ``sacrebleu:<test set>/<pair>``, such as ``sacrebleu:wmt18/en-zh``.

``sacrebleu.dataset.DATASETS`` has the URL of a set and the members of its archive for the two sides. Of several
references the first is taken. The set is fetched and read here, not by sacrebleu.
"""

from __future__ import annotations

from typing import Any

from nmt_prep.config.section import Languages
from nmt_prep.errors import ConfigError
from nmt_prep.runtime.extras import needed_extra
from nmt_prep.sources.languages import ordered

_FORMATS = {"FakeSGMLDataset": "sgm", "PlainTextDataset": "plain", "TSVDataset": "tsv", "WMTXMLDataset": "wmt_xml"}


def describe(address: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of a test set of sacrebleu.

    Raises:
        ConfigError: sacrebleu is not installed, has no such set or pair, or the set is in several archives.
    """
    sets = needed_extra("sacrebleu.dataset", "sacrebleu", address).DATASETS
    name, _, pair = address.removeprefix("sacrebleu:").rpartition("/")
    if name not in sets:
        raise ConfigError(
            f"{address}: sacrebleu has no test set {name!r}; an id is sacrebleu:<test set>/<pair>, such as "
            "sacrebleu:wmt18/en-zh, and `sacrebleu --list` shows the sets"
        )
    found = sets[name]
    if pair not in found.langpairs:
        raise ConfigError(f"{address}: the pairs of {name} are {', '.join(found.langpairs)}")
    if len(found.data) != 1:
        raise ConfigError(f"{address}: {name} consists of {len(found.data)} files; name those that you need by url")
    kind = _FORMATS.get(type(found).__name__)
    if kind is None:
        raise ConfigError(f"{address}: {name} is in a format that nmt_prep does not read; use another set")
    first, second = pair.split("-")
    swapped = ordered((first, second), languages, address) != (first, second)
    known = {"url": tuple(found.data), "format": kind}
    if kind == "wmt_xml":
        references = [name for name in found.kwargs.get("refs", ()) if name]
        return {
            **known,
            "member": found.langpairs[pair][0],
            "swap": swapped,
            "references": tuple(references[:1]) or None,
        }
    source, target = found.langpairs[pair][:2]
    if kind == "tsv":
        return {**known, **_columns(source, target, swapped)}
    return {**known, "source": target if swapped else source, "target": source if swapped else target}


def _columns(source: str, target: str, swapped: bool) -> dict[str, Any]:
    """Returns the columns of a table, whose members are written ``<column>:<member>``."""
    (first, _, member), (second, _, _) = source.partition(":"), target.partition(":")
    columns = {"source": int(second if swapped else first), "target": int(first if swapped else second)}
    return {"member": member, "columns": columns}
