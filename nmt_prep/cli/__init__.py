"""The command line: a command a module, over what the package offers from Python."""
