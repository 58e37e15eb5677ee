"""Lines of text: read in blocks, in any encoding, and changed."""
