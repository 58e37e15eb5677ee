// Links of pairs, from the posteriors of both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/pairs.h"
#include "align/parameters.h"
#include "text/batch.h"

namespace nmt_prep::align {

enum class Symmetrization : std::uint8_t {
    kIntersection,
    kUnion,
    kGrowDiag,
    kGrowDiagFinal,
    kGrowDiagFinalAnd,
    kForward,
    kBackward,
};

struct Link {
    std::int32_t source;
    std::int32_t target;
};

// Links of pairs, ordered by source word, then target word: pair i has the links [offsets[i], offsets[i + 1]).
struct PairLinks {
    std::vector<Link> links;
    std::vector<std::int64_t> offsets;
    std::int64_t too_long = 0;  // pairs without links because they are too long
};

// Links each word to its most probable counterpart, or to none if that is the most probable, in both directions, and
// joins the directions.
PairLinks link(const Pairs& pairs, const Parameters& parameters, Symmetrization how, std::size_t threads,
               const Poll& poll);

// Joins the links of two directions, [sources][targets] each; the result replaces the first argument.
void symmetrize(std::vector<std::uint8_t>& forward, const std::vector<std::uint8_t>& backward, std::size_t sources,
                std::size_t targets, Symmetrization how);

}  // namespace nmt_prep::align
