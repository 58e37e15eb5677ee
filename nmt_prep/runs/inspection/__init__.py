"""Looks at a config's corpora before a run: sizes, archive members, first pairs, languages.

Only temporary files are written, and only parts of remote files are read. Members that cannot be seen before their
archive is fetched are reported, but are no error.
"""

from nmt_prep.runs.inspection.inspected_corpora import CorpusFacts, Inspection, inspect_config
from nmt_prep.runs.inspection.inspected_files import FileFacts

__all__ = ["CorpusFacts", "FileFacts", "Inspection", "inspect_config"]
