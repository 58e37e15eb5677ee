"""The `init` command: a config with comments, from options, from answers to questions, or from a recipe."""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import resources
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import langcodes
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from nmt_prep.base.artefacts import parse_json, write_bytes, writing
from nmt_prep.base.errors import ArgumentError, ConfigError, DownloadError, OutputError
from nmt_prep.base.sides import SIDES
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import STANDARD_OUTPUT, check_outputs
from nmt_prep.cli.terminal import open_console, print_remark, printable
from nmt_prep.config import DownloadSettings, Languages
from nmt_prep.config.file import parse_yaml, yaml_of
from nmt_prep.config.problems import did_you_mean
from nmt_prep.config.vocab import DialectName

if TYPE_CHECKING:
    from nmt_prep.corpora.sources.catalogues import MtdataRecipe
    from nmt_prep.corpora.sources.offers import Offers

with delayed_imports():
    from nmt_prep.corpora.archives import entry as compression
    from nmt_prep.corpora.sources import catalogues, offers, sacrebleu_sets, web
    from nmt_prep.runs import checks
    from nmt_prep.stages import download as needed_files

_T = TypeVar("_T")
_Preset = Literal["none", "light", "standard", "strict"]
_PACKED = r"(\.(gz|bz2|xz|zst))?"
_CORPUS = "an ID (opus:…, mtdata:…, sacrebleu:…, hf:…), a file, SOURCE,TARGET for two files, or ARCHIVE::SOURCE,TARGET"
_RECIPE = "Start from a recipe: a whole config of docs/recipes.md, or the corpora of a recipe of mtdata."
_QUESTION = """\
Training corpora, one per line; an empty line ends the list:
  opus:Europarl/v8                a corpus of OPUS (https://opus.nlpl.eu)
  mtdata:Statmt-europarl-10-…     a corpus of mtdata
  hf:Helsinki-NLP/opus-100/de-en  a data set of the Hugging Face Hub
  data/a.en,data/a.de             two files, a line of each makes a pair
  data/a.tsv                      a file with both sides; also .tmx, .jsonl, .parquet, …
  data/a.tgz::d/a.en,d/a.de       an archive, and its members
  URLs (https, s3, gs) instead of paths"""
_AGAINST = "  decontaminate: {{against: {}}}  # pairs that contain segments of these sets are dropped{}\n"
_TEST_SETS = "Drop pairs that are in a test set of sacrebleu? (yes or no)"
_SIZE = "size: {}  # pieces of each vocabulary; t2t comes close to it"
_SIZE_LINES = {"subword_nmt": "merges: {}  # the characters of the text come on top"}
_NO_DEV = """\
  # dev:  # such as a test set of an earlier year; the vocabularies are built without it
  # - {{name: wmt22, url: sacrebleu:wmt22/{pair}}}
"""


