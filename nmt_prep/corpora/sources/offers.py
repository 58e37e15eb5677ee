"""What catalogs offer for a language pair: OPUS, the index of an installed mtdata, and the Hugging Face Hub.

OPUS and the hub are asked at once, for a short time. If OPUS does not answer, its list in mtdata is read, which has no
sizes. mtdata builds its whole index when it is imported, which takes most of a minute; here the modules of the index
are given an empty one, and only their own entries are built.
"""

from __future__ import annotations

import gc
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

from nmt_prep.base.artefacts import parse_json
from nmt_prep.base.errors import ConfigError, DownloadError, NmtPrepError
from nmt_prep.base.runtime import installing
from nmt_prep.config import DownloadSettings, Languages
from nmt_prep.corpora.sources.catalogues import (
    language_of,
    mtdata_keys,
    note_mtdata,
    opus_corpora,
    ordered,
    quiet_mtdata,
)
from nmt_prep.corpora.sources.hub import endpoint, repository_address
from nmt_prep.corpora.sources.known_corpora import Trap, licence_of, traps_of
from nmt_prep.corpora.sources.web import Client

_MOST_BYTES = 10_000_000
_LEFT_OUT = ("test sets", "duplicates", "gone", "part")  # kinds of traps that are not trained on
_MOST_OF_HUB = 100  # data sets of the hub, by descending downloads


@dataclass(frozen=True)
class Offer:
    """A corpus in a catalog."""

    id: str  # as a config names it, such as `opus:Books/v1/de-en`
    name: str
    version: str  # empty for data sets of the hub
    pairs: int | None = None  # None if the catalog does not list it
    size: int | None = None  # bytes of the compressed file; None if the catalog does not list it
    licence: str | None = None
    traps: tuple[Trap, ...] = ()
    fields: Mapping[str, str] | None = None  # the key of a corpus on the hub; None for its default
    partial: bool = False  # true if the ID names a data set of which the config must choose a part

    @property
    def original(self) -> str:
        """The name in OPUS of an mtdata corpus, or of the corpus from which a pivoted corpus was made."""
        in_mtdata = self.id.startswith("mtdata:")
        return self.name.partition("-")[2].replace("_", "-") if in_mtdata else self.name.removeprefix("Multi")

    @property
    def known(self) -> str:
        """What is known of the corpus, on one line."""
        return "; ".join(f"{trap.kind}: {trap.text}" for trap in self.traps)


@dataclass(frozen=True)
class Offers:
    """The corpora for a pair by catalog, the largest first, and remarks about catalogs that gave no answer."""

    opus: tuple[Offer, ...]
    mtdata: tuple[Offer, ...]
    hub: tuple[Offer, ...]
    remarks: tuple[str, ...]

    def __iter__(self) -> Iterator[Offer]:
        yield from (*self.opus, *self.mtdata, *self.hub)

    def training_corpora(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Returns the corpora's keys to train on, with different names, and remarks on traps that name corpora."""
        corpora: dict[str, dict[str, Any]] = {}
        remarks: dict[str, list[str]] = {}
        opus = {offer.name.lower() for offer in self.opus}
        for offer in self:
            why = [f"{trap.kind}: {trap}" for trap in offer.traps]
            if offer.partial:
                why.append("part: name a config of the data set, and its fields")
            if (original := offer.original) != offer.name and original.lower() in opus:
                why.append(f"duplicates: OPUS has {original}, too")
            left_out = any(each.partition(":")[0] in _LEFT_OUT for each in why)
            for each in why:
                remarks.setdefault(f"{'skipped: ' * left_out}{each}", []).append(offer.id)
            if not left_out:
                plain = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(filter(None, [offer.name, offer.version])))[:90]
                name, number = plain, 2
                while name in corpora:
                    name, number = f"{plain}-{number}", number + 1
                stated = {"fields": offer.fields, "licence": offer.licence}
                known = {key: value for key, value in stated.items() if value is not None}
                corpora[name] = {"name": name, "url": offer.id, **known}
        return [*corpora.values()], [f"{remark}: {', '.join(ids)}" for remark, ids in remarks.items()]


