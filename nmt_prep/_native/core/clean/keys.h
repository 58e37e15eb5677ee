// Keys of lines and pairs, 128 bits each: lines with the same key are duplicates.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "text/batch.h"

namespace nmt_prep::clean {

struct Key {
    std::uint64_t high;
    std::uint64_t low;
    friend auto operator<=>(const Key&, const Key&) = default;
};

// MurmurHash3 (x64, 128 bits, seed 0) of some bytes. The same on every processor with little-endian numbers.
Key hash_key(const std::uint8_t* data, std::size_t size);

// Writes a key for each line: of its bytes, or, if `normalized`, of its letters, marks and numbers after compatibility
// decomposition and case folding, with 0 for each decimal digit. A line that has none of these gets the key of its
// bytes. Throws InvalidTextError naming a line that is not UTF-8.
void line_keys(const TextView& text, bool normalized, Key* keys);

// Writes the key of each pair of lines with the given keys.
void pair_keys(const Key* source, const Key* target, std::size_t pairs, Key* keys);

}  // namespace nmt_prep::clean
