"""Lines of text: read in blocks, in any encoding, and changed."""

import pkgutil

STEPS = tuple(module.name for module in pkgutil.iter_modules([f"{__path__[0]}/steps"]))
"""The names of this package's steps. A step's module is loaded when the step is made."""
