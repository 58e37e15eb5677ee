// The parameters from which links of pairs are computed.
#pragma once

#include "align/filter.h"
#include "align/markov.h"
#include "align/table.h"

namespace nmt_prep::align {

struct Parameters {
    const Table* table;
    const CellFilter* filter;    // filter of the table's cells
    const float* source_shares;  // share of each word among the words of its side
    const float* target_shares;
    Jumps forward;     // weights of jumps within the source side, for target words
    Jumps backward;    // weights of jumps within the target side, for source words
    float null;        // probability that a word has no link
    float floor;       // probability of cells that the table lacks, as a multiple of the word's share
    double steepness;  // steepness of the preference for the diagonal
};

}  // namespace nmt_prep::align
