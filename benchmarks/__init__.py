"""Comparisons with other programs, a module each; ``python -m benchmarks`` runs them and writes README's table."""
