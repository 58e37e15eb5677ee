// Eight bytes of text as one number, the first byte lowest.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace nmt_prep {

// The same byte eight times.
constexpr std::uint64_t eight_times(std::uint8_t byte) { return byte * 0x0101010101010101u; }

inline std::uint64_t read_word(const std::uint8_t* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

}  // namespace nmt_prep
