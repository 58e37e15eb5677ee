"""Steps that change lines of text, and chains of them."""

from nmt_prep.text.chain import Chain, Changed
from nmt_prep.text.step import Step, StepContext

__all__ = ["Chain", "Changed", "Step", "StepContext"]
