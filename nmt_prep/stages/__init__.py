"""The stages, one module each, in the order of the data flow."""

from nmt_prep.pipeline.stage import AnyStage
from nmt_prep.stages.align import Align
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.divide import Divide
from nmt_prep.stages.download import Download
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.extract import Extract
from nmt_prep.stages.limits import Limits
from nmt_prep.stages.outputs.outputs_stage import OutputsStage
from nmt_prep.stages.publish.publish_stage import Publish
from nmt_prep.stages.report import Report
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.sentences import Sentences
from nmt_prep.stages.vocab import Vocabulary

STAGES: tuple[AnyStage, ...] = (
    Download(),
    Extract(),
    Sentences(),
    Compile(),
    Clean(),
    Divide(),
    Sample(),
    Vocabulary(),
    Limits(),
    Align(),
    Encode(),
    OutputsStage(),
    Report(),
    Publish(),
)
"""All stages, in order."""
