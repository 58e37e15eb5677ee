"""Looks at the corpora of a config before a run: sizes, members of archives, first pairs, languages.

Only temporary files are written, and only parts of remote files are read. Members of an archive that cannot be seen
before the archive is fetched are reported as such, which is not an error.
"""

from nmt_prep.inspection.corpora import CorpusFacts, Inspection, inspect_config
from nmt_prep.inspection.files import FileFacts

__all__ = ["CorpusFacts", "FileFacts", "Inspection", "inspect_config"]
