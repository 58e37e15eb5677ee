// The three character classes of GPT-2's pattern, and the rest, for one fixed version of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/utf8.h"

namespace nmt_prep::gpt2 {

enum Class : std::uint8_t { kLetter = 0, kNumber = 1, kSpace = 2, kOther = 3 };

// Unicode version of the tables, which is that of the regex package used to generate them.
extern const char kUnicodeVersion[];

// Two-stage table: page of each 256 code points, then eight words of 32 two-bit classes per page.
extern const std::uint8_t kClassPage[0x1100];
extern const std::uint64_t kClassWords[];

// \p{L}, \p{N}, \s or none of them. Requires point <= 0x10FFFF.
inline Class class_of(char32_t point) {
    const std::uint64_t* page = kClassWords + 8 * std::size_t{kClassPage[point >> 8]};
    return static_cast<Class>(page[(point >> 5) & 7] >> (2 * (point & 31)) & 3);
}

// The same for the character of two or more bytes at `at`; advances `at`. Requires well-formed UTF-8.
inline Class next_class(const std::uint8_t*& at) {
    // U+4E00 to U+9FFF, most of written Chinese, are all letters.
    const unsigned two = static_cast<unsigned>(at[0]) << 8 | at[1];
    if (two - 0xE4B8u <= 0xE9BFu - 0xE4B8u) {
        at += 3;
        return kLetter;
    }
    return class_of(next_utf8(at));
}

}  // namespace nmt_prep::gpt2