def init(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The config to write; by default, SOURCE-TARGET.yaml.")
    ] = None,
    languages: Annotated[str | None, typer.Option(metavar="PAIR", help="Source and target, such as en-de.")] = None,
    train: Annotated[list[str] | None, typer.Option(metavar="CORPUS", help=f"A training corpus: {_CORPUS}.")] = None,
    opus: Annotated[list[str] | None, typer.Option(metavar="ID", help="The same as --train opus:ID.")] = None,
    mtdata: Annotated[list[str] | None, typer.Option(metavar="ID", help="The same as --train mtdata:ID.")] = None,
    dev: Annotated[list[str] | None, typer.Option(metavar="CORPUS", help="A development set, like --train.")] = None,
    test: Annotated[list[str] | None, typer.Option(metavar="CORPUS", help="A test set, like --train.")] = None,
    recipe: Annotated[str | None, typer.Option(metavar="NAME", help=_RECIPE)] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Train on all that nmt-prep find lists, except test sets and duplicates.")
    ] = False,
    vocab: Annotated[
        DialectName | None, typer.Option(help="Tokenizer type of the vocabularies; by default, t2t.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Pieces of each vocabulary, such as 16k; by default, 32000.")
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="One vocabulary for both sides.")] = False,
    clean: Annotated[_Preset | None, typer.Option(help="Drop bad pairs by the rules of this preset.")] = None,
    output_dir: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where runs write; by default, runs/NAME.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the data set; by default, FILE's name.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a config with comments, from options, from answers to questions, or from a recipe.

    If the languages or the training corpora are not given, and standard input is a terminal, nmt-prep asks for
    all that is missing. The config is checked before it is written. Its corpora are not downloaded: IDs are looked up
    in their catalogs, and local JSON lines and Parquet files are read for their fields.
    """
    trained = [*(train or ()), *(f"opus:{text}" for text in opus or ()), *(f"mtdata:{text}" for text in mtdata or ())]
    if recipe in _own_recipes():
        given = {"--languages": languages, "--train": trained, "--dev": dev, "--test": test, "--all": everything}
        given |= {"--vocab": vocab, "--size": size, "--shared": shared, "--clean": clean}
        given |= {"--output-dir": output_dir, "--name": name}
        options = [key for key, value in given.items() if value]
        _write_recipe(str(recipe), file or Path(f"{recipe}.yaml"), options, force=force)
        return
    ask = _can_ask() and recipe is None and not (languages and (trained or everything))
    with interruptible("interrupted; nothing was written"):
        try:
            pieces = None if size is None else _number(size)
            taken = None if recipe is None else _mtdata_recipe(recipe)
            pair = _languages(languages, taken, ask=ask)
            usual = f"{pair.source}-{pair.target}.yaml"
            file = file or Path(_ask("Config to write", usual, str) if ask else usual)
            _check_new(file, force=force, ask=ask)
            corpora = _Corpora(pair, file.parent)
            if taken is not None:
                corpora.add_recipe(taken)
            if everything:
                corpora.add_found(offers.find_offers(pair))
            corpora.add_given({"train": trained, "dev": dev or [], "test": test or []}, ask=ask)
            vocab = vocab or (_ask_choice("Vocabularies", DialectName, "t2t") if ask else "t2t")
            pieces = pieces or (_ask("Pieces of each vocabulary", "32000", _number) if ask else 32_000)
            shared = shared or (ask and _agreed("One vocabulary for both sides? (yes or no)"))
            clean = clean or (_ask_choice("Cleaning", _Preset, "standard") if ask else "none")
            sets = [split for split in corpora.splits if split != "train"]
            if _has_test_sets(pair) and (not ask or clean == "none" or _agreed(_TEST_SETS, "yes")):
                sets.append(sacrebleu_sets.ALL)
            name = name or _safe(file.stem) or "data"
            run = f"runs/{name}"
            output_dir = output_dir or (_ask("Directory of the run", run, str) if ask else run)
        except ArgumentError as error:
            raise typer.BadParameter(str(error)) from error
        settings = {
            "sets": sets,
            "name": name,
            "output_dir": output_dir,
            "vocab": vocab,
            "size": pieces,
            "shared": shared,
        }
        _write(file, corpora, clean, settings)
    counts, quoted = (f"{len(listed)} of {split}" for split, listed in corpora.splits.items()), shlex.quote(str(file))
    open_console().print(f"{file}: written; corpora: {', '.join(counts)}", soft_wrap=True)
    if corpora.left_out:
        open_console().print(f"skipped: {corpora.left_out}; comments in the file say why")
    open_console().print(f"next: nmt-prep check {quoted}\nthen: nmt-prep run {quoted}", soft_wrap=True)


def _own_recipes() -> dict[str, Any]:
    """Returns this package's recipes, by name."""
    folder = resources.files("nmt_prep") / "recipes"
    return {path.name.removesuffix(".yaml"): path for path in sorted(folder.iterdir(), key=lambda path: path.name)}


