"""Properties of the environment that the program runs in: cores and optional libraries."""
