// Scores of pairs: how well the sides translate each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "align/expect.h"
#include "align/pairs.h"
#include "align/parameters.h"

namespace nmt_prep::align {

// What scores are computed from, beside the parameters of posteriors.
struct Evidence {
    const std::int64_t* counts;  // of slots: expected numbers of agreed links, near the diagonal
    const CellFilter* filter;    // of the cells with counts
    const Totals* totals;
    float pseudo;  // count that is added to each word, spread over the words of the other side by their shares
    double mix;    // share of a word in the language itself that is always added
    double floor;  // least value of a word
};

// Writes the score of each pair: the mean over words of log(p(word | other side) / p(word)), both directions added.
// The counts that a pair brought itself are left out `own[i]` times. NaN for a pair with an empty side.
void score(const Pairs& pairs, const Parameters& parameters, const Evidence& evidence, const std::int64_t* own,
           double* scores, std::size_t threads, const Poll& poll);

}  // namespace nmt_prep::align
