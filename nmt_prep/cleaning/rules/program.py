"""Rule ``program``: an external program, short for a computed value and its limits.

``program: {command: [./judge.py, --fast]}`` runs a program in the config's directory for each batch of pairs. The
program reads a line for each pair from standard input: source and target, separated by a tab, or only the text in a
corpus of one side. Tabs within the text are replaced by spaces. For each line, the program writes a line with 1 for a
pair that passes or 0 for one that does not. If the rule has ``min`` or ``max``, it writes a number instead.
"""

from __future__ import annotations

from nmt_prep.cleaning.computed_rules import ShortForm, ShortFormOptions
from nmt_prep.config import ComputedValue
from nmt_prep.config.computed import Command


class ProgramOptions(ShortFormOptions):
    """A program that judges pairs."""

    command: Command
    """a list of words, or a text that is split as a shell does: the program and its arguments"""

    @property
    def value(self) -> ComputedValue:
        return ComputedValue(
            program=self.command, version=self.version, input="any", end="exit", batch=65_536, seconds=9e4
        )


class ProgramRule(ShortForm[ProgramOptions]):
    """An external program."""
