"""Keeping AutoGraph out of the input functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import tensorflow as tf

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def without_autograph(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """The function, such that AutoGraph does not rewrite what it passes to ``tf.data``.

    Nothing there has Python control flow on tensors. To rewrite it nevertheless would make up a third of the time to
    the first batch.
    """
    unconverted: Callable[_Arguments, _Result] = tf.autograph.experimental.do_not_convert(function)
    return unconverted
