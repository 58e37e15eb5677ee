// Keys of lines and pairs, 128 bits each: lines with the same key are duplicates.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "clean/key_text.h"
#include "text/batch.h"

namespace nmt_prep::clean {

struct Key {
    std::uint64_t high;
    std::uint64_t low;
    friend auto operator<=>(const Key&, const Key&) = default;
};

// MurmurHash3 (x64, 128 bits, seed 0). It is the same on every little-endian processor.
Key hash_key(const std::uint8_t* data, std::size_t size);

// Returns the text by which a line is compared: the normalized text, or the line itself if only digits are left.
// Requires that the line was normalized last.
std::span<const std::uint8_t> compared_text(const KeyText& normal, const TextView& text, std::size_t line);

// Returns the key of a line that was normalized last, the hash of its compared text.
Key normalized_key(const KeyText& normal, const TextView& text, std::size_t line);

// Writes the hash of each line's bytes. If `normalized`, hashes the letters, marks and numbers of the line
// instead, after compatibility decomposition and case folding, with 0 for each decimal digit; a line of which only
// digits are left gets the hash of its bytes. Throws InvalidTextError naming a line that is not UTF-8.
void line_keys(const TextView& text, bool normalized, Key* keys);

// Writes the key of each line pair with the given keys.
void pair_keys(const Key* source, const Key* target, std::size_t pairs, Key* keys);

}  // namespace nmt_prep::clean
