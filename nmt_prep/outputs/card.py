"""Dataset cards: the README.md of a data set on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
    (10**10, "1B<n<10B"),
)


@dataclass(frozen=True)
class Card:
    """The content of a dataset card.

    Attributes:
        name: name of the data set.
        languages: tags of the source and the target language.
        pairs: number of pairs by split.
        corpora: names of the corpora by split.
        licences: the licences that the config states, by name of the corpus.
        columns: description of each column.
        signature: one line that identifies the data.
        folder: path of the directory of the Parquet files, relative to the card; empty for the directory of the card.
    """

    name: str
    languages: tuple[str, str]
    pairs: Mapping[str, int]
    corpora: Mapping[str, Sequence[str]]
    licences: Mapping[str, str]
    columns: Mapping[str, str]
    signature: str
    folder: str = ""


def dataset_card(card: Card) -> str:
    """Returns a card as Markdown with a YAML header, which tells the Hub and ``load_dataset`` splits and files."""
    place = f"{card.folder}/" if card.folder else ""
    files = [{"split": split, "path": f"{place}{split}-*.parquet"} for split in card.pairs]
    header = {
        "language": sorted({tag.replace("_", "-").partition("-")[0].lower() for tag in card.languages}),
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": [size_category(sum(card.pairs.values()))],
        "configs": [{"config_name": "default", "data_files": files}],
    }
    lines = ["---", yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip(), "---", ""]
    lines += [f"# {card.name}", "", f"Sentence pairs, {card.languages[0]} to {card.languages[1]}.", ""]
    lines += ["| split | pairs | corpora |", "|---|---|---|"]
    lines += [f"| {split} | {pairs:,} | {', '.join(card.corpora[split])} |" for split, pairs in card.pairs.items()]
    lines += ["", "| column | content |", "|---|---|"]
    lines += [f"| `{column}` | {meaning} |" for column, meaning in card.columns.items()]
    lines += ["", "## Licences", ""]
    names = dict.fromkeys(name for listed in card.corpora.values() for name in listed)
    lines += [f"- {name}: {plain_markdown(card.licences.get(name, 'not stated'))}" for name in names]
    lines += ["", "## Use", "", "```python", "from datasets import load_dataset", ""]
    lines += ['data = load_dataset("PATH_OR_OWNER/NAME")', "```", "", f"Signature: `{card.signature}`", ""]
    return "\n".join(lines)


def plain_markdown(text: str) -> str:
    """Returns text on one line, with escapes so that Hugging Face sees no Markdown in it."""
    return re.sub(r"([\\`*_~|<>&$!#\[\]])", r"\\\1", " ".join(text.split()))


def size_category(pairs: int) -> str:
    """Returns the Hub's name for a size."""
    return next((name for limit, name in _SIZES if pairs < limit), "10B<n<100B")
