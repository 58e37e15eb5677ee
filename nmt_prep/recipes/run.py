"""The outputs of a finished run, as recipes see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_prep.artefacts import parse_json
from nmt_prep.errors import OutputError
from nmt_prep.sides import SIDES

DESCRIPTION = "output.json"
TRAIN = "train"
_KEYS = ("kind", "options", "languages", "seed", "vocab", "splits")


@dataclass(frozen=True)
class MadeOutput:
    """An output.

    Attributes:
        directory: its directory, absolute.
        facts: content of its ``output.json``.
    """

    directory: Path
    facts: Mapping[str, Any]

    @property
    def languages(self) -> tuple[str, str]:
        """Names of the two sides in the names of files: languages, or source and target if these are the same."""
        source, target = (str(self.facts["languages"][side]) for side in SIDES)
        return (source, target) if source != target else SIDES

    @property
    def held_out(self) -> str | None:
        """Name of the split for validation: dev, valid or the first other one besides train; None if there is none."""
        others = [split for split in self.facts["splits"] if split != TRAIN]
        return next((split for split in ("dev", "valid", *others) if split in others), None)

    def vocab(self, side: str) -> Mapping[str, Any]:
        """Returns the facts of a side's vocabulary: size and special ids."""
        vocabulary: Mapping[str, Any] = self.facts["vocab"][side]
        return vocabulary

    @property
    def shared(self) -> bool:
        """True if the sides share a vocabulary."""
        return bool(self.vocab("source")["file"] == self.vocab("target")["file"])

    def shards(self, split: str, suffix: str = "") -> list[Path]:
        """Returns the files of a split with a suffix, in order."""
        listed = self.facts["splits"][split]["shards"]
        return [
            self.directory / file["name"]
            for shard in listed
            for file in shard["files"]
            if file["name"].endswith(suffix)
        ]


def find_output(run: Path, kind: str, options: Mapping[str, object], advice: str) -> MadeOutput:
    """Returns the first output of a run with a kind and certain options.

    Args:
        run: directory of the run.
        kind: the kind.
        options: values that the options of the output must have.
        advice: the entry of ``outputs`` that makes such an output.

    Raises:
        OutputError: there is no such output, or its description is damaged.
    """
    found = sorted((run / "outputs").glob(f"*/{DESCRIPTION}"))
    for path in found:
        try:
            content = parse_json(path.read_bytes())
            facts = {key: content[key] for key in _KEYS}
            if facts["kind"] == kind and all(facts["options"].get(key) == value for key, value in options.items()):
                return MadeOutput(path.parent.absolute(), facts)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise OutputError(
                f"{path}: not the description of an output ({error}); run with --force outputs"
            ) from error
    there = ", ".join(path.parent.name for path in found) or "none"
    raise OutputError(
        f"{run} has no output for this recipe (outputs: {there}); add {advice} to outputs in the config, and run it "
        "again"
    )


def here_document(name: str, text: str) -> str:
    """Returns shell commands that write a file."""
    end = f"END_OF_{name.upper().replace('.', '_')}"
    return f"cat >{name} <<'{end}'\n{text.rstrip()}\n{end}\n"