def _write_recipe(name: str, file: Path, options: list[str], *, force: bool) -> None:
    """Writes a recipe's config."""
    if options:
        raise typer.BadParameter(
            f"{options[0]}: the recipe {name} is a whole config; remove the option, and change the file, or a run "
            "with --set"
        )
    _check_new(file, force=force, ask=False)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, _own_recipes()[name].read_bytes())
    open_console().print(f"{file}: written\nnext: nmt-prep check {file}\nthen: nmt-prep run {file}", soft_wrap=True)


def _mtdata_recipe(name: str) -> MtdataRecipe:
    try:
        return catalogues.mtdata_recipe(name)
    except ConfigError as error:
        own = _own_recipes()
        near = did_you_mean(name, own) or f"; nmt_prep has {', '.join(own)}"
        raise ConfigError(f"{error}{near}; docs/recipes.md describes them") from None


def _languages(text: str | None, recipe: MtdataRecipe | None, *, ask: bool) -> Languages:
    """Returns the languages that an option, an answer or a recipe names."""
    given = None if text is None else _parsed_languages(text)
    if recipe is None:
        if given is None and not ask:
            raise ArgumentError("the languages are missing: give --languages, such as --languages en-de, or --recipe")
        return given or _ask("Languages, source and target, such as en-de", "", _parsed_languages)
    tags = [langcodes.standardize_tag(tag.replace("_", "-")) for tag in recipe.languages]
    if given is None:
        return Languages(source=tags[0], target=tags[1])
    if sorted(tags) != sorted(map(langcodes.standardize_tag, (given.source, given.target))):
        raise ConfigError(f"the recipe {recipe.name} is for {'-'.join(tags)}, not {given.source}-{given.target}")
    return given


def _parsed_languages(text: str) -> Languages:
    """Returns the languages of a pair such as ``en-de`` or ``pt-BR,en``."""
    tags = re.split(r"[,:\s]+", text.strip())
    tags = tags[0].split("-") if len(tags) == 1 else tags
    if len(tags) != 2:
        raise ArgumentError(f"languages: {text!r}: expected source and target, such as en-de or pt-BR,en")
    if problem := _problem({"source": tags[0], "target": tags[1]}, {"name": "c", "url": "c.tsv"}):
        raise ArgumentError(problem)
    return Languages(source=tags[0], target=tags[1])


def _problem(languages: Mapping[str, str], corpus: Mapping[str, Any]) -> str:
    """Returns a config's problems with this corpus alone, on one line; empty if there are none."""
    config = {"name": "c", "languages": languages, "output_dir": "c", "seed": 1, "splits": {"train": [corpus]}}
    try:
        checks.check_config(config, "")
    except ConfigError as error:
        lines = (line.strip() for line in str(error).splitlines()[1:])
        return "; ".join(re.sub(r"^splits\.train\.[^: ]+: ", "", line) for line in lines)
    return ""


def _check_new(file: Path, *, force: bool, ask: bool) -> None:
    """Checks that a file does not exist, or may be replaced."""
    if file.is_dir():
        raise OutputError(f"{file} is a directory; name the file to write")
    exists = file.exists() or file.is_symlink()
    if exists and not force and not (ask and _agreed(f"{file} exists. Replace it? (yes or no)")):
        raise OutputError(f"{file} exists; name another file, or give --force to replace it")


