"""report: writes the numbers of a run as a page and a text for people, and as JSON for programs."""

from __future__ import annotations

import json

from nmt_prep.artefacts import atomic_write
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.health.judging import encoded_warnings
from nmt_prep.health.warning import Warnings
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import AnyStage, Job, NoOutput, Result, Stage
from nmt_prep.records import load_dataset_info
from nmt_prep.reporting.page import render_page
from nmt_prep.reporting.sections.provenance import shown_settings
from nmt_prep.reporting.text import render_text
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.download import Download
from nmt_prep.stages.encode import Encode, licence_settings
from nmt_prep.stages.report_summary import observed_warnings, summarise
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab import Vocabulary


class Report(Stage[NoOutput, None]):
    """Writes ``report/index.html``, ``report/summary.json`` and ``report/summary.txt``."""

    name = "report"
    directory = "report"
    reads = (Download, Compile, Sample, Vocabulary, Encode)
    observes = True
    observed = Warnings
    version = 4

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        reads = (*self.reads, Clean) if config.clean is not None else self.reads
        existing = isinstance(config.vocab, ExistingVocab)
        return tuple(stage for stage in reads if not existing or stage is not Sample)

    def settings(self, config: Config) -> dict[str, object]:
        return {**shown_settings(config), **licence_settings(config)}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        info = load_dataset_info(job.directory_of(Encode))
        warnings = tuple(encoded_warnings(info, job.config.input.max_length))
        observed = observed_warnings(job, self.inputs(job.config))
        summary = summarise(job, info, [*observed, *((self.name, warning) for warning in warnings)])
        texts = {
            "summary.json": json.dumps(summary, ensure_ascii=False, indent=1)
            + "\n",  # unsorted: corpora keep the order of the config
            "summary.txt": render_text(summary),
            "index.html": render_page(summary),
        }
        for name, text in texts.items():
            with atomic_write(job.directory / name) as beside:
                # Bytes of file names that are not UTF-8 are written as escapes.
                beside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        pairs = sum(split.pairs for split in info.splits.values())
        return Result(NoOutput(), Counts(pairs_in=pairs, pairs_out=pairs), observed=Warnings(warnings))
