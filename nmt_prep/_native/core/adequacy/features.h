// Features of pairs, by which a classifier distinguishes complete translations from translations that lack words on a
// side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adequacy/sides.h"
#include "adequacy/texts.h"
#include "align/pairs.h"
#include "align/parameters.h"
#include "align/score.h"
#include "text/batch.h"

namespace nmt_prep::adequacy {

inline constexpr std::size_t kJointFeatures = 10;
inline constexpr std::size_t kFeatures = 2 * kSideFeatures + kJointFeatures + kTextFeatures;

// Pairs with the marks of their words (align/marks.h).
struct MarkedPairs {
    align::Pairs pairs;
    const std::uint32_t* source_marks;
    const std::uint32_t* target_marks;
};

// The pairs that the model learned from, and for each judged pair up to two of them (-1: none) whose counts are left
// out.
struct Origins {
    align::Pairs sample;
    const std::int64_t* copies;  // how often each pair of the sample was counted
    const std::int32_t* places;  // two for each judged pair; null if judged pair i is pair i of the sample
};

// Adds the pairs' words to both sides' sums. The values of pair i are computed without `copies[i]` times its
// own counts. Sums do not depend on the number of threads.
void count_words(const align::Pairs& pairs, const std::int64_t* copies, const align::Parameters& parameters,
                 const align::Evidence& evidence, const WordSums& source, const WordSums& target, std::size_t threads,
                 const Poll& poll);

struct Context {
    align::Parameters parameters;
    align::Evidence evidence;
    WordSums source, target;
    LengthRatios ratios;
};

// Writes kFeatures values for each pair, and its gaps: for each side begin and end of the word run with the weakest
// counterpart on the other side, or 0 and 0. Features of pairs with an empty side are 0.
void features(const MarkedPairs& judged, const Origins& origins, const Context& context, double* out,
              std::int32_t* gaps, std::size_t threads, const Poll& poll);

}  // namespace nmt_prep::adequacy
