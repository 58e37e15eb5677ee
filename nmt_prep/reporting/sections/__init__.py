"""The sections of the page, one module each. Each module has ``TITLE`` and ``section(summary)``."""
