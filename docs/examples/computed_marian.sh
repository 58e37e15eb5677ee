#!/bin/sh
# Translates lines with Marian, for a computed value. Not run by nmt_prep's tests: it needs marian-decoder and a model.
#
#     chmod +x computed_marian.sh
#
#     computed:
#       bt:
#         program: [./computed_marian.sh, model/decoder.yml, "4"]
#         input: target
#         output: text
#         candidates: 4
#         end: exit
#         batch: 65536
#         version: de-en-2026-03
#
# Marian sorts many lines into batches before it answers, so it gets many at a time and ends with them. With candidates,
# it writes lists of "line ||| translation ||| scores", which become a line with tabs per input line.
set -eu
config=$1 candidates=${2:-1}
set -- -c "$config" --quiet --quiet-translation --mini-batch 64 --maxi-batch 1000 --maxi-batch-sort src
if [ "$candidates" -eq 1 ]; then
    exec marian-decoder "$@" --beam-size 4
fi
marian-decoder "$@" --beam-size "$candidates" --n-best | awk -F ' [|][|][|] ' '
    { gsub(/\t/, " ", $2) }
    NR > 1 && $1 == last { printf "\t%s", $2; next }
    { if (NR > 1) print ""; printf "%s", $2; last = $1 }
    END { if (NR > 0) print "" }
'
