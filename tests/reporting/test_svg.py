from __future__ import annotations

import re

from nmt_prep.reporting.svg import Tick, plot


def labels(*ticks: Tick) -> list[tuple[str, str]]:
    """Returns place and text of the labels of a plot."""
    return re.findall('<text x="([^"]*%)"[^>]*>([^<]*)</text>', plot([], "title", x=ticks))


def test_labels_without_room_are_left_out() -> None:
    ticks = [Tick(place, text) for place, text in ((0.02, "0"), (0.3, "20"), (0.9, "400"), (0.95, "5,000"))]
    assert labels(*ticks) == [("2.00%", "0"), ("95.00%", "5,000"), ("30.00%", "20")]


def test_thresholds_without_room_have_no_label() -> None:
    ticks = [Tick(place, text, strong=True) for place, text in ((0.3, "-0.6"), (0.28, "-1.13"), (0.7, "3"))]
    assert labels(*ticks) == [("30.00%", "-0.6"), ("70.00%", "3")]
    assert plot([], "title", x=ticks).count('class="mark"/>') == 3
