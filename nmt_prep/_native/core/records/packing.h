// Packing pairs into rows of a fixed length on both sides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

// Returns the row of each pair, by best fit decreasing: pairs are sorted by their longer side, longest first (then by
// the shorter side, then by input order). Each pair goes into the row that becomes fullest on its fuller side (then on
// its other side, then the earliest row), or into a new row if it fits nowhere. A pair longer than `length` has its own
// row.
std::vector<std::int32_t> pack_best_fit(std::span<const std::int32_t> source_lengths,
                                        std::span<const std::int32_t> target_lengths, std::int32_t length);

// Returns the row of each pair; a few rows may have no pair. Packs in rounds, like the input function in a TensorFlow
// graph: pairs are sorted by their longer side, longest first; in each round every row gets one of the longest
// remaining pairs, and the emptiest row gets the longest. A pair that does not fit is tried again in the next round;
// pairs before the first pair that fits are postponed until all other pairs are in rows. Then new rows are opened: the
// number that the larger side of the postponed pairs fills, and three per thousand more. No length may exceed `length`.
std::vector<std::int32_t> pack_rounds(std::span<const std::int32_t> source_lengths,
                                      std::span<const std::int32_t> target_lengths, std::int32_t length);

}  // namespace nmt_prep
