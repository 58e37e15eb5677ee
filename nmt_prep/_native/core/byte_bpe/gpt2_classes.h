// The three classes of characters that GPT-2's pattern tells apart, and the rest, at one fixed version of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/utf8.h"

namespace nmt_prep::gpt2 {

enum Class : std::uint8_t { kLetter = 0, kNumber = 1, kSpace = 2, kOther = 3 };

// Version of the tables, that of the regex package they were made with.
extern const char kUnicodeVersion[];

// Two stages: page of each 256 code points, then eight words of 32 two-bit classes a page.
extern const std::uint8_t kClassPage[0x1100];
extern const std::uint64_t kClassWords[];

// \p{L}, \p{N}, \s or none of them. Requires point <= 0x10FFFF.
inline Class class_of(char32_t point) {
    const std::uint64_t* page = kClassWords + 8 * std::size_t{kClassPage[point >> 8]};
    return static_cast<Class>(page[(point >> 5) & 7] >> (2 * (point & 31)) & 3);
}

// The same for the character at `at`, of two bytes or more, which it moves past. Requires well-formed UTF-8.
inline Class next_class(const std::uint8_t*& at) {
    // U+4E00 to U+9FFF, most of written Chinese, are letters all.
    const unsigned two = static_cast<unsigned>(at[0]) << 8 | at[1];
    if (two - 0xE4B8u <= 0xE9BFu - 0xE4B8u) {
        at += 3;
        return kLetter;
    }
    return class_of(next_utf8(at));
}

}  // namespace nmt_prep::gpt2
