"""The stage outputs: ``stage.py`` declares it; ``text.py`` shuffles the text of outputs that hold text."""

from nmt_prep.stages.outputs.stage import OutputsStage

__all__ = ["OutputsStage"]
