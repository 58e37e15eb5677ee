"""Opens the stream of a config, a run or an OpusTrainer YAML file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import ConfigError, RecordsError
from nmt_prep.base.sides import Side
from nmt_prep.config import Config
from nmt_prep.config.training import TrainingSettings
from nmt_prep.stages.vocab import steps_dir
from nmt_prep.training.batches.row_stream import TextStream, stream_of_records
from nmt_prep.training.batches.source import fingerprint
from nmt_prep.training.batches.staged import FilePairs
from nmt_prep.training.curriculum import OpusTrainerFile, plan_stages, read_opustrainer
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.dataset_json import DATASET_FILE, records_in
from nmt_prep.training.records.text_records import TextEncoder


@dataclass(frozen=True)
class Opened:
    """A stream and how its lines are written."""

    stream: TextStream
    fingerprint: str  # digest of all that its rows depend on
    encoder: TextEncoder | None = None  # makes pieces of the lines; None for text
    # by corpus name and by side, the tag at the start of each line
    tags: Mapping[str, Mapping[Side, str]] = field(default_factory=dict)
    trainer: tuple[str, ...] = ()  # the command in OpusTrainer's YAML


def is_source(path: Path) -> bool:
    """Returns True for a config or a run's directory."""
    return path.suffix in (".yaml", ".yml", ".json") or path.is_dir()


def open_stream(
    config: Config | None, run: Path | None, split: str, opustrainer: Path | None, form: Literal["text", "pieces"]
) -> Opened:
    """Opens a stream.

    Args:
        config: the config; None for a run without one, or for OpusTrainer's files.
        run: directory of the run; None for OpusTrainer's files.
        opustrainer: OpusTrainer's YAML; None for the ``training`` section of the config.
    """
    file = None if opustrainer is None else read_opustrainer(opustrainer)
    base = Path.cwd() if config is None else config.base_dir
    if run is None:
        assert file is not None
        assert opustrainer is not None
        return _of_files(file, opustrainer, form)
    records = records_in(run)
    info = check_records(records, split, "quick")
    if info.layout != "text":
        raise RecordsError(
            f"{records / DATASET_FILE}: the records are of layout {info.layout}; set records.layout to text and run "
            "again"
        )
    training = TrainingSettings() if config is None else config.training
    seed, key = info.seed, "training"
    if file is not None and opustrainer is not None:
        training = _renamed(file, [corpus.name for corpus in info.corpora[split]], opustrainer)
        seed, key, base = file.seed, str(opustrainer), opustrainer.parent
    subwords = training.subwords if split == "train" else {}
    encoder = TextEncoder.of(records, info, split, subwords, seed, steps_dir(config)) if form == "pieces" else None
    return Opened(
        stream_of_records(records, info, split, training, seed, base, key),
        _digest(fingerprint(info, split), training, seed),
        encoder,
        {corpus.name: corpus.tag for corpus in info.corpora[split]},
        () if file is None else file.trainer,
    )


def _of_files(file: OpusTrainerFile, path: Path, form: str) -> Opened:
    if form == "pieces":
        raise ConfigError(f"{path}: pieces need the vocabularies of a run; give its config too")
    files = [path.parent / place for place in file.datasets.values()]
    pairs = FilePairs(files, file.fields, file.seed)
    sizes = dict(zip(file.datasets, pairs.sizes, strict=True))
    curriculum = plan_stages(file.training, sizes, file.seed, path.parent, str(path))
    digest = _digest(json.dumps([[str(place), sha256_of(place)] for place in files]), file.training, file.seed)
    return Opened(TextStream(curriculum, pairs, file.seed), digest, trainer=file.trainer)


def _renamed(file: OpusTrainerFile, corpora: Sequence[str], path: Path) -> TrainingSettings:
    """Returns the settings with the corpora that the datasets name, as groups of one corpus."""
    for name, corpus in file.datasets.items():
        if corpus not in corpora:
            raise ConfigError(
                f"{path}: datasets.{name} is {corpus!r}, which is no corpus of the config; they are "
                f"{', '.join(corpora)}"
            )
    groups = {name: (corpus,) for name, corpus in file.datasets.items() if name != corpus}
    return file.training.model_copy(update={"groups": groups})


def _digest(data: str, training: TrainingSettings, seed: int) -> str:
    content = [data, training.model_dump(mode="json"), seed]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
