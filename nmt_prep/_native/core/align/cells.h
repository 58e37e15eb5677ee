// The pairs of words that occur together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "align/pairs.h"
#include "align/table.h"

namespace nmt_prep::align {

// A sample of line pairs: the pairs whose words hash to a number below `share`, a fraction of 2^64; or all pairs.
struct Sample {
    std::uint64_t share;
    bool all;

    bool has(const Pair& pair) const;
};

// Counts the known word pairs in a sample of line pairs, each weighted by its distance from the diagonal.
// Returns `rows` rows, one for each source word of the vocabulary.
CellCounts count_cells(const Pairs& pairs, Sample sample, std::size_t rows, std::size_t columns, double steepness,
                       std::size_t threads);

// Adds two cell sets of the same rows.
CellCounts add_cells(const CellRows& first, const CellRows& second, std::size_t threads = 1);

// Keeps cells whose counts reach `least`, and whose association, the product of the cell's shares in its row and
// in its column, reaches `association`. Targets are below `columns`.
CellCounts prune_cells(const CellRows& cells, std::size_t columns, std::int64_t least, double association);

}  // namespace nmt_prep::align
