"""Duplicates in documents: a dropped pair stays beside the pair after it in its document, as a repeated segment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.sides import SIDES
from nmt_prep.corpora.parts import BEFORE
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.corpora.scores import document_starts

MOST = 255  # Maximum number of repeated segments before a pair; of more segments, the first are left out


def with_repeated(batch: pa.RecordBatch, kept: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Returns a batch of a part with the columns :data:`BEFORE`, to which the duplicates are added.

    They are added to the next kept pair of their document, unless a row is missing between them. Duplicates at the end
    of the batch are left out.

    Args:
        kept: True for each pair that is not a duplicate.
    """
    count, rows = len(batch), batch.column("row").to_numpy()
    nothing = pa.array([[]] * (count + 1), pa.list_(pa.string()))
    lists = [batch.column(name) if name in batch.schema.names else nothing[:count] for name in BEFORE.values()]
    held = np.asarray(lists[0].value_lengths(), np.int64)
    begins = np.append(True, rows[1:] - held[1:] != rows[:-1] + 1)
    begins[document_starts(batch.column(DOCUMENT))] = True
    begins[1:] |= kept[:-1]
    begins |= batch.column(DOCUMENT).is_null().to_numpy(zero_copy_only=False)
    first = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
    # Each row contributes the segments from an earlier comparison, and its own if it is dropped.
    sizes = held + ~kept
    ends = np.cumsum(sizes)
    segments = np.insert(np.arange(held.sum()), np.cumsum(held)[~kept], np.flatnonzero(~kept) + held.sum())
    most = np.minimum(ends - (ends - sizes)[first], MOST)[kept]
    places = np.repeat(ends[kept] - np.cumsum(most), most) + np.arange(most.sum())
    offsets = pa.array(np.append(0, np.cumsum(most)).astype(np.int32))
    # ``added`` has a list for each kept pair only; dropped rows may get any list, since they are left out later.
    others = pa.array(np.cumsum(kept) - kept)
    fields = {field.name: field for field in batch.schema}
    columns = dict(zip(fields, batch.columns, strict=True))
    for side, values in zip(SIDES, lists, strict=True):
        texts = pa.concat_arrays([values.flatten(), batch.column(side)]).take(pa.array(segments[places]))
        added = pa.ListArray.from_arrays(offsets, texts)
        columns[BEFORE[side]] = pa.concat_arrays([added, nothing[:1]]).take(others)
        fields[BEFORE[side]] = pa.field(BEFORE[side], nothing.type)
    return pa.record_batch([*columns.values()], schema=pa.schema(fields.values()))
