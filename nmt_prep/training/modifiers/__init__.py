"""Modifiers: functions that change blocks of pairs while they are read for training."""

from nmt_prep.training.modifiers.block import Block
from nmt_prep.training.modifiers.registry import Modifiers, read_modifiers

__all__ = ["Block", "Modifiers", "read_modifiers"]
