"""Warnings about the data of a run: counted while the stages work, and shown at the end without being asked."""
