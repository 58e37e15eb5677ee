"""The stage encode."""
