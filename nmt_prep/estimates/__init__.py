"""What a run will take: constants that are measured on a machine, and predictions from them.

calibration → the constants, and where they are kept
text → the text that they are measured on
runs → timed runs of the pipeline
measure → from timed runs to constants
workload → how much text the corpora of a config hold, and in how many tasks it is done
estimate → from constants and a workload to time, memory and disk by stage
"""
