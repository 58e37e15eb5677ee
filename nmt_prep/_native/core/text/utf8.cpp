#include "text/utf8.h"

#include <cstring>

namespace nmt_prep {
namespace {

constexpr std::size_t kShort = 32;

}  // namespace

std::size_t find_invalid_utf8(const std::uint8_t* data, std::size_t size) {
    // For a short text, padding a block takes longer than reading the characters.
    if (size >= kShort && is_utf8_by_blocks(data, size)) return size;
    constexpr std::uint64_t kHighBits = 0x8080808080808080u;
    std::size_t at = 0;
    while (at < size) {
        if (data[at] < 0x80) {
            ++at;
            std::uint64_t word;
            while (size - at >= sizeof word) {
                std::memcpy(&word, data + at, sizeof word);
                if (word & kHighBits) break;
                at += sizeof word;
            }
            continue;
        }
        const std::uint32_t lead = data[at];
        const std::size_t left = size - at;
        if (lead < 0xE0) {
            if (lead < 0xC2 || left < 2 || (data[at + 1] & 0xC0) != 0x80) return at;
            at += 2;
        } else if (lead < 0xF0) {
            if (left < 3 || (data[at + 1] & 0xC0) != 0x80 || (data[at + 2] & 0xC0) != 0x80) return at;
            const std::uint32_t point = (lead & 0x0F) << 12 | (data[at + 1] & 0x3Fu) << 6 | (data[at + 2] & 0x3Fu);
            if (point < 0x800 || (point >= 0xD800 && point < 0xE000)) return at;
            at += 3;
        } else {
            if (lead > 0xF4 || left < 4 || (data[at + 1] & 0xC0) != 0x80 || (data[at + 2] & 0xC0) != 0x80 ||
                (data[at + 3] & 0xC0) != 0x80)
                return at;
            const std::uint32_t high = (lead & 0x07) << 6 | (data[at + 1] & 0x3Fu);
            if (high < 0x10 || high > 0x10F) return at;
            at += 4;
        }
    }
    return size;
}

}  // namespace nmt_prep