def find_offers(languages: Languages, *, every_version: bool = False, wait: float = 1.2) -> Offers:
    """Returns the corpora that the catalogs offer.

    Args:
        every_version: false for only the latest version of each OPUS corpus.
        wait: how long to wait for OPUS and the hub, in seconds.
    """
    started, installed, remarks = monotonic(), find_spec("mtdata") is not None, []
    client = Client(DownloadSettings())
    pair = language_of(languages.source), language_of(languages.target)
    opus_answer = _asked(lambda: opus_corpora(pair, client, every_version=every_version))
    hub_answer = _asked(lambda: _on_hub(pair, client))
    mtdata: list[Offer] = []
    if installed:
        try:
            mtdata = _in_mtdata(languages)
        except Exception as error:  # noqa: BLE001 - a library is missing, it does not know a language, and more
            remarks.append(f"mtdata's own corpora are not listed ({type(error).__name__}: {error})")
    else:
        remarks.append(f"mtdata is not installed, so its corpora are not listed: {installing('mtdata')}")
    opus = opus_answer(started + wait - monotonic())
    if opus is not None:
        found = [*filter(None, (_of_opus(entry, languages) for entry in opus))]
        others = _opus_in_mtdata(languages, every_version=every_version) if installed else []
        usual = f"/{'-'.join(sorted(pair))}"  # OPUS only lists the languages as they were asked for, and not zh_CN
        found += [offer for offer in others if not offer.id.endswith(usual)]
    elif installed:
        remarks.append(f"OPUS does not answer: its corpora are as mtdata {metadata.version('mtdata')} lists them")
        found = _opus_in_mtdata(languages, every_version=every_version)
    else:
        raise DownloadError(
            "OPUS does not answer, and mtdata, which has a list of it, is not installed; try again later"
        )
    hub = hub_answer(started + wait - monotonic())
    if hub is None:
        remarks.append("the Hugging Face Hub does not answer: only its data sets that mtdata knows are listed")
    parts = [offer for offer in mtdata if offer.id.startswith("hf:")]
    named = {part.name.rpartition("/")[0] for part in parts}
    whole = [offer for offer in hub or () if offer.name not in named]
    own = [offer for offer in mtdata if offer not in parts]
    own = own if every_version else _latest(own)
    return Offers(_sorted(found), _sorted(own), _sorted([*parts, *whole]), tuple(remarks))


def _sorted(offers: list[Offer]) -> tuple[Offer, ...]:
    return tuple(sorted(offers, key=lambda offer: (-(offer.pairs or 0), offer.name.lower(), offer.id)))


def _asked(ask: Callable[[], list[Any]]) -> Callable[[float], list[Any] | None]:
    """Starts a request; returns a function that waits for its answer, and returns None if there is none in time."""
    answers: list[list[Any]] = []

    def run() -> None:
        with suppress(NmtPrepError):
            answers.append(ask())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def answer(seconds: float) -> list[Any] | None:
        thread.join(max(seconds, 0.01))
        return answers[0] if answers else None

    return answer


def _of_opus(entry: Mapping[str, Any], languages: Languages) -> Offer | None:
    """Returns the offer for an entry of OPUS's service, or None for other languages and malformed entries."""
    texts = [entry.get(key) for key in ("corpus", "version", "source", "target")]
    if not all(isinstance(text, str) and re.fullmatch(r"[\w@.+-]+", text) for text in texts):
        return None
    corpus, version, *pair = map(str, texts)
    pairs, size = (each if isinstance(each, int) and each > 0 else None for each in map(entry.get, _OPUS_COUNTS))
    offer = _opus_offer(corpus, version, (pair[0], pair[1]), languages)
    return offer and replace(offer, pairs=pairs, size=None if size is None else size * 1024)


_OPUS_COUNTS = ("alignment_pairs", "size")  # the size is in KiB


def _opus_offer(corpus: str, version: str, pair: tuple[str, str], languages: Languages) -> Offer | None:
    identifier = f"opus:{corpus}/{version}/{'-'.join(pair)}"
    try:
        ordered(pair, languages, identifier)
    except ConfigError:
        return None
    return _offer(identifier, corpus, version)


def _offer(identifier: str, name: str, version: str = "", url: Iterable[str] = ()) -> Offer:
    traps = traps_of([identifier, *url])
    return Offer(identifier, name, version, licence=licence_of(identifier), traps=traps)


def _opus_in_mtdata(languages: Languages, *, every_version: bool) -> list[Offer]:
    spec = find_spec("mtdata")
    assert spec is not None
    try:
        text = Path(str(spec.origin)).parent.joinpath("resource", "opus_index.tsv").read_text("utf-8")
    except OSError:  # another version of mtdata
        return []
    first, second = (rf"{re.escape(language_of(tag))}(?:[_@-]\w+)?" for _, tag in languages)
    line = re.compile(rf"^([^\t\n]+)\t([^\t\n]+)\t(?:({first})\t({second})|({second})\t({first}))$", re.MULTILINE)
    offers = []
    for match in line.finditer(text):
        corpus, version, *pair = filter(None, match.groups())
        offers.append(_opus_offer(corpus, version, (pair[0], pair[1]), languages))
    found = [*filter(None, offers)]
    return found if every_version else _latest(found)


def _latest(offers: Iterable[Offer]) -> list[Offer]:
    """Returns the latest version of each corpus. Versions of test sets in mtdata are years, and all are kept."""
    latest: dict[tuple[str, str], Offer] = {}
    for offer in offers:
        pair = re.findall(r"[^-/]+", offer.id)[-2:]
        years = offer.id.startswith("mtdata:") and any(trap.kind == "test sets" for trap in offer.traps)
        key = (offer.name, offer.id if years else "-".join(pair))
        latest[key] = max(latest.get(key, offer), offer, key=_version_key)
    return [*latest.values()]


def _version_key(offer: Offer) -> list[int]:
    return [int(digits) for digits in re.findall("[0-9]+", offer.version)]


