"""Excludes the input functions from AutoGraph."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import tensorflow as tf

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def without_autograph(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorates a function so that AutoGraph does not rewrite the functions that it passes to ``tf.data``.

    They have no Python control flow on tensors, and rewriting them would take a third of the time to the first batch.
    """
    unconverted: Callable[_Arguments, _Result] = tf.autograph.experimental.do_not_convert(function)
    return unconverted
