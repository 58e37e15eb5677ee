// Packing pairs into rows of a fixed length on both sides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

// For each pair its row. Best fit, decreasing: pairs go by their longer side, longest first (then the shorter side, then
// as they came), each into the row that it leaves the fullest on its fuller side (then on the other side, then the
// earliest), or else into a new row. A pair longer than `length` has a row of its own.
std::vector<std::int32_t> pack_best_fit(std::span<const std::int32_t> source_lengths,
                                        std::span<const std::int32_t> target_lengths, std::int32_t length);

}  // namespace nmt_prep
