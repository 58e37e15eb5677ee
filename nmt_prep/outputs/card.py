"""Dataset cards: the README.md of a data set on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import yaml

from nmt_prep.outputs.output import RunFacts

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


def dataset_card(run: RunFacts, pairs: Mapping[str, int], columns: Mapping[str, str], signature: str) -> str:
    """Returns a card as Markdown with a YAML header, which tells the Hub and ``load_dataset`` splits and files.

    Args:
        run: facts of the run.
        pairs: number of pairs by split.
        columns: description of each column.
        signature: one line that identifies the data.
    """
    files = [{"split": split, "path": f"{split}-*.parquet"} for split in pairs]
    configs = [{"config_name": "default", "data_files": files}]
    source, target = run.languages["source"], run.languages["target"]
    tags = dict.fromkeys(tag for pairs in run.pairs.values() for pair in pairs for tag in pair)
    lines = card_head([*tags] or (source, target), sum(pairs.values()), {}, {"configs": configs})
    lines += [f"# {run.name}", "", f"Sentence pairs, {source} to {target}.", ""]
    lines += ["| split | pairs | corpora |", "|---|---|---|"]
    lines += [f"| {split} | {count:,} | {', '.join(run.corpora[split])} |" for split, count in pairs.items()]
    lines += ["", "| column | content |", "|---|---|"]
    lines += [f"| `{column}` | {meaning} |" for column, meaning in columns.items()]
    lines += ["", "## Licences", ""]
    names = dict.fromkeys(name for listed in run.corpora.values() for name in listed)
    lines += [f"- {name}: {plain_markdown(run.licences.get(name, 'not stated'))}" for name in names]
    lines += ["", "## Use", "", "```python", "from datasets import load_dataset", ""]
    lines += ['data = load_dataset("PATH_OR_OWNER/NAME")', "```", "", f"Signature: `{signature}`", ""]
    return "\n".join(lines)


def card_head(
    languages: Sequence[str], pairs: int, licence: Mapping[str, object], files: Mapping[str, object]
) -> list[str]:
    """Returns the lines of the YAML header of a card.

    Args:
        languages: tags of the languages.
        pairs: number of pairs of all splits.
        licence: the key ``license``, if the card has it.
        files: the keys that name the files.
    """
    header = {
        "language": sorted({tag.replace("_", "-").partition("-")[0].lower() for tag in languages}),
        **licence,
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": [size_category(pairs)],
        **files,
    }
    return ["---", yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip(), "---", ""]


def plain_markdown(text: str) -> str:
    """Returns text on one line, with escapes so that Hugging Face sees no Markdown in it."""
    return re.sub(r"([\\`*_~|<>&$!#\[\]])", r"\\\1", " ".join(text.split()))


def size_category(pairs: int) -> str:
    """Returns the Hub's name for a size."""
    return next((name for limit, name in _SIZES if pairs < limit), "10B<n<100B")
