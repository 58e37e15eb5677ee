"""The checks of a config that need more than its shape: readers, dialects, catalogues, languages, stages.

The package :mod:`nmt_prep.config` defines shapes and types. This package adds the sections of stages and dialects,
finds all problems of a config before any work starts, and lists them in one message.
"""

from nmt_prep.checks.load import check_config, json_schema, load_cleaning, load_config

__all__ = ["check_config", "json_schema", "load_cleaning", "load_config"]
