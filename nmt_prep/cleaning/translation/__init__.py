"""Rule ``translation``: finds pairs whose sides do not translate each other, with a model learned from the pairs."""

TRANSLATION = "translation"
"""The name of the rule, and of its score."""
