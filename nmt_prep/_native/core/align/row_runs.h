// Runs of consecutive rows, as tasks for threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/parallel.h"

namespace nmt_prep::align {

// Bounds of row runs with about `size` elements per run; row i has the elements [offsets[i], offsets[i + 1]).
inline std::vector<std::size_t> row_runs(std::span<const std::int64_t> offsets, std::int64_t size) {
    constexpr std::size_t kMostRows = std::size_t{1} << 14;
    const std::size_t rows = offsets.size() - 1;
    std::vector<std::size_t> bounds{0};
    for (std::size_t row = 0; row < rows; ++row)
        if (offsets[row + 1] - offsets[bounds.back()] >= size || row + 1 - bounds.back() >= kMostRows)
            bounds.push_back(row + 1);
    if (bounds.back() != rows) bounds.push_back(rows);
    return bounds;
}

// Calls body(row, thread) for all rows; one thread takes all rows of a run.
template <class Body>
void for_each_row(std::span<const std::int64_t> offsets, std::size_t threads, Body&& body) {
    constexpr std::int64_t kRunElements = std::int64_t{1} << 15;
    const std::vector<std::size_t> bounds = row_runs(offsets, kRunElements);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        for (std::size_t row = bounds[run]; row < bounds[run + 1]; ++row) body(row, thread);
    });
}

}  // namespace nmt_prep::align
