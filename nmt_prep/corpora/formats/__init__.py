"""A reader for each file format."""
