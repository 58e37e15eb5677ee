"""Cleaning of corpora: rules that drop pairs for a reason, and fixes that repair their text."""
