// CRC-32C (Castagnoli), the checksum of TFRecord files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace nmt_prep {

// Uses the processor's CRC32 instruction where it has one, else crc32c_portable.
std::uint32_t crc32c(const std::uint8_t* data, std::size_t size);

// Table-driven, eight bytes per step; the same result on every machine.
std::uint32_t crc32c_portable(const std::uint8_t* data, std::size_t size);

// The masked form in TFRecord files: rotated and offset, because checksums of data with embedded checksums are weak
// otherwise.
inline std::uint32_t masked_crc32c(const std::uint8_t* data, std::size_t size) {
    const std::uint32_t crc = crc32c(data, size);
    return std::rotr(crc, 15) + 0xa282ead8U;
}

}  // namespace nmt_prep
