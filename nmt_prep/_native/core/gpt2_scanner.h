// GPT-2's pre-tokenisation by hand: the matches of
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// one after another; together they are the whole line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpt2_classes.h"

namespace nmt_prep::gpt2 {

// Length of the contraction that begins with the apostrophe at `at`, 0 if none does.
inline std::size_t contraction(const std::uint8_t* at, const std::uint8_t* end) {
    if (end - at < 2) return 0;
    const std::uint8_t first = at[1];
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (end - at < 3) return 0;
    const std::uint8_t second = at[2];
    return (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l') ? 3 : 0;
}

// End of the run of characters of one class that `at` is in the middle or at the end of.
inline const std::uint8_t* end_of_run(const std::uint8_t* at, const std::uint8_t* end, Class inside) {
    while (at != end) {
        const std::uint8_t* next = at;
        if (next_class(next) != inside) break;
        at = next;
    }
    return at;
}

// Calls visit(pretoken, size) for every pretoken of a line, in order. Requires well-formed UTF-8.
template <class Visit>
void for_each_pretoken(const std::uint8_t* at, std::size_t size, Visit&& visit) {
    const std::uint8_t* const end = at + size;
    while (at != end) {
        const std::uint8_t* const start = at;
        if (*at == '\'') {
            if (const std::size_t length = contraction(at, end)) {
                visit(start, length);
                at += length;
                continue;
            }
        }
        Class inside = next_class(at);
        if (*start == ' ' && at != end) {
            const std::uint8_t* next = at;
            const Class second = next_class(next);
            if (second != kSpace) {
                inside = second;
                at = next;
            }
        }
        if (inside != kSpace) {
            at = end_of_run(at, end, inside);
        } else {
            // White space before something else leaves its last character to what follows.
            const std::uint8_t* last = start;
            while (at != end) {
                const std::uint8_t* next = at;
                if (next_class(next) != kSpace) break;
                last = at;
                at = next;
            }
            if (at != end && last != start) at = last;
        }
        visit(start, static_cast<std::size_t>(at - start));
    }
}

}  // namespace nmt_prep::gpt2
