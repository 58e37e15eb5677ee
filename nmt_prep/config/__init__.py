"""The config: one frozen model per section defines its shape and types; :mod:`nmt_prep.runs.checks` checks the rest."""

from nmt_prep.config.clean import CleanSettings, CorpusCleaning, DecontaminateSettings, DedupSettings
from nmt_prep.config.computed import ComputedValue
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.engine import ClusterSettings, DaskSettings
from nmt_prep.config.schema import (
    AlignSettings,
    Config,
    DownloadSettings,
    ExtractSettings,
    PublishSettings,
    Symmetrization,
)
from nmt_prep.config.section import Languages, Section
from nmt_prep.config.vocab import ExistingVocab, Vocab

__all__ = [
    "AlignSettings",
    "CleanSettings",
    "ClusterSettings",
    "ComputedValue",
    "Config",
    "Corpus",
    "CorpusCleaning",
    "DaskSettings",
    "DecontaminateSettings",
    "DedupSettings",
    "DownloadSettings",
    "ExistingVocab",
    "ExtractSettings",
    "Languages",
    "PublishSettings",
    "Section",
    "Symmetrization",
    "Vocab",
]
