// Ids as packed varints of protocol buffers: seven bits a byte, lowest first; ten bytes for a negative id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nmt_prep {

using Ids = std::span<const std::int32_t>;

// write_packed may touch this many bytes after the end of what it writes.
inline constexpr std::size_t kPackedSlack = 16;

// Returns the number of bytes that write_packed writes.
std::size_t packed_size(Ids ids);

// Writes ids to `out`, and returns the end of what is written.
std::uint8_t* write_packed(std::uint8_t* out, Ids ids);

// Returns the number of bytes of one varint.
inline std::size_t varint_size(std::uint64_t value) {
    std::size_t size = 1;
    for (; value > 0x7f; value >>= 7) ++size;
    return size;
}

// Writes one varint, and returns its end.
inline std::uint8_t* write_varint(std::uint8_t* out, std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) *out++ = static_cast<std::uint8_t>(value | 0x80);
    *out++ = static_cast<std::uint8_t>(value);
    return out;
}

// Reads one varint from `at`, which moves past it, before `end`; returns what is wrong with it, or nullptr.
inline const char* read_varint(const std::uint8_t*& at, const std::uint8_t* end, std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (at == end) return "a number is cut off";
        const std::uint8_t byte = *at++;
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return nullptr;
    }
    return "a number is longer than ten bytes";
}

}  // namespace nmt_prep
