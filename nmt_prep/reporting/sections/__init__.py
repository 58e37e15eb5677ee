"""The page's sections, one module each. Each module has ``TITLE`` and ``section(summary)``."""
