"""Step ``fugashi``: Japanese words by MeCab, as ``mecab -O wakati``."""

from __future__ import annotations

import threading

import pyarrow as pa

from nmt_prep.base.runtime import needed_extra
from nmt_prep.text.step import Step, StepContext, StepOptions


class FugashiOptions(StepOptions):
    """The dictionary."""

    arguments: str = ""
    """arguments of MeCab, such as ``-d DIRECTORY`` for a dictionary; without them, unidic or unidic-lite is used"""


class Fugashi(Step[FugashiOptions]):
    """Segments Japanese."""

    options = FugashiOptions
    short = "arguments"
    runs_code = True

    def __init__(self, options: FugashiOptions, context: StepContext) -> None:
        del context
        library = needed_extra("fugashi", "fugashi", "the step fugashi")
        kind = library.GenericTagger if options.arguments else library.Tagger
        try:
            self._tagger = kind(f"-Owakati {options.arguments}".strip())
        except RuntimeError as error:
            details = [line for line in str(error).splitlines() if line.strip("- ")]
            raise ValueError(
                "MeCab cannot be started; install unidic-lite, or name a dictionary in arguments, such as -d DIRECTORY "
                f"({details[-1] if details else 'no reason is known'})"
            ) from error
        self._lock = threading.Lock()

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        with self._lock:
            words = [self._tagger.parse(line).strip() for line in lines.to_pylist()]
        return pa.array(words, pa.large_string())
