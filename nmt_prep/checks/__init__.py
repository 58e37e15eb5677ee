"""The checks of a config that need more than its shape: readers, dialects, catalogues, languages, stages.

The package :mod:`nmt_prep.config` describes shapes and types. Here the sections that stages and dialects bring are
added to it, and all problems of a config are found before any work and listed in one message.
"""

from nmt_prep.checks.load import check_config, load_config
from nmt_prep.checks.sections import json_schema

__all__ = ["check_config", "json_schema", "load_config"]
