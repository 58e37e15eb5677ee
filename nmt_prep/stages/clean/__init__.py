"""The `clean` stage.

``clean_stage.py`` declares it, ``passes.py`` has the passes over a corpus's parts, ``parts.py`` their files,
``cleaned_corpora.py`` the corpora and their results. Each other module is a feature, with its tasks and its rounds.
"""

from nmt_prep.stages.clean.clean_stage import Clean, CleanOutput
from nmt_prep.stages.clean.parts import REJECTED

__all__ = ["REJECTED", "Clean", "CleanOutput"]
