// Scores of pairs, higher the better the sides translate each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "align/expect.h"
#include "align/pairs.h"
#include "align/parameters.h"

namespace nmt_prep::align {

// The parameters of scores, in addition to the parameters of posteriors.
struct Evidence {
    const Table* table;          // table of the cells with counts
    const std::int64_t* counts;  // by slot: expected numbers of agreed links, near the diagonal
    const CellFilter* filter;
    const Totals* totals;
    float pseudo;  // pseudo count of each word, spread over the words of the other side by their shares
    double mix;    // least probability of a word, as a multiple of its share in the text
    double floor;  // least value of a word
};

// Writes the score of each pair: the mean over words of log(p(word | other side) / p(word)), both directions added. The
// counts that pair i added to the evidence are left out `own[i]` times. NaN for a pair with an empty side.
void score(const Pairs& pairs, const Parameters& parameters, const Evidence& evidence, const std::int64_t* own,
           double* scores, std::size_t threads, const Poll& poll);

}  // namespace nmt_prep::align
