// Packing pairs into rows of a fixed length on both sides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

// For each pair its row. Best fit, decreasing: pairs go by their longer side, longest first (then the shorter side,
// then as they came), each into the row that it leaves the fullest on its fuller side (then on the other side, then the
// earliest), or else into a new row. A pair longer than `length` has a row of its own.
std::vector<std::int32_t> pack_best_fit(std::span<const std::int32_t> source_lengths,
                                        std::span<const std::int32_t> target_lengths, std::int32_t length);

// For each pair its row; a few rows may have no pair. In rounds, as the input function packs in a TensorFlow graph:
// pairs go by their longer side, longest first; in each round every row gets one of the longest pairs left, the
// emptiest row the longest. A pair that does not fit is tried again in the next round, but those before the first one
// that fits are put off until all others are in rows; then new rows are opened, as many as the larger side of those put
// off fills, and three in a thousand more. No length is above `length`.
std::vector<std::int32_t> pack_rounds(std::span<const std::int32_t> source_lengths,
                                      std::span<const std::int32_t> target_lengths, std::int32_t length);

}  // namespace nmt_prep
