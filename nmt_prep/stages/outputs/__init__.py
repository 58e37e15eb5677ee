"""The stage outputs."""
