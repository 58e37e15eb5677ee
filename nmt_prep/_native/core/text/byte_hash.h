// Hash of short byte strings, for tables. It is the same on every little-endian processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nmt_prep {

// Folds a 128-bit product, so that every bit of both factors changes the low bits of the result.
inline std::uint64_t mix_bits(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The last `size` of a string's `whole` bytes as a number, the first byte lowest; with one read if the bytes
// before them can be read too. Requires size < 8 and data at the first of them.
inline std::uint64_t last_bytes(const std::uint8_t* data, std::size_t size, std::size_t whole) {
    std::uint64_t word = 0;
    if (whole >= 8 && size > 0) {
        std::memcpy(&word, data + size - 8, 8);
        word >>= 8 * (8 - size);
    } else if (size >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, data, 4);
        std::memcpy(&last, data + size - 4, 4);
        word = first | std::uint64_t{last} << (8 * (size - 4));
    } else {
        for (std::size_t i = 0; i < size; ++i) word |= std::uint64_t{data[i]} << (8 * i);
    }
    return word;
}

inline std::uint64_t hash_bytes(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t kOdd[2] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u};
    std::uint64_t hash = size * kOdd[0];
    const std::size_t whole = size;
    for (; size >= 8; data += 8, size -= 8) {
        std::uint64_t word;
        std::memcpy(&word, data, 8);
        hash = mix_bits(hash ^ word, kOdd[1]);
    }
    return mix_bits(hash ^ last_bytes(data, size, whole) ^ kOdd[0], kOdd[1]);
}

}  // namespace nmt_prep
