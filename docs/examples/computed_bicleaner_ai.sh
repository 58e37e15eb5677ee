#!/bin/sh
# Scores pairs with bicleaner-ai, for a computed value. Not run by nmt_prep's tests: it needs a model, and a GPU for
# large corpora.
#
#     pip install bicleaner-ai
#     chmod +x computed_bicleaner_ai.sh
#
#     computed:
#       bicleaner: {program: [./computed_bicleaner_ai.sh, bitextor/bicleaner-ai-full-en-xx], end: exit, batch: 65536}
#
# It reads batches by itself and writes its answers late, so it gets many pairs at a time and ends with them. The first
# argument is a model of the Hugging Face Hub or a directory; a directory's content is not compared, so give the value a
# version.
set -eu
model=$1
exec bicleaner-ai-classify --scol 1 --tcol 2 --score_only --quiet - - "$model"
