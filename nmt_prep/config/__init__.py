"""The config: one frozen model per section defines its shape and types; :mod:`nmt_prep.checks` checks the rest."""

from nmt_prep.config.clean import CleanSettings, CorpusCleaning, DecontaminateSettings, DedupSettings
from nmt_prep.config.corpus import Columns, Corpus, Fields, Tag
from nmt_prep.config.schema import (
    AlignSettings,
    ClusterSettings,
    Config,
    DaskSettings,
    DownloadSettings,
    EngineSettings,
    ExtractSettings,
    Input,
    LocalSettings,
    PublishSettings,
    Records,
    SampleSettings,
    Symmetrization,
)
from nmt_prep.config.section import Languages, Section
from nmt_prep.config.url import Checksums, Urls
from nmt_prep.config.vocab import ByteBPEVocab, ExistingVocab, SentencePieceVocab, T2TVocab, Vocab

__all__ = [
    "AlignSettings",
    "ByteBPEVocab",
    "Checksums",
    "CleanSettings",
    "ClusterSettings",
    "Columns",
    "Config",
    "Corpus",
    "CorpusCleaning",
    "DaskSettings",
    "DecontaminateSettings",
    "DedupSettings",
    "DownloadSettings",
    "EngineSettings",
    "ExistingVocab",
    "ExtractSettings",
    "Fields",
    "Input",
    "Languages",
    "LocalSettings",
    "PublishSettings",
    "Records",
    "SampleSettings",
    "Section",
    "SentencePieceVocab",
    "Symmetrization",
    "T2TVocab",
    "Tag",
    "Urls",
    "Vocab",
]
