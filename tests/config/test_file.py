from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep import load_config
from nmt_prep.errors import ConfigError


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^/dev/zero is larger than 16 MiB; is this a config\?$"):
        load_config(Path("/dev/zero"))
