"""The constants by which runs are estimated, as ``nmt-prep calibrate`` measures them, and where they are kept.

They are in ``calibration.json`` in the cache directory, one set for each kind of vocabulary and layout of records.
Where nothing was measured, sets that were measured elsewhere stand in for it; they are part of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from nmt_prep.artefacts import publish_json
from nmt_prep.config import Config, SentencePieceVocab
from nmt_prep.digests import cache_directory
from nmt_prep.errors import ConfigError

_DEFAULTS = Path(__file__).with_name("defaults.json")
_VERSION = 1


class _Constants(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RoundCost(_Constants):
    """What the tasks of a round cost.

    Attributes:
        cpu_per_byte: seconds of one core for each byte of text.
        cpu_per_task: seconds of one core for each task, however small.
        slowdown: how much longer a task takes while all cores of the machine are at work, 1 or more.
        memory: bytes that a worker holds, without the buffers that ``engine.memory`` decides.
        held: bytes that the process of a run holds besides, however many workers it has.
    """

    cpu_per_byte: float
    cpu_per_task: float
    slowdown: float
    memory: int = 0
    held: int = 0


class StageCost(_Constants):
    """What a stage costs outside its rounds, in the one process that coordinates them.

    Attributes:
        seconds: however little there is to do.
        seconds_per_byte: for each byte of text.
    """

    seconds: float
    seconds_per_byte: float


class Training(_Constants):
    """What it takes to build a vocabulary, as powers of the size of its sample.

    Attributes:
        sample_bytes: the sample that it was measured on.
        seconds: for that, once its words are counted.
        seconds_exponent: 1 where twice the sample takes twice the time.
        memory: bytes for that, beside what the process holds anyway and ``memory_fixed``.
        memory_exponent: as the one for seconds.
        memory_fixed: bytes however small the sample is.
    """

    sample_bytes: int
    seconds: float
    seconds_exponent: float
    memory: int
    memory_exponent: float
    memory_fixed: int = 0

    def seconds_for(self, sample_bytes: float) -> float:
        """Seconds to train on a sample."""
        return self.seconds * float((sample_bytes / self.sample_bytes) ** self.seconds_exponent)

    def memory_for(self, sample_bytes: float) -> int:
        """Bytes of memory to train on a sample."""
        growth = float((sample_bytes / self.sample_bytes) ** self.memory_exponent)
        return self.memory_fixed + int(self.memory * growth)


class TextFacts(_Constants):
    """The text that was measured on.

    Attributes:
        origin: whose it is, in words.
        pairs: how many.
        source_bytes: of one side, an end of line a line included; likewise the target.
        source_characters: of one side; likewise the target.
    """

    origin: str
    pairs: int
    source_bytes: int
    target_bytes: int
    source_characters: int
    target_characters: int

    @property
    def bytes(self) -> int:
        """Of both sides."""
        return self.source_bytes + self.target_bytes


class Sizes(_Constants):
    """Bytes on disk for each byte of text: of gzip, of compiled parts, of spill files and of shards."""

    gzip: float
    compiled: float
    spill: float
    records: float


class Disk(_Constants):
    """The file system below the directory that was measured in.

    Attributes:
        write_rate: bytes a second that reach the disk.
        read_rate: bytes a second that come from it, where they are not in memory.
        file_seconds: to publish a small file: write, flush, rename, flush the directory.
    """

    write_rate: float
    read_rate: float
    file_seconds: float


class Calibration(_Constants):
    """A set of constants.

    Attributes:
        made: the day, as 2026-01-31.
        machine: in words.
        cores: of the machine that could be used.
        memory: bytes of the machine.
        busy: whether others used the machine too, so that constants of its speed are less sure.
        rounds: by name; ``decompress`` is extract where the files are compressed, ``skip`` is sample
            where most lines are passed over. A byte of either is one that is read; of ``count``, one that is taken.
        stages: what they do outside their rounds, by name.
        sample_taken: seconds of one core for each byte that is sampled, beside those for each that is read.
        gather_seconds: to find what one shard needs in one spill file.
        load_seconds: to load the vocabularies in a process.
        training: by ``source`` and ``target``, or ``shared``.
        base_memory: bytes that a process holds before it does anything.
    """

    made: str
    machine: str
    cores: int
    memory: int
    busy: bool
    text: TextFacts
    rounds: dict[str, RoundCost]
    stages: dict[str, StageCost]
    sample_taken: float
    gather_seconds: float
    load_seconds: float
    training: dict[str, Training]
    sizes: Sizes
    disk: Disk
    base_memory: int


@dataclass(frozen=True)
class Chosen:
    """The constants that are used for a config, and what to say of them."""

    calibration: Calibration
    origin: str


class _File(_Constants):
    version: int
    sets: dict[str, Calibration]


def options_key(config: Config) -> str:
    """Which set of constants a config asks for: those options that the speed and sizes depend on most."""
    vocab = config.vocab
    kind = f"sentencepiece-{vocab.model_type}" if isinstance(vocab, SentencePieceVocab) else vocab.kind
    return f"{kind}{'-shared' if vocab.shared else ''}/{config.records.layout}"


def calibration_path() -> Path:
    """Where constants are kept that were measured on this machine."""
    return cache_directory() / "calibration.json"


def save_calibration(key: str, calibration: Calibration) -> Path:
    """Keeps a set of constants, instead of an older one for the same options; returns where.

    Raises:
        ConfigError: the file with the others is damaged.
        OutputError: it cannot be written.
    """
    path = calibration_path()
    sets = {**_read(path), key: calibration}
    publish_json(path, _File(version=_VERSION, sets=sets).model_dump(mode="json"))
    return path


def choose_calibration(config: Config) -> Chosen:
    """The constants for a config: measured here, else those of the package, for the nearest options that there are.

    Raises:
        ConfigError: the file of what was measured here is damaged.
    """
    key, kept, defaults = options_key(config), _read(calibration_path()), _read(_DEFAULTS)
    if key in kept:
        found = kept[key]
        return Chosen(found, f"calibrated here on {found.made} ({key}, {found.text.origin})")
    near = min(defaults, key=lambda other: _distance(other, key))
    found = defaults[near]
    stand_in = "" if near == key else f", for {near}, which stands in for {key}"
    return Chosen(
        found,
        f"built-in, measured on {found.made} on {found.machine}{stand_in}; nmt-prep calibrate measures this machine",
    )


def _distance(key: str, wanted: str) -> tuple[bool, bool, bool, str]:
    """How far the options of a set are from others: the vocabulary matters most, then whether it is shared."""
    (kind, _, layout), (wanted_kind, _, wanted_layout) = key.partition("/"), wanted.partition("/")
    return (
        kind.removesuffix("-shared") != wanted_kind.removesuffix("-shared"),
        kind.endswith("-shared") != wanted_kind.endswith("-shared"),
        layout != wanted_layout,
        key,
    )


def _read(path: Path) -> dict[str, Calibration]:
    try:
        found = _File.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise ConfigError(
            f"{path} does not hold constants of this version of nmt_prep; delete it, and run nmt-prep calibrate"
        ) from error
    return found.sets if found.version == _VERSION else {}
