"""The checks of a config that need more than its own keys: readers, dialects, catalogs, rules, outputs, stages.

The package :mod:`nmt_prep.config` defines shapes and types. This package calls the checks of the parts above it once,
after the types, and lists all problems in one message. `corpus_checks` does so for a filter of pairs.
"""

from nmt_prep.runs.checks.load import check_config, json_schema, load_config

__all__ = ["check_config", "json_schema", "load_config"]
