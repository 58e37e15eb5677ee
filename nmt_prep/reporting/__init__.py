"""The report of a run: the counts that stages collect for it, its numbers, and the page and the text that show them.

:mod:`~nmt_prep.reporting.pair_samples` and :mod:`~nmt_prep.reporting.profile` hold the counts of ``encode``.
:mod:`nmt_prep.stages.report` turns the outputs of all stages into ``summary.json``. From this file alone,
:mod:`~nmt_prep.reporting.page` makes ``index.html``, and :mod:`~nmt_prep.reporting.report_tables` the tables of the page and
``summary.txt``.
"""
