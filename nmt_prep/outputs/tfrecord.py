"""tfrecord: TFRecord shards as in ``records/``, in another layout or with another number of shards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from _nmt_prep_core import Bucket, ordered_records

from nmt_prep.artefacts import parse_json, write_json
from nmt_prep.config import Config
from nmt_prep.config.outputs import TFRecordOptions
from nmt_prep.engines import Tick
from nmt_prep.outputs.files import OutputFile
from nmt_prep.outputs.output import Form, Made, Output, ShardMade, ShardTask
from nmt_prep.records.dataset_json import ShardInfo, VocabularyInfo, load_dataset_info, write_dataset_info
from nmt_prep.records.index import index_path
from nmt_prep.records.shard_writer import write_buckets


class TFRecord(Output[TFRecordOptions]):
    """Writes ``train-00000-of-00004``, ``index/train-00000-of-00004.index`` and ``dataset.json``."""

    kind = "tfrecord"
    is_records = True
    share = 0.8
    holds_corpus = True
    holds_input = True

    def form(self, options: TFRecordOptions, config: Config) -> Form:
        return "ids"

    def problems(self, options: TFRecordOptions, config: Config) -> Iterator[tuple[str, str]]:
        if options.corpus:
            yield "corpus", "the records always have the number of each pair's corpus; leave it out"

    def write(self, task: ShardTask[TFRecordOptions], tick: Tick) -> ShardMade:
        path, options = task.directory / task.label, task.options
        shard = write_buckets(path, _buckets(task, tick), options.layout, options.row_length)
        note = task.scratch_path("shard.json")
        write_json(note, shard.model_dump(mode="json"))
        index = index_path(path).relative_to(task.directory).as_posix()
        files = (
            OutputFile(shard.file, shard.bytes, shard.sha256),
            OutputFile(index, shard.index.bytes, shard.index.sha256),
        )
        return ShardMade(shard.pairs, files, {}, (str(note),))

    def finish(self, made: Made[TFRecordOptions]) -> None:
        layout = made.options.layout
        info = load_dataset_info(made.run.records)
        splits = {}
        for split, shards in made.shards.items():
            notes = [parse_json(Path(note).read_bytes()) for shard in shards for note in shard.scratch]
            listed = tuple(ShardInfo.model_validate(note) for note in notes)
            splits[split] = info.splits[split].model_copy(update={"shards": listed})
        vocab: dict[str, VocabularyInfo] = {
            side: getattr(info.vocab, side).model_copy(update={"file": f"../../vocab/{built.path.name}"})
            for side, built in made.run.vocabularies.items()
        }
        changed = {
            "layout": layout,
            "row_length": made.options.row_length if layout == "packed" else None,
            "config_fingerprint": made.run.fingerprint,
            "vocab": info.vocab.model_copy(update=vocab),
            "splits": splits,
            "columns": (),
            "documents": None,
        }
        write_dataset_info(made.directory, info.model_copy(update=changed))

    def renew(self, directory: Path, records: Path) -> None:
        given = load_dataset_info(records).input
        write_dataset_info(directory, load_dataset_info(directory).model_copy(update={"input": given}))


def _buckets(task: ShardTask[TFRecordOptions], tick: Tick) -> Iterator[Bucket]:
    """Yields the pairs of a shard as buckets, which contain records."""
    payload: Literal["example", "ids"] = "example" if task.options.layout == "example" else "ids"
    for batch in task.id_batches(tick):
        source, target = batch.sources, batch.targets
        data = ordered_records(source.values, source.offsets, target.values, target.offsets, batch.corpora, payload)
        yield Bucket(data, 0, len(batch), payload)


TFRECORD = TFRecord()
