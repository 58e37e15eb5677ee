// Hand-written scanner for GPT-2's pre-tokenisation: the successive matches of
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// which together cover the whole line.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "byte_bpe/gpt2_classes.h"

namespace nmt_prep::gpt2 {

// Classes of ASCII characters by byte; kBeyond for other bytes, whose characters must be decoded.
inline constexpr std::uint8_t kBeyond = 4;
struct ByteClasses {
    std::uint8_t of[256] = {};
    constexpr ByteClasses() {
        for (int byte = 0; byte < 256; ++byte) of[byte] = class_of(byte);
    }
    static constexpr std::uint8_t class_of(int byte) {
        if (byte >= 0x80) return kBeyond;
        if ((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) return kLetter;
        if (byte >= '0' && byte <= '9') return kNumber;
        return byte == ' ' || (byte >= '\t' && byte <= '\r') ? kSpace : kOther;
    }
};
inline constexpr ByteClasses kByteClasses;

// Class of the character at `at`; advances `at`.
inline Class scan_class(const std::uint8_t*& at) {
    const std::uint8_t known = kByteClasses.of[*at];
    if (known == kBeyond) return next_class(at);
    ++at;
    return static_cast<Class>(known);
}

// Length of the contraction that begins with the apostrophe at `at`, 0 if none does.
inline std::size_t contraction(const std::uint8_t* at, const std::uint8_t* end) {
    if (end - at < 2) return 0;
    const std::uint8_t first = at[1];
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (end - at < 3) return 0;
    const std::uint8_t second = at[2];
    return (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l') ? 3
                                                                                                                 : 0;
}

// Number of ASCII letters from `at` on; may stop after 16 bytes.
inline std::size_t ascii_letters(const std::uint8_t* at, const std::uint8_t* end) {
    const std::uint8_t* const start = at;
#if defined(__SSE2__)
    while (end - at >= 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        // Converts to lower case, then shifts letters to the 26 lowest signed values.
        const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        const __m128i moved = _mm_add_epi8(lower, _mm_set1_epi8(static_cast<char>(0x80 - 'a')));
        const __m128i letters = _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(0x80 + 26)));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(letters));
        if (mask != 0xFFFF)
            return static_cast<std::size_t>(at - start) + static_cast<std::size_t>(std::countr_one(mask));
        at += 16;
    }
#endif
    while (at != end && kByteClasses.of[*at] == kLetter) ++at;
    return static_cast<std::size_t>(at - start);
}

// Extends a run of characters of one class, which has begun before `at`, and returns its end.
inline const std::uint8_t* end_of_run(const std::uint8_t* at, const std::uint8_t* end, Class inside) {
    if (inside == kLetter) at += ascii_letters(at, end);
    while (at != end) {
        const std::uint8_t* next = at;
        if (scan_class(next) != inside) break;
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
        Class inside = scan_class(at);
        if (*start == ' ' && at != end) {
            const std::uint8_t* next = at;
            const Class second = scan_class(next);
            if (second != kSpace) {
                inside = second;
                at = next;
            }
        }
        if (inside != kSpace) {
            at = end_of_run(at, end, inside);
        } else {
            // White space before other text leaves its last character to the next pretoken.
            const std::uint8_t* last = start;
            while (at != end) {
                const std::uint8_t* next = at;
                if (scan_class(next) != kSpace) break;
                last = at;
                at = next;
            }
            if (at != end && last != start) at = last;
        }
        visit(start, static_cast<std::size_t>(at - start));
    }
}

}  // namespace nmt_prep::gpt2
