"""The `encode` stage."""
