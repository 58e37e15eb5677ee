"""Types of the native core. One block for each bindings file, in the order of module.cpp."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

# simd.cpp
def simd_levels() -> list[str]: ...
def simd_level() -> str: ...
def use_simd_level(name: str) -> None: ...

# allocation.cpp
def keep_freed_memory(arenas: int) -> bool: ...

# t2t.cpp
UNICODE_VERSION: str

def is_alphanumeric(point: int) -> bool: ...
def find_invalid_utf8(data: npt.NDArray[np.uint8]) -> int: ...

class T2TTokenCounter:
    def add(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], threads: int) -> None: ...
    def add_token(self, token: str, count: int) -> None: ...
    def add_counted(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> None: ...
    def characters(self) -> int: ...
    def columns(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def items(self) -> list[tuple[str, int]]: ...

class T2TCandidate:
    def __len__(self) -> int: ...

class T2TTrainer:
    def __init__(self, counter: T2TTokenCounter, reserved: list[str], max_depth: int) -> None: ...
    def build(self, min_count: int, passes: int, threads: int) -> T2TCandidate: ...
    def most_pieces(self, min_count: int) -> int: ...
    def pieces(self, candidate: T2TCandidate) -> list[str]: ...

class T2TModel:
    def __init__(self, pieces: list[str]) -> None: ...
    def __len__(self) -> int: ...
    def encode(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def decode(self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], threads: int) -> list[str]: ...

# byte_bpe_split.cpp
class ByteBPEScanner: ...

def byte_bpe_scanner(expression: str, of_tiktoken: bool, keep_unmatched: bool) -> ByteBPEScanner | None: ...

class ByteBPESplitter:
    def __init__(
        self,
        scanners: list[ByteBPEScanner],
        prefix_space: bool,
        nfc: bool,
        before: list[tuple[bytes, int]],
        after: list[tuple[bytes, int]],
    ) -> None: ...
    def pretoken_ends(self, line: npt.NDArray[np.uint8]) -> list[int]: ...

# byte_bpe.cpp
def byte_bpe_rank_merges(tokens: list[bytes]) -> npt.NDArray[np.int32]: ...
def bpe_last_merges(
    symbols: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int64],
    merges: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]: ...
def bpe_learn_merges(
    texts: list[bytes],
    values: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    forbidden: list[bytes],
    merges: int,
    min_frequency: int,
    threads: int,
) -> npt.NDArray[np.int32]: ...

class ByteBPEWordCounter:
    def add(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], splitter: ByteBPESplitter, threads: int
    ) -> None: ...
    def add_counted(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> None: ...
    def columns(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def places(self) -> int: ...
    def train(
        self,
        symbols: list[bytes],
        forbidden: list[bytes],
        size: int,
        min_frequency: int,
        threads: int,
        progress: Callable[[int], None],
    ) -> tuple[list[bytes], npt.NDArray[np.int32]]: ...

class ByteBPEModel:
    def __init__(
        self,
        tokens: list[bytes],
        specials: list[tuple[int, bytes]],
        merges: npt.NDArray[np.int32],
        whole_words: bool,
    ) -> None: ...
    def encode(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        splitter: ByteBPESplitter,
        threads: int,
        dropout: float,
        seed: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def decode(
        self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], threads: int, replace: bool
    ) -> list[str]: ...
    def decode_bytes(
        self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], threads: int
    ) -> list[bytes]: ...
    def reachable(self) -> list[bool]: ...

# subword_nmt.cpp
class SubwordNMTWordCounter:
    def add(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], threads: int) -> None: ...
    def add_counted(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> None: ...
    def columns(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def places(self) -> int: ...
    def learn(
        self,
        merges: int,
        total_symbols: bool,
        min_frequency: int,
        threads: int,
        progress: Callable[[int], None],
    ) -> list[tuple[str, str]]: ...

class SubwordNMTModel:
    def __init__(
        self,
        merges: list[tuple[str, str]],
        word_end_apart: bool,
        whole_words: bool,
        separator: str,
        known: list[str] | None,
        tokens: list[str],
        unknown: int,
    ) -> None: ...
    def encode(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        cut: list[tuple[str, list[tuple[str, bool]]]],
        threads: int,
        dropout: float,
        seed: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def segment(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        cut: list[tuple[str, list[tuple[str, bool]]]],
        threads: int,
        dropout: float,
        seed: int,
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...

# sentencepiece.cpp
class TokenizersRules:
    def __init__(
        self,
        *,
        charsmap: bytes,
        strip_left_first: bool,
        strip_right_first: bool,
        strip_left: bool,
        strip_right: bool,
        collapse_spaces: bool,
        split_white_space: bool,
        prefix: int,
        prefix_first_only: bool,
        split_escaped: bool,
        fuse_unknown: bool,
    ) -> None: ...

class SentencePieceModel:
    def __init__(self, data: npt.NDArray[np.uint8], fairseq_ids: bool) -> None: ...
    @staticmethod
    def of_tokenizers(
        pieces: list[tuple[str, int]],
        is_unigram: bool,
        byte_fallback: bool,
        unk_surface: str,
        strips_first_space: bool,
        rules: TokenizersRules,
        scores: npt.NDArray[np.float64],
        merges: npt.NDArray[np.int32],
    ) -> SentencePieceModel: ...
    def __len__(self) -> int: ...
    def pieces(self) -> list[str]: ...
    def scores(self) -> npt.NDArray[np.float32]: ...
    def types(self) -> npt.NDArray[np.uint8]: ...
    def self_tests(self) -> list[tuple[str, str]]: ...
    def encode(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        continued: npt.NDArray[np.uint8],
        threads: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def sample(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        continued: npt.NDArray[np.uint8],
        threads: int,
        dropout: float,
        alpha: float,
        nbest: int,
        seed: int,
        first_line: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def decode(self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], threads: int) -> list[str]: ...
    @property
    def numbering(self) -> bytes: ...
    @property
    def rest(self) -> bytes: ...
    @property
    def not_covered(self) -> str: ...
    @property
    def kind(self) -> int: ...
    @property
    def unk_id(self) -> int: ...
    @property
    def bos_id(self) -> int: ...
    @property
    def eos_id(self) -> int: ...
    @property
    def pad_id(self) -> int: ...

class SentencePieceTracer:
    def __init__(self, data: npt.NDArray[np.uint8], fairseq_ids: bool) -> None: ...
    def normalized(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> list[str]: ...
    def spans(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        values: npt.NDArray[np.int32],
        row_offsets: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_]]: ...

# sentencepiece_train.cpp
def write_sentencepiece_pieces(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float32],
    types: npt.NDArray[np.uint8],
) -> bytes: ...

class SentencePieceOptions:
    def __init__(
        self,
        longest: int,
        split_by_script: bool,
        split_by_number: bool,
        split_by_whitespace: bool,
        split_digits: bool,
        whitespace_is_suffix: bool,
        whitespace_only_pieces: bool,
    ) -> None: ...

class SentencePieceTrainingText:
    def __init__(
        self,
        charsmap: bytes,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        whitespace_is_suffix: bool,
        split_by_whitespace: bool,
        whitespace_only_pieces: bool,
        separate: list[str],
        delimiter: str,
        longest_line: int,
        most_lines: int,
        mark_finals: bool = False,
    ) -> None: ...
    def add(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], threads: int) -> None: ...
    @property
    def lines(self) -> int: ...
    @property
    def too_long(self) -> int: ...
    @property
    def training_memory(self) -> int: ...
    def covered(self, required: list[int], coverage: float) -> list[tuple[int, int]] | None: ...
    def learn_bpe(
        self,
        options: SentencePieceOptions,
        characters: list[int],
        merges: int,
        threads: int,
        progress: Callable[[int], object],
    ) -> tuple[bytes, npt.NDArray[np.int64]]: ...

# unigram_training.cpp
class UnigramOptions:
    def __init__(
        self,
        *,
        size: int,
        desired_size: int,
        seeds: int,
        shrinking_factor: float,
        sub_iterations: int,
        lanes: int,
        pieces: SentencePieceOptions,
    ) -> None: ...

def learn_unigram(
    text: SentencePieceTrainingText,
    options: UnigramOptions,
    characters: list[tuple[int, int]],
    threads: int,
    progress: Callable[[int], object],
) -> list[tuple[str, float]]: ...

# records.cpp
def count_ids(counts: npt.NDArray[np.int64], ids: npt.NDArray[np.int32]) -> None: ...
def crc32c(data: npt.NDArray[np.uint8] | bytes, portable: bool = False) -> int: ...
def shuffle_positions(keys: npt.NDArray[np.uint64], rows: int, first: int, count: int) -> npt.NDArray[np.int64]: ...
def shuffle_rows_at(
    keys: npt.NDArray[np.uint64], rows: int, positions: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]: ...
def frame_rows(
    values: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    before: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def parse_pairs(
    data: npt.NDArray[np.uint8], max_records: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64], int, str]: ...
def ordered_records(
    inputs: npt.NDArray[np.int32],
    input_offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    target_offsets: npt.NDArray[np.int64],
    corpora: npt.NDArray[np.int32],
    payload: Payload,
) -> npt.NDArray[np.uint8]: ...

Payload: TypeAlias = Literal["example", "ids", "text"]

class SpillBuffer:
    def __init__(
        self,
        keys: npt.NDArray[np.uint64],
        rows: int,
        shards: int,
        buckets_per_shard: int,
        payload: Payload,
        expected: int = 0,
        source_frame: tuple[Sequence[int], Sequence[int]] = ((), ()),
        target_frame: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> None: ...
    def add(
        self,
        first_row: int,
        inputs: npt.NDArray[np.int32],
        input_offsets: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        target_offsets: npt.NDArray[np.int64],
        corpus: int,
        positions: npt.NDArray[np.int64] | None = None,
    ) -> None: ...
    def add_text(
        self,
        first_row: int,
        inputs: npt.NDArray[np.uint8],
        input_offsets: npt.NDArray[np.int64],
        targets: npt.NDArray[np.uint8],
        target_offsets: npt.NDArray[np.int64],
        corpus: int,
        positions: npt.NDArray[np.int64] | None = None,
    ) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def held(self) -> int: ...
    def drain(self, out: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]: ...

class Bucket:
    def __init__(self, data: npt.NDArray[np.uint8], first: int, last: int, payload: Payload) -> None: ...
    def __len__(self) -> int: ...
    @property
    def largest(self) -> int: ...
    @property
    def source_tokens(self) -> int: ...
    @property
    def target_tokens(self) -> int: ...
    def copy(self, out: npt.NDArray[np.uint8]) -> int: ...
    def index(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint16]]: ...
    def text(
        self, first: int, size: int
    ) -> tuple[
        npt.NDArray[np.uint8],
        npt.NDArray[np.int64],
        npt.NDArray[np.uint8],
        npt.NDArray[np.int64],
        npt.NDArray[np.int32],
    ]: ...

# batches.cpp
def select_rows(
    values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64], longest: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def pad_rows(
    values: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    row_pairs: npt.NDArray[np.int64],
    cells: int,
    padding: int,
    first: int,
    out: npt.NDArray[np.int64],
) -> None: ...
def pack_sequences(lengths: npt.NDArray[np.int32], row_length: int) -> npt.NDArray[np.int32]: ...
def fill_rows(
    values: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int32],
    bound_offsets: npt.NDArray[np.int64],
    row_sizes: npt.NDArray[np.int64],
    padding: int,
    ignored: int,
    ids: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    third: npt.NDArray[np.int64],
) -> npt.NDArray[np.int32]: ...

# pair_batches.cpp
_Int32s = npt.NDArray[np.int32]
_PaddedBatches = tuple[_Int32s, _Int32s, _Int32s, _Int32s, _Int32s, npt.NDArray[np.int64]]

def distinct_words(
    text: bytes, sizes: npt.NDArray[np.int32], longest: int
) -> tuple[bytes, npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

class PairBatches:
    def __init__(
        self,
        buffer_size: int,
        batch_size: int,
        buckets: int,
        bucket_width: int,
        source_width: int,
        drains: int,
        source_padding: int,
        sos: int,
        eos: int,
    ) -> None: ...
    def add(
        self,
        source: npt.NDArray[np.int32],
        source_lengths: npt.NDArray[np.int64],
        target: npt.NDArray[np.int32],
        target_lengths: npt.NDArray[np.int64],
        random: npt.NDArray[np.int64],
    ) -> _PaddedBatches: ...
    def drain(self) -> _PaddedBatches: ...

# outputs.cpp
class PieceTable:
    def __init__(self, pieces: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None: ...
    def lines(
        self, values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], last: int
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...

def piece_lines(
    columns: Sequence[tuple[PieceTable, npt.NDArray[np.int32], npt.NDArray[np.int64], int]],
) -> npt.NDArray[np.uint8]: ...
def join_pairs(
    sources: npt.NDArray[np.int32],
    source_offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    target_offsets: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int32],
    source_last: int,
    target_last: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

# chunks.cpp
def pack_best_fit(
    source_lengths: npt.NDArray[np.int32], target_lengths: npt.NDArray[np.int32], length: int
) -> npt.NDArray[np.int32]: ...
def pack_rounds(
    source_lengths: npt.NDArray[np.int32], target_lengths: npt.NDArray[np.int32], length: int
) -> npt.NDArray[np.int32]: ...
def parse_chunks(
    data: npt.NDArray[np.uint8], max_records: int
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    int,
    int,
    str,
]: ...

class ChunkWriter:
    def __init__(self, pairs: int, row_length: int) -> None: ...
    def add(self, bucket: Bucket) -> None: ...
    def finish(self) -> None: ...
    def take(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.uint16]]: ...

# dedup.cpp
KEYS_UNICODE_VERSION: str
ROW_BITS: int

def line_keys(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], normalized: bool
) -> npt.NDArray[np.uint64]: ...

class LineNumbers:
    def __len__(self) -> int: ...
    def add(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

def pair_keys(source: npt.NDArray[np.uint64], target: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...
def partition_records(
    records: npt.NDArray[np.uint64], bits: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
def reduce_records(records: npt.NDArray[np.uint64], kept: int, corpora: list[int], corpus_count: int) -> int: ...
def drops_among(
    records: npt.NDArray[np.uint64], kept: int, reduced: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]: ...
def rank_records(
    records: npt.NDArray[np.uint64], kept: int, corpora: list[int], corpus_count: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]: ...

# near.cpp
def band_hashes(
    source: npt.NDArray[np.uint8],
    source_offsets: npt.NDArray[np.int64],
    target: npt.NDArray[np.uint8],
    target_offsets: npt.NDArray[np.int64],
    bands: int,
    rows: int,
) -> npt.NDArray[np.uint64]: ...
def sort_bands(records: npt.NDArray[np.uint64]) -> None: ...
def bucket_edges(
    records: npt.NDArray[np.uint64], cap: int, first: int, limit: int
) -> tuple[npt.NDArray[np.uint64], int, int]: ...
def group_rows(
    numbers: npt.NDArray[np.uint64], groups: npt.NDArray[np.uint32], count: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
def verify_pairs(
    source: npt.NDArray[np.uint8],
    source_offsets: npt.NDArray[np.int64],
    target: npt.NDArray[np.uint8],
    target_offsets: npt.NDArray[np.int64],
    other_source: npt.NDArray[np.uint8],
    other_source_offsets: npt.NDArray[np.int64],
    other_target: npt.NDArray[np.uint8],
    other_target_offsets: npt.NDArray[np.int64],
    candidates: npt.NDArray[np.int64],
    similarity: float,
) -> npt.NDArray[np.bool_]: ...

# segments.cpp
class SegmentIndex:
    def __init__(
        self,
        first: npt.NDArray[np.uint8],
        first_offsets: npt.NDArray[np.int64],
        second: npt.NDArray[np.uint8],
        second_offsets: npt.NDArray[np.int64],
        coverage: float,
    ) -> None: ...
    def search(
        self,
        source: npt.NDArray[np.uint8],
        source_offsets: npt.NDArray[np.int64],
        target: npt.NDArray[np.uint8],
        target_offsets: npt.NDArray[np.int64],
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.uint8],
        npt.NDArray[np.float64],
        npt.NDArray[np.int64],
        npt.NDArray[np.uint8],
    ]: ...

# clean.cpp
PROPERTIES_UNICODE_VERSION: str

class Lines:
    def __init__(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None: ...
    def __len__(self) -> int: ...

def line_lengths(lines: Lines, unit: str) -> npt.NDArray[np.float64]: ...
def longest_tokens(lines: Lines) -> npt.NDArray[np.float64]: ...
def longest_words(lines: Lines) -> npt.NDArray[np.float64]: ...
def average_tokens(lines: Lines) -> npt.NDArray[np.float64]: ...
def letter_word_shares(lines: Lines) -> npt.NDArray[np.float64]: ...
def word_character_shares(lines: Lines) -> npt.NDArray[np.float64]: ...
def possible_capitals(lines: Lines) -> npt.NDArray[np.float64]: ...
def number_shares(lines: Lines) -> npt.NDArray[np.float64]: ...
def alphabetic_shares(lines: Lines, spaces: bool) -> npt.NDArray[np.float64]: ...
def script_shares(lines: Lines, scripts: list[int]) -> npt.NDArray[np.float64]: ...
def han_counts(lines: Lines) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def script_weights(lines: Lines, scripts: list[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def html_tags(lines: Lines, known: bool) -> npt.NDArray[np.float64]: ...
def sentence_ends(lines: Lines) -> npt.NDArray[np.float64]: ...
def address_shares(lines: Lines) -> npt.NDArray[np.float64]: ...
def unbalanced_brackets(lines: Lines) -> npt.NDArray[np.float64]: ...
def repetitions(lines: Lines, times: int, shortest: int, longest: int) -> npt.NDArray[np.float64]: ...
def noise_kinds(lines: Lines, wanted: int) -> npt.NDArray[np.float64]: ...
def url_similarity(source: Lines, target: Lines) -> npt.NDArray[np.float64]: ...
def common_substring(source: Lines, target: Lines) -> npt.NDArray[np.float64]: ...
def bracket_differences(source: Lines, target: Lines) -> npt.NDArray[np.float64]: ...
def equal_letters(source: Lines, target: Lines, min_letters: int) -> npt.NDArray[np.float64]: ...
def edit_similarity(source: Lines, target: Lines, tokens: bool) -> npt.NDArray[np.float64]: ...
def currency_similarity(source: Lines, target: Lines, missing: bool) -> npt.NDArray[np.float64]: ...
def number_similarity(source: Lines, target: Lines, small: int) -> npt.NDArray[np.float64]: ...
def terminal_punctuation(source: Lines, target: Lines) -> npt.NDArray[np.float64]: ...
def numerals(source: Lines, target: Lines) -> npt.NDArray[np.float64]: ...
def natural_logarithms(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
def judge(values: npt.NDArray[np.float64], bounds: list[tuple[float, float, bool, bool]]) -> npt.NDArray[np.uint8]: ...
def value_histogram(
    values: npt.NDArray[np.float64], edges: list[float], kept: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]: ...
def script_names() -> list[tuple[str, str]]: ...
def script_of_name(name: str) -> int: ...

# fasttext.cpp
class FastTextModel:
    def __init__(self, data: Buffer) -> None: ...
    @property
    def labels(self) -> list[bytes]: ...
    def probabilities(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], labels: list[int], threads: int
    ) -> npt.NDArray[np.float32]: ...
    def top(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], most: int, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
    def contest(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        roles: npt.NDArray[np.uint8],
        least: float,
        threads: int,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int32]]: ...

# align.cpp
ALIGN_ONE: int
ALIGN_JUMPS: int
ALIGN_MOST_WORDS: int
ALIGN_MOST_CELLS: int

def count_words(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], spaces: bool, stem: int, threads: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def word_spans(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], spaces: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def split_columns(
    data: npt.NDArray[np.uint8] | bytearray, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], mark: str
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64], int, int]: ...
def link_lines(
    links: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], end: str, threads: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def parse_links(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    source_words: npt.NDArray[np.int64],
    target_words: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

Spans: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]

def piece_links(
    links: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    source_words: Spans,
    target_words: Spans,
    source_pieces: Spans,
    target_pieces: Spans,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]: ...

class WordNumbers:
    def __init__(self, hashes: npt.NDArray[np.uint64]) -> None: ...
    def encode(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], spaces: bool, stem: int, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def encode_marked(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], spaces: bool, stem: int, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...

class NumberedPairs:
    def __init__(
        self,
        source: npt.NDArray[np.int32],
        source_offsets: npt.NDArray[np.int64],
        target: npt.NDArray[np.int32],
        target_offsets: npt.NDArray[np.int64],
    ) -> None: ...
    def __len__(self) -> int: ...

def count_cells(
    pairs: NumberedPairs, share: int, every: bool, rows: int, columns: int, steepness: float, threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def add_cells(
    offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    other_offsets: npt.NDArray[np.int64],
    other_targets: npt.NDArray[np.int32],
    other_counts: npt.NDArray[np.int64],
    threads: int,
    /,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def prune_cells(
    offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    columns: int,
    least: int,
    association: float,
    /,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

class LexicalTable:
    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        columns: int,
        threads: int = 1,
    ) -> None: ...
    @staticmethod
    def restored(first: npt.NDArray[np.int64], slots: npt.NDArray[np.uint8], columns: int) -> LexicalTable: ...
    def check_counts(self, counts: npt.NDArray[np.int64]) -> None: ...
    def first(self) -> npt.NDArray[np.int64]: ...
    def slots(self) -> npt.NDArray[np.uint8]: ...
    def rows_of(
        self, counts: npt.NDArray[np.int64], least: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    def placed(
        self,
        offsets: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        threads: int = 1,
    ) -> npt.NDArray[np.int64]: ...
    def reduced(
        self, counts: npt.NDArray[np.int64], least: int, others: npt.NDArray[np.int64], threads: int
    ) -> tuple[LexicalTable, npt.NDArray[np.int64]]: ...
    def reestimated(self, counts: npt.NDArray[np.int64], threads: int) -> LexicalTable: ...

class LinkEvidence:
    def __init__(self, table: LexicalTable, counts: npt.NDArray[np.int64]) -> None: ...

class NativeAligner:
    def __init__(
        self,
        table: LexicalTable,
        source_shares: npt.NDArray[np.float32],
        target_shares: npt.NDArray[np.float32],
        forward: npt.NDArray[np.float32],
        backward: npt.NDArray[np.float32],
        null: float,
        floor: float,
        steepness: float,
    ) -> None: ...
    def expect(
        self, pairs: NumberedPairs, jumps: bool, counts: npt.NDArray[np.int64], threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def counts_by_pair(
        self, pairs: NumberedPairs, threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
    def link(
        self, pairs: NumberedPairs, how: int, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]: ...
    def score(
        self,
        pairs: NumberedPairs,
        evidence: LinkEvidence,
        own: npt.NDArray[np.int64],
        pseudo: float,
        mix: float,
        floor: float,
        threads: int,
    ) -> npt.NDArray[np.float64]: ...

def symmetrize_links(
    forward: npt.NDArray[np.uint8], backward: npt.NDArray[np.uint8], how: int
) -> npt.NDArray[np.uint8]: ...

# adequacy.cpp
ADEQUACY_FEATURES: int
ADEQUACY_BINS: int

def count_adequacy_words(
    aligner: NativeAligner,
    pairs: NumberedPairs,
    copies: npt.NDArray[np.int64],
    evidence: LinkEvidence,
    options: tuple[float, float, float],
    source: npt.NDArray[np.int64],
    target: npt.NDArray[np.int64],
    threads: int,
) -> None: ...
def adequacy_features(
    aligner: NativeAligner,
    judged: NumberedPairs,
    source_marks: npt.NDArray[np.uint32],
    target_marks: npt.NDArray[np.uint32],
    sample: NumberedPairs,
    copies: npt.NDArray[np.int64],
    places: npt.NDArray[np.int32] | None,
    evidence: LinkEvidence,
    options: tuple[float, float, float],
    source: npt.NDArray[np.int64],
    target: npt.NDArray[np.int64],
    words: float,
    characters: float,
    threads: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]: ...
def train_trees(
    bins: npt.NDArray[np.uint8],
    classes: npt.NDArray[np.uint8],
    directions: npt.NDArray[np.int8],
    trees: int,
    leaves: int,
    rate: float,
    penalty: float,
    smallest: int,
    threads: int,
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.float64],
    npt.NDArray[np.int32],
    npt.NDArray[np.float64],
    npt.NDArray[np.int32],
]: ...

class Trees:
    def __init__(
        self,
        features: npt.NDArray[np.int32],
        bounds: npt.NDArray[np.float64],
        children: npt.NDArray[np.int32],
        values: npt.NDArray[np.float64],
        roots: npt.NDArray[np.int32],
        size: int,
    ) -> None: ...
    def predict(self, rows: npt.NDArray[np.float64], threads: int = 1) -> npt.NDArray[np.float64]: ...

# sentences.cpp
class SentenceSide:
    def __init__(
        self, words: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.float64]
    ) -> None: ...

class WordLinks:
    def __init__(
        self,
        first: npt.NDArray[np.int64],
        others: npt.NDArray[np.int32],
        counts: npt.NDArray[np.float32],
        totals: npt.NDArray[np.float32],
        shares: npt.NDArray[np.float32],
    ) -> None: ...

class BeadCounts:
    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        source: npt.NDArray[np.int32],
        target: npt.NDArray[np.int32],
        counts: npt.NDArray[np.float32],
        source_beads: npt.NDArray[np.int32],
        target_beads: npt.NDArray[np.int32],
    ) -> None: ...

def align_sentences(
    source: SentenceSide,
    target: SentenceSide,
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int32],
    priors: npt.NDArray[np.float64],
    deletion: float,
    extension: float,
    ratio: float,
    variance: float,
    source_gamma: tuple[float, float],
    target_gamma: tuple[float, float],
    source_links: WordLinks | None,
    target_links: WordLinks | None,
    own: BeadCounts | None,
    pseudo: float,
    mix: float,
    window: int,
    background: float,
    word_weight: float,
    free: float,
) -> npt.NDArray[np.int64]: ...

# modify.cpp
TYPOS: tuple[str, ...]

def rewrite_pairs(
    source: tuple[npt.NDArray[Any], ...],
    target: tuple[npt.NDArray[Any], ...],
    links: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    spaces: bool,
) -> tuple[
    npt.NDArray[np.uint8],
    npt.NDArray[np.int64],
    npt.NDArray[np.uint8],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
]: ...
def type_lines(
    lines: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]],
    links: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None,
    keys: npt.NDArray[np.uint64],
    chances: Sequence[tuple[int, float]],
    spaces: bool,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def title_lines(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def tag_lines(
    source: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]],
    target: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]],
    links: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]],
    keys: npt.NDArray[np.uint64],
    probability: float,
    shares: tuple[float, float, float],
    form: tuple[str, str, str],
    source_first: bool,
    is_icu: tuple[bool, bool],
    ranges: Sequence[tuple[int, int]],
    spaces: bool,
) -> tuple[
    npt.NDArray[np.uint8],
    npt.NDArray[np.int64],
    npt.NDArray[np.uint8],
    npt.NDArray[np.int64],
    npt.NDArray[np.uint8],
    npt.NDArray[np.int64],
]: ...

# health.cpp
def line_hashes(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...

class FrequentHashes:
    def __init__(self, kept: int) -> None: ...
    def add(self, hashes: npt.NDArray[np.uint64]) -> None: ...
    def above(self, least: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], int]: ...

# line_ends.cpp
def count_newlines(data: npt.NDArray[np.uint8] | bytes | bytearray) -> int: ...
def scan_lines(data: npt.NDArray[np.uint8] | bytes | bytearray) -> tuple[npt.NDArray[np.int64], bool, bool]: ...
def join_spans(
    data: npt.NDArray[np.uint8] | bytes | bytearray, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def split_lines(
    data: npt.NDArray[np.uint8] | bytes | bytearray | memoryview,
    lines: int,
    left_out: npt.NDArray[np.int64],
    strip_returns: bool,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]: ...
def find_blank(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]: ...
def has_outer_space(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> bool: ...
def block_hash(data: npt.NDArray[np.uint8] | bytes | bytearray | memoryview) -> int: ...
def block_facts(data: npt.NDArray[np.uint8] | bytes | bytearray | memoryview) -> tuple[int, int]: ...

class LineSampler:
    def __init__(self, stride: int, budget: int) -> None: ...
    def feed(self, data: npt.NDArray[np.uint8] | memoryview, last: bool) -> npt.NDArray[np.uint8]: ...
    @property
    def done(self) -> bool: ...
    @property
    def lines(self) -> int: ...

# steps.cpp
NORMALIZATION_UNICODE_VERSION: str

class TextStep: ...

def apply_steps(
    steps: tuple[TextStep, ...], data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], threads: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def simple_step(name: str, language: str = "") -> TextStep: ...
def entities_step(texts: dict[str, str]) -> TextStep: ...
def moses_tokenizer(
    language: str, prefixes: list[tuple[str, bool]], aggressive: bool, escape: bool, skip_tags: bool
) -> TextStep: ...
def moses_detokenizer(language: str, upper: bool) -> TextStep: ...
def truecaser(forms: list[list[str]], lower_first: bool) -> TextStep: ...

class TruecaserTrainer:
    def __init__(self, first_tokens: bool) -> None: ...
    def add(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None: ...
    def model(self) -> list[str]: ...
