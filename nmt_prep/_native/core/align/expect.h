// Expected counts of links.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "align/pairs.h"
#include "align/parameters.h"
#include "text/batch.h"

namespace nmt_prep::align {

// The method for posteriors: DiagonalLinks or Lattice.
enum class Step : std::uint8_t { kNearDiagonal, kByJumps };

// Sums over pairs, as multiples of 1 / kOne.
struct Expected {
    std::int64_t* cells;  // one for each slot of the table
    std::array<std::int64_t, kJumps + 1> forward{};
    std::array<std::int64_t, kJumps + 1> backward{};
};

// Adds the expected numbers of agreed links. Sums do not depend on the thread count. Leaves out pairs
// with an empty side, and pairs that are too long.
void expect(const Pairs& pairs, const Parameters& parameters, Step step, Expected& expected, std::size_t threads,
            const Poll& poll);

// The counts that each pair adds near the diagonal: pair i has the counts [offsets[i], offsets[i + 1]).
struct PairCounts {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> source, target;  // words
    std::vector<float> counts;                 // expected numbers of agreed links
};
PairCounts counts_by_pair(const Pairs& pairs, const Parameters& parameters, const Poll& poll);

}  // namespace nmt_prep::align
