"""The report of a run: what the stages count for it, its numbers, and the page that shows them.

:mod:`~nmt_prep.reporting.sample` and :mod:`~nmt_prep.reporting.profile` hold what ``encode`` counts.
:mod:`~nmt_prep.reporting.summary` turns the outputs of all stages into ``summary.json``, and
:mod:`~nmt_prep.reporting.page` turns that into ``index.html``. The page knows nothing but the summary.
"""
