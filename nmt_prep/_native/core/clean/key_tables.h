// Replacements of characters for the normalized keys of lines, for one fixed version of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::clean {

// Version of the tables, e.g. "14.0.0".
extern const char kKeysVersion[];

// Codes of characters: dropped, kept, or the number of a replacement plus 2.
inline constexpr std::uint16_t kDropped = 0;
inline constexpr std::uint16_t kKept = 1;

// Two-stage table: a page per 256 code points, then a code per character of the page.
extern const std::uint8_t kKeyPage[0x1100];
extern const std::uint16_t kKeyCode[];

// Replacement i consists of the points from kReplacementStart[i] to kReplacementStart[i + 1].
extern const std::uint16_t kReplacementStart[];
extern const char32_t kReplacementPoints[];

// Requires point <= 0x10FFFF. Hangul syllables have the code kKept, but the caller must decompose them.
inline std::uint16_t key_code(char32_t point) {
    const std::size_t page = kKeyPage[point >> 8];
    return kKeyCode[page << 8 | (point & 0xFF)];
}

}  // namespace nmt_prep::clean