class _Corpora:
    def __init__(self, languages: Languages, config_dir: Path) -> None:
        self.languages = languages  # source and target
        self.splits: dict[str, list[dict[str, Any]]] = {}  # the keys of the corpora by split; without empty splits
        self.remarks: list[str] = []  # comments about the recipe and its corpora
        self.left_out = 0  # number of remarks about corpora that are left out
        self._config_dir = config_dir

    def add(self, split: str, text: str) -> None:
        """Adds the corpus that an option or an answer names. A repeated name gets a number."""
        is_id = re.match(r"(opus|mtdata|sacrebleu|hf):(?!//)", text)
        corpus = _of_id(text, self.languages) if is_id else _of_files(text, self.languages, self._config_dir)
        if problem := _problem(self.languages.model_dump(), corpus):
            hint = "" if is_id else "; here, name two files as SOURCE,TARGET, and members as ARCHIVE::SOURCE,TARGET"
            raise ConfigError(f"{problem if problem.startswith(text) else f'{text}: {problem}'}{hint}")
        if text.startswith("opus:"):
            _look_up(corpus["url"])
        names = [other["name"] for other in self.splits.setdefault(split, [])]
        name, number = corpus["name"], 2
        while corpus["name"] in names:
            corpus["name"], number = f"{name}-{number}", number + 1
        self.splits[split].append(corpus)

    def add_recipe(self, recipe: MtdataRecipe) -> None:
        """Adds a recipe's corpora, and remarks about corpora that cannot be read."""
        reasons = []
        for split, name in ((split, name) for split, ids in recipe.splits.items() for name in ids):
            try:
                self.add(split, f"mtdata:{name}")
            except ConfigError as error:
                reasons.append(str(error))
        if recipe.monolingual:
            reasons.append(f"{recipe.monolingual} of one language: add them with url and translate")
        if not self.splits.get("train"):
            why = "; ".join(reasons) or "it has none"
            raise ConfigError(f"the recipe {recipe.name} has no training corpus that can be read: {why}")
        self.left_out = len(reasons)
        page = f", {recipe.url}" if recipe.url else ""
        self.remarks = [f"The corpora are those of mtdata's recipe {recipe.name}{page}."]
        self.remarks += [f"skipped: {reason}" for reason in reasons]

    def add_found(self, found: Offers) -> None:
        """Adds the training corpora that catalogs offer, and remarks about traps."""
        corpora, traps = found.training_corpora()
        if not corpora:
            raise ConfigError(f"no catalog has a training corpus for {self.languages.source}-{self.languages.target}")
        self.splits["train"] = [*self.splits.get("train", ()), *corpora]
        self.left_out += len([*found]) - len(corpora)
        self.remarks += [*found.remarks, *traps]

    def add_given(self, given: Mapping[str, list[str]], *, ask: bool) -> None:
        """Adds the corpora that options name, and asks for corpora for the splits without any."""
        for split, text in ((split, text) for split, texts in given.items() for text in texts):
            self.add(split, text)

        def added(split: str, text: str) -> bool:
            if text:
                self.add(split, text)
            return bool(text)

        if ask and "train" not in self.splits:
            typer.echo(_QUESTION)
            adding = partial(added, "train")
            while _ask(f"Corpus {len(self.splits.get('train', ())) + 1}", "", adding) or "train" not in self.splits:
                if "train" not in self.splits:
                    print_remark("a config needs at least one training corpus")
        for split, example in (("dev", "wmt22"), ("test", "wmt23")) if ask else ():
            if split not in self.splits:
                question = f"{split.capitalize()} set, such as sacrebleu:{example} or two files (empty for none)"
                _ask(question, "", partial(added, split))
        if "train" not in self.splits:
            raise ArgumentError("no training corpus is named: give --train, --opus, --mtdata, --recipe or --all")
        self.splits = {split: self.splits[split] for split in given if split in self.splits}


def _has_test_sets(languages: Languages) -> bool:
    try:
        return bool(sacrebleu_sets.sacrebleu_pairs(sacrebleu_sets.ALL, languages))
    except ConfigError:  # it is not installed, or has no set of the languages
        return False


def _of_id(text: str, languages: Languages) -> dict[str, Any]:
    """Returns the keys of the corpus that an ID names."""
    catalogue, _, name = text.partition(":")
    if catalogue == "mtdata":
        return {"name": _safe("-".join(name.split("-")[:3])) or "corpus", "url": text}
    parts = name.partition("@")[0].split("/")
    pair = f"{languages.source}-{languages.target}"
    if catalogue == "sacrebleu":
        addresses = sacrebleu_sets.sacrebleu_pairs(text, languages)
        return {"name": parts[0], "url": text if len(parts) > 1 else max(addresses, key=lambda a: a.endswith(pair))}
    if catalogue == "opus":
        return {"name": _safe("-".join(parts[:2])), "url": f"{text}/{pair}" if len(parts) == 2 else text}
    return {"name": _safe("-".join(parts[1:])) or "corpus", "url": text}


