"""Looks at the corpora of a config before a run: sizes, members of archives, first pairs, languages.

Nothing is written but temporary files. Local files are read; of remote ones, only parts are. What an archive does not
allow to be seen without fetching it is said, and is not an error.
"""

from nmt_prep.inspection.corpora import inspect_config
from nmt_prep.inspection.facts import CorpusFacts, FileFacts, Inspection

__all__ = ["CorpusFacts", "FileFacts", "Inspection", "inspect_config"]
