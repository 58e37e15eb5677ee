"""Finds the labels of a model that stand for the expected language of a side, and those of its rivals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.languages.tags import Spoken, languages_of_labels, same, similar, spoken_of_tag
from nmt_prep.cleaning.scripts import script_number, scripts_of_language

_SEVERAL_SCRIPTS = {*["az", "bs", "ha", "kk", "ku", "ky", "mn", "ms", "pa", "sd", "sr", "tg", "tk", "tt", "ug", "uz"]}
"""Languages that may be written in Latin, Cyrillic or Arabic script, whichever script their tag implies."""


class Expected:
    """An expected language and its rivals.

    Attributes:
        own: indexes of the labels of the language and of accepted similar languages; empty if the model does not know
            the language.
        rivals: indexes of the labels of all other languages that are written in a script of the language.
        scripts: numbers of the scripts of the language; None if they are not known.
    """

    def __init__(self, labels: Sequence[str], tag: str, other_tag: str, *, accept_similar: bool) -> None:
        """Finds the labels.

        Args:
            labels: the labels of the model.
            tag: the language of the side.
            other_tag: the language of the other side, which is a rival even if it is similar.
            accept_similar: true to accept similar languages as the expected one.
        """
        asked, other = spoken_of_tag(tag), spoken_of_tag(other_tag)
        spoken = languages_of_labels(labels)
        own = {number for number, label in enumerate(spoken) if asked is not None and same(asked, label)}
        of_other = {number for number, label in enumerate(spoken) if other is not None and same(other, label)} - own
        if accept_similar and asked is not None and own:
            own |= {number for number, label in enumerate(spoken) if similar(asked, label)} - of_other
        self.own = sorted(own)
        self.scripts = _scripts(tag)
        self.rivals: list[int] = []
        self._beyond: dict[tuple[int, ...], list[int]] = {}
        for number in sorted({*range(len(labels))} - own):
            beyond = self._scripts_beyond(spoken[number])
            if beyond is None:
                continue
            self.rivals.append(number)
            if beyond:
                self._beyond.setdefault(beyond, []).append(number)
        self._other = np.zeros(len(labels) + 1, np.bool_)  # the last entry is for the label -1
        self._other[list(of_other)] = True

    def is_other(self, rivals: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Returns true for each line whose best rival is the language of the other side.

        Args:
            rivals: the label of the best rival of each line, or -1.
        """
        found: npt.NDArray[np.bool_] = self._other[rivals]
        return found

    def needing_scripts(self, rivals: npt.NDArray[np.int32]) -> list[tuple[list[int], npt.NDArray[np.bool_]]]:
        """Finds lines whose best rival also uses scripts that the expected language lacks.

        An example is Japanese as a rival of Chinese: text without kana is not Japanese.

        Args:
            rivals: the label of the best rival of each line, or -1.

        Returns:
            For each set of such scripts, their numbers, and true for each line whose rival uses them.
        """
        found = [(list(scripts), np.isin(rivals, labels)) for scripts, labels in self._beyond.items()]
        return [(scripts, lines) for scripts, lines in found if lines.any()]

    def _scripts_beyond(self, rival: Spoken | None) -> tuple[int, ...] | None:
        """Returns the scripts of another language that the expected one lacks; None if the two share no script."""
        if rival is None or self.scripts is None:
            return ()
        if rival.script is None and rival.language in _SEVERAL_SCRIPTS:
            return () if {*self.scripts} & {script_number(name) for name in ("Latin", "Cyrillic", "Arabic")} else None
        scripts = _scripts(rival.language if rival.script is None else f"{rival.language}-{rival.script}")
        if scripts is None:
            return ()
        shared, beyond = {*scripts} & {*self.scripts}, {*scripts} - {*self.scripts}
        return tuple(sorted(beyond)) if shared - {*_NO_SCRIPT} else None


_NO_SCRIPT = (0, 1)  # Common and Inherited, which every language uses


def _scripts(tag: str) -> list[int] | None:
    try:
        return scripts_of_language(tag)
    except ValueError:
        return None
