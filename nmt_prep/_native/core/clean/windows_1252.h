// The encoding Windows-1252, which gives characters to most of the bytes that are control characters in Latin-1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace nmt_prep::clean {

// Characters of the bytes 80 to 9F; 0 for bytes without a character.
inline constexpr char16_t kWindows1252[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                              0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                              0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                              0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// Returns the character of a byte from 80 to FF, 0 if there is none.
constexpr char32_t from_windows_1252(std::uint8_t byte) { return byte >= 0xA0 ? byte : kWindows1252[byte - 0x80]; }

// Returns the byte of a character outside ASCII in Windows-1252 or Latin-1, 0 if it has none.
constexpr std::uint8_t windows_1252_byte(char32_t point) {
    if (point >= 0x80 && point <= 0xFF) return static_cast<std::uint8_t>(point);
    if (point < 0x152 || point > 0x2122) return 0;
    const auto* const found = std::ranges::find(kWindows1252, point);
    return found == std::end(kWindows1252) ? 0 : static_cast<std::uint8_t>(0x80 + (found - kWindows1252));
}

}  // namespace nmt_prep::clean
