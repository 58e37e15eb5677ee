// Chinese characters that only one of the two scripts has, Simplified or Traditional.
#pragma once

#include <cstddef>
#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

inline constexpr char32_t kHanFirst = 0x3400, kHanEnd = 0xA000;
inline constexpr std::size_t kHanWords = (kHanEnd - kHanFirst) / 64;

// A bit for each character from kHanFirst on.
extern const std::uint64_t kSimplifiedOnly[kHanWords];
extern const std::uint64_t kTraditionalOnly[kHanWords];

// Writes for each line the number of characters that only one script has.
void han_counts(const Lines& lines, double* simplified, double* traditional);

}  // namespace nmt_prep::clean
