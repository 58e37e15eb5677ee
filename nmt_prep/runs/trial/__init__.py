"""``nmt-prep try``: a sample from each corpus with the values of all rules, and a page to tune the rules by.

`trial_sample` draws the pairs, `controls` computes the values of the rules, and
:mod:`~nmt_prep.runs.trial.trial_page` writes the page, which decides about each pair as a run does.
"""
