// Decisions and histograms from the values of a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep::clean {

// The values that pass, as in nmt_prep.cleaning.rule.Bounds.
struct Bounds {
    double low;
    double high;
    bool above;
    bool below;
};

// Sets pass[i] to 1 if all values of pair i are within their bounds, else to 0. `columns` has the bounds of each
// column; the values of column c begin at values[c * pairs].
void judge(const double* values, std::size_t pairs, std::span<const Bounds> columns, std::uint8_t* pass);

// Adds to counts[kept[i] * bins + bin] for each value, where bin b holds edges[b] <= value < edges[b + 1]. The last bin
// includes its end, values outside count at the ends, NaN is not counted. Requires two or more ascending edges.
void histogram(const double* values, std::size_t size, std::span<const double> edges, const std::uint8_t* kept,
               std::int64_t* counts);

}  // namespace nmt_prep::clean