def _of_files(text: str, languages: Languages, config_dir: Path) -> dict[str, Any]:
    """Returns the corpus's keys in a file, in two files, or in an archive."""
    address, marks, rest = text.rpartition("::")
    address, members = (address, rest.split(",")) if marks and "]" not in rest else (text, [])  # ] ends an IPv6 host
    files = [address] if Path(address).exists() else address.split(",")
    if max(len(files), len(members)) > 2:
        raise ArgumentError(f"{text}: expected one name, or two with a comma between them")
    urls = [file if "://" in file else _relative(Path(file), config_dir) for file in files]
    first = files[0].partition("?")[0].rpartition("/")[2]
    corpus: dict[str, Any] = {"name": _safe(re.sub(rf"(\.[A-Za-z0-9_-]+)?{_PACKED}$", "", first)) or "corpus"}
    corpus["url"] = urls[0] if len(urls) == 1 else dict(zip(SIDES, urls, strict=True))
    corpus |= {"member": members[0]} if len(members) == 1 else dict(zip(SIDES, members, strict=bool(members)))
    if re.search(rf"\.(jsonl|parquet){_PACKED}$", (members or [first])[0]):
        local = None if members or "://" in files[0] else Path(files[0]).expanduser()
        corpus["fields"] = _fields(text, local, languages)
    return corpus


def _look_up(address: str) -> None:
    """Looks up an ID of OPUS, and remarks that it could not be looked up if the service does not answer."""
    try:
        catalogues.resolve(address, web.Client(DownloadSettings()))
    except catalogues.NotInOpusError as error:
        raise ConfigError(str(error)) from None
    except DownloadError as error:
        print_remark(f"{address} could not be looked up, so it may not exist; nmt-prep check tries again ({error})")


def _fields(text: str, file: Path | None, languages: Languages) -> dict[str, str]:
    """Returns the fields with the texts of both sides, as named in a local file, or the usual ones."""
    if file is None:
        usual = {side: f"translation.{language}" for side, language in languages}
        print_remark(f"{text}: the fields {' and '.join(usual.values())} are a guess; nmt-prep check looks at the file")
        return usual
    try:
        names = [*_text_fields(file)]
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        raise ConfigError(f"{file}: its first row cannot be read: {error}") from error
    found: dict[str, str] = {}
    for side, language in languages:
        wanted = (language, language.partition("-")[0], *_FIELD_NAMES[side])
        fitting = [name for each in wanted for name in names if re.split("[._]", name.lower())[-1] == each.lower()]
        if not fitting or fitting[0] in found.values():
            known = f"its texts are {', '.join(names)}" if names else "it has no texts"
            raise ConfigError(
                f"{file}: no field is named like the {side} language, {language}; {known}; write the corpus into the "
                "config by hand, with fields: {source: …, target: …}"
            )
        found[side] = fitting[0]
    return found


_FIELD_NAMES = {"source": ("source", "src"), "target": ("target", "tgt", "trg")}
"""Field-name endings, beside languages, that say which side a text is."""

_ROW_BYTES = 1 << 24


def _text_fields(file: Path) -> Iterator[str]:
    """Yields the names of the texts in a file's first row, joined by dots."""
    if re.search(r"\.parquet$", file.name):
        row: Any = {field.name: _example(field.type) for field in pq.read_schema(file)}
    else:
        with file.open("rb") as opened:
            line = compression.decompressed(opened).read(_ROW_BYTES).partition(b"\n")[0]
        row = parse_json(line.decode("utf-8-sig"))
    yield from _texts(row, "")


