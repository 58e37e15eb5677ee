from __future__ import annotations

import pytest

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.corpora.sources.downloads import Stored


def test_fields_of_a_dataclass_are_checked() -> None:
    assert parse_json_as(Stored, {"file": "a", "sha256": "b", "size": 1}) == Stored("a", "b", 1)
    with pytest.raises(ValueError, match=r"^size: Input should be a valid integer, unable to parse string"):
        parse_json_as(Stored, {"file": "a", "sha256": "b", "size": "x"})
    with pytest.raises(ValueError, match=r"^sha256: Field required$"):
        parse_json_as(Stored, {"file": "a", "size": 1})
