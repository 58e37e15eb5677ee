"""The `outputs` stage."""