def _on_hub(pair: tuple[str, str], client: Client) -> list[Offer]:
    """Returns the data sets for translation that have both languages."""
    filters = ["task_categories:translation", *(f"language:{code}" for code in pair)]
    query = [*(("filter", each) for each in filters), ("sort", "downloads"), ("limit", str(_MOST_OF_HUB))]
    content = client.read_small(f"{endpoint()}/api/datasets?{urlencode(query)}", _MOST_BYTES)
    try:
        found = [entry for entry in parse_json(content) if isinstance(entry, dict)]
    except (ValueError, TypeError) as error:
        raise DownloadError("the answer of the Hugging Face Hub is no list") from error
    return [*filter(None, map(_of_hub, found))]


def _of_hub(entry: Mapping[str, Any]) -> Offer | None:
    """Returns the offer for an entry in the hub's list, or None for malformed entries."""
    identifier, tags = f"hf:{entry.get('id')}", entry.get("tags")
    try:
        repository_address(identifier, "datasets")
    except ConfigError:
        return None
    listed = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    licences = [tag.removeprefix("license:") for tag in listed if tag.startswith("license:")]
    offer = _offer(identifier, identifier.removeprefix("hf:"))
    return replace(offer, licence=offer.licence or next(iter(licences), None), partial=True)


def _in_mtdata(languages: Languages) -> list[Offer]:
    """Returns the corpora in mtdata's index that can be read, except its list of OPUS; what it tells is kept."""
    with quiet_mtdata(), _entries_of_mtdata() as entries:
        tags, library = import_module("mtdata.iso.bcp47"), metadata.version("mtdata")
        offers = []
        wanted = {tags.bcp47(languages.source).lang, tags.bcp47(languages.target).lang}
        for entry in entries:
            if {tag.lang for tag in entry.did.langs} == wanted and len(entry.did.langs) == len(wanted):
                with suppress(ConfigError, AssertionError):  # mtdata asserts that a pair is not ambiguous
                    offers.append(_of_mtdata(entry, tags, languages, library))
    return offers


def _of_mtdata(entry: Any, tags: Any, languages: Languages, library: str) -> Offer:
    if entry.ext == "hfds":
        return _of_hub_in_mtdata(entry, tags, languages)
    identifier, name = f"mtdata:{entry.did}", f"{entry.did.group}-{entry.did.name}"
    note_mtdata(identifier, library, languages, mtdata_keys(identifier, entry, tags, languages))
    return _offer(identifier, name, str(entry.did.version), [entry.url] if isinstance(entry.url, str) else entry.url)


def _of_hub_in_mtdata(entry: Any, tags: Any, languages: Languages) -> Offer:
    config, split = (entry.meta.get(key) for key in ("config", "split"))
    pair = tags.bcp47(languages.source), tags.bcp47(languages.target)
    fits, swapped = tags.BCP47Tag.check_compat_swap(pair, entry.did.langs)
    if not fits or not isinstance(config, str) or split not in (None, "train"):
        raise ConfigError("it is not a config of its data set")
    name = f"{entry.meta['orig_id']}/{config}"
    keys = ("target", "source") if swapped else ("source", "target")
    fields = {side: entry.meta["fields"][key] for side, key in zip(("source", "target"), keys, strict=True)}
    return replace(_offer(f"hf:{name}", name), fields=fields)


class _Index:
    """Stands in for mtdata's index, and only keeps the entries."""

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.ref_db: dict[str, object] = {}

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def __iadd__(self, entry: Any) -> _Index:
        self.add_entry(entry)
        return self

    def add_entry(self, entry: Any) -> None:
        self.entries[entry.did] = entry


@contextmanager
def _entries_of_mtdata() -> Iterator[list[Any]]:
    """Gives the entries in mtdata's index, except its OPUS list. No module of the index stays imported."""
    mtdata, entry, tags = map(import_module, ("mtdata", "mtdata.entry", "mtdata.iso.bcp47"))
    stand_in, index = ModuleType("mtdata.index"), _Index()
    stand_in.__path__ = [str(Path(str(mtdata.__file__)).parent / "index")]
    vars(stand_in).update(
        {**{name: getattr(entry, name) for name in ("Entry", "DatasetId")}, "Index": _Index, "log": mtdata.log}
        | {name: getattr(tags, name) for name in ("bcp47", "BCP47Tag")}
    )
    held = {name: sys.modules.pop(name) for name in [*sys.modules] if f"{name}.".startswith("mtdata.index.")}
    sys.modules["mtdata.index"] = stand_in
    collecting = gc.isenabled()
    gc.disable()  # tens of thousands of entries stay, and looking for others takes half of the time
    try:
        names = sorted(module.name for module in pkgutil.iter_modules(stand_in.__path__) if not module.ispkg)
        for name in [*names, "opus.opus100"]:
            with suppress(Exception):  # a module of another version may need more of the index
                import_module(f"mtdata.index.{name}").load_all(index)
        yield [*index.entries.values()]
    finally:
        for name in [name for name in sys.modules if f"{name}.".startswith("mtdata.index.")]:
            del sys.modules[name]
        sys.modules.update(held)
        if collecting:
            gc.enable()
