"""The `compile` stage: ``compile_stage.py`` declares it; every other module has the tasks and rounds of one feature."""

from nmt_prep.stages.compile.compile_stage import Compile, corpus_files, file_steps, reading_settings
from nmt_prep.stages.compile.compile_tasks import DROP_REASONS

__all__ = ["DROP_REASONS", "Compile", "corpus_files", "file_steps", "reading_settings"]
