// Posteriors of links near the diagonal, independent of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/pairs.h"
#include "align/parameters.h"
#include "align/slopes.h"

namespace nmt_prep::align {

// Words of a pair that have a cell, and the probability that both directions link them.
struct AgreedCell {
    std::uint32_t source;
    std::uint32_t target;
    std::int64_t slot;
    float agreed;
};

// Computes posteriors; reuses its memory from pair to pair.
class DiagonalLinks {
   public:
    explicit DiagonalLinks(const Parameters& parameters) : parameters_(parameters), diagonal_(parameters.steepness) {}

    // The cells of a pair, which must not be empty or too long, by ascending source and target; valid until the next
    // call.
    const std::vector<AgreedCell>& of(const Pair& pair);

   private:
    const Parameters& parameters_;
    CellFinder finder_;
    Diagonal diagonal_;
    std::vector<AgreedCell> cells_;
    std::vector<float> source_shares_, target_shares_;
    std::vector<Weighted> source_weights_, target_weights_;
    // For each word: the sum of weights times probabilities of cells, then the factor from weights times probabilities
    // to posteriors.
    std::vector<float> source_factor_, target_factor_;
};

}  // namespace nmt_prep::align
