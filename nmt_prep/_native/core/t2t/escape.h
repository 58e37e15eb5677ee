// Tensor2Tensor's escapes, which make an underscore mark the end of a token unambiguously.
#pragma once

#include <cstdint>

namespace nmt_prep::t2t {

inline constexpr char32_t kEscapeCharacters[] = {'\\', '_', 'u', ';', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'};

// Calls put(character) for each character in `point`'s escaped form, which must need an escape:
// `\u` for an underscore, `\\` for a backslash, else the code point in decimal digits between `\` and `;`.
template <class Put>
void escape(char32_t point, Put&& put) {
    put(U'\\');
    if (point == U'_') {
        put(U'u');
    } else if (point == U'\\') {
        put(U'\\');
    } else {
        char32_t digits[7];
        int count = 0;
        do {
            digits[count++] = U'0' + point % 10;
            point /= 10;
        } while (point != 0);
        while (count > 0) put(digits[--count]);
        put(U';');
    }
}

// True if a character is escaped regardless of the alphabet.
inline bool always_escaped(char32_t point) { return point == U'_' || point == U'\\' || point == U'\n'; }

}  // namespace nmt_prep::t2t
