"""Modules that all others may use: errors, sides, columns, digests, atomic writes, progress, cores and libraries."""
