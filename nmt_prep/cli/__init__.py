"""The command line: one module per command or group of commands, on top of the Python API."""
