"""The order in which training reads pairs: stages, each a mixture of corpora with an end."""

from nmt_prep.curriculum.plan import BLOCK_ROWS, Curriculum, PlannedBlock, PlannedStage, plan_stages

__all__ = ["BLOCK_ROWS", "Curriculum", "PlannedBlock", "PlannedStage", "plan_stages"]
