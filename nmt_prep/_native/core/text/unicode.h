// Properties of code points that do not depend on a vocabulary, for one fixed version of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep {

// Version of the tables, e.g. "14.0.0".
extern const char kUnicodeVersion[];

// Two-stage table: page of each 256 code points, then four words of 64 bits per page.
extern const std::uint8_t kAlphanumericPage[0x1100];
extern const std::uint64_t kAlphanumericWords[];

// True if the general category is a letter (L*) or a number (N*). Requires point <= 0x10FFFF.
inline bool is_alphanumeric(char32_t point) {
    const std::uint64_t* page = kAlphanumericWords + 4 * std::size_t{kAlphanumericPage[point >> 8]};
    return page[(point >> 6) & 3] >> (point & 63) & 1;
}

}  // namespace nmt_prep
