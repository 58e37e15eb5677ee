"""Estimates time, memory and disk space of a run before it begins: ``nmt-prep plan --estimate``.

workload → amount of text in the corpora of a config
estimate → time, memory and disk space of each stage, scaled from earlier runs or from built-in rates
"""
