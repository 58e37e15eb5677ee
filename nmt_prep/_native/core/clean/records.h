// Records of unsigned numbers, all with the same width: sorting, and division by the leading bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::clean {

inline constexpr std::size_t kSmallestWidth = 2;
inline constexpr std::size_t kLargestWidth = 8;

// Sorts records in place, by their first numbers, then their second ones, and so on.
void sort_records(std::uint64_t* records, std::size_t rows, std::size_t width);

// Sorts records by the leading `bits` of their first numbers, and otherwise leaves them in order. Writes them to
// `sorted`, and the start of the records with each value to `starts`, with one more entry for the end of the last.
// Requires bits < 32.
void partition_records(const std::uint64_t* records, std::size_t rows, std::size_t width, unsigned bits,
                       std::uint64_t* sorted, std::uint64_t* starts);

}  // namespace nmt_prep::clean
