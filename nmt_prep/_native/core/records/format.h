// Unaligned little-endian integers, and the frame that TFRecord puts around a record:
// length (8 bytes), masked CRC-32C of the length (4), data, masked CRC-32C of the data (4).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nmt_prep {

static_assert(std::endian::native == std::endian::little, "record files are written by little-endian machines only");

template <typename T>
T load(const std::uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
void store(std::uint8_t* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

inline constexpr std::size_t kFrameHeader = 12;
inline constexpr std::size_t kFrameFooter = 4;
inline constexpr std::size_t kFrameBytes = kFrameHeader + kFrameFooter;

// No protocol buffer may be larger, so neither may a record.
inline constexpr std::size_t kMaxRecordBytes = 0x7fffffff;

}  // namespace nmt_prep
