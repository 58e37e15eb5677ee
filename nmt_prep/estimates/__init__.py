"""What a run will take, before it begins: ``nmt-prep plan --estimate``.

workload → how much text the corpora of a config hold
estimate → time, memory and disk of each stage, scaled from what stages took before, or from built-in rates
"""
