"""The command schema."""

from __future__ import annotations

import json

from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.terminal import open_console

with delayed_imports():
    from nmt_prep import checks


def schema() -> None:
    """Print the JSON schema of a config; editors use it to complete and check the YAML."""
    open_console().print(json.dumps(checks.json_schema(), indent=2), soft_wrap=True)
