"""Files as lines of UTF-8, one block at a time."""