def _texts(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, str):
        yield name
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from _texts(inner, f"{name}.{key}" if name else key)


def _example(kind: pa.DataType) -> Any:
    """Returns a value of a type, with empty texts."""
    if pa.types.is_struct(kind):
        return {field.name: _example(field.type) for field in kind.fields}
    return "" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None


def _relative(file: Path, config_dir: Path) -> str:
    """Returns a file's path as it is written in a config in that directory."""
    path = file.expanduser()
    if path.is_dir():
        raise ArgumentError(f"{file} is a directory; name a file")
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        near = get_close_matches(path.name, sorted(beside), n=1)
        meant = f"; did you mean {file.parent / near[0]}?" if near else ""
        raise ArgumentError(f"{file} does not exist{meant}")
    return str(path) if path.is_absolute() else Path(os.path.relpath(path, config_dir)).as_posix()


def _safe(text: str) -> str:
    """Returns a text with ``_`` for characters that names in a config may not have; the result may be empty."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-")[:100]


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _ask(question: str, default: str, parse: Callable[[str], _T]) -> _T:
    """Asks until the answer can be parsed. An empty answer stands for the default."""
    while True:
        try:
            answer = input(printable(f"{question} [{default}]: " if default else f"{question}: ")).strip()
        except EOFError:
            typer.echo()
            print_remark("nothing was written")
            raise typer.Exit(1) from None
        try:
            return parse(answer or default)
        except ConfigError as error:
            print_remark(str(error))


def _agreed(question: str, default: str = "no") -> bool:
    return _ask(question, default, str).lower() in ("y", "yes")


def _ask_choice(question: str, literal: Any, default: str) -> Any:
    """Asks for one value of a literal type."""
    choices = get_args(literal)

    def chosen(text: str) -> str:
        if text not in choices:
            raise ConfigError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return _ask(f"{question}: {', '.join(choices)}", default, chosen)


def _number(text: str) -> int:
    match = re.fullmatch("([1-9][0-9]{0,8})(k?)", text.strip(), re.ASCII | re.IGNORECASE)
    if match is None:
        raise ArgumentError(f"{text!r} is not a number of pieces, such as 32000 or 16k")
    return int(match[1]) * (1000 if match[2] else 1)


def _write(file: Path, corpora: _Corpora, clean: str, settings: Mapping[str, object]) -> None:
    """Checks a config and writes it."""
    languages, splits = corpora.languages, corpora.splits
    sets, mark = settings["sets"], "# " if clean == "none" else ""
    more = "" if "dev" in splits else "; add dev with it"
    values = {**languages.model_dump(), **settings}
    pair = f"{languages.source}-{languages.target}"
    template = resources.files(__package__).joinpath("init_template.yaml").read_text("utf-8")
    text = template.format(
        file=file,
        pair=pair,
        remarks="".join(
            f"# {line}\n" for remark in corpora.remarks for line in wrap(remark, 98, break_on_hyphens=False)
        ),
        splits=yaml_of({"splits": splits}),
        no_dev="" if "dev" in splits else _NO_DEV.format(pair=pair),
        size_line=_SIZE_LINES.get(str(settings["vocab"]), _SIZE).format(settings["size"]),
        shards=", ".join(f"{split}: {16 if split == 'train' else 1}" for split in splits).join("{}"),
        mark=mark,
        against=f"{mark}{_AGAINST.format(json.dumps(sets), more)}" if sets else "",
        clean="standard" if clean == "none" else clean,
        **{key: json.dumps(value, ensure_ascii=False) for key, value in values.items()},
    )
    data, lines = parse_yaml(text, str(file))
    assert isinstance(data, dict)
    config = checks.check_config(data, str(file), lines)
    read = {needed.where: needed.local(file.parent) for needed in needed_files.needed_files(config)}
    check_outputs({"FILE": file}, read)
    check_outputs(STANDARD_OUTPUT, read)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, text.encode())
