"""Warnings about the data of a run: the stages find them while they work, and the run shows them at its end."""
