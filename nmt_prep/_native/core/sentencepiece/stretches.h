// Splits normalized text into segments that no piece crosses.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sentencepiece/vocabulary.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

// Properties of a block's bytes, with one bit for each byte; the lowest bit is for the first byte.
struct ByteClasses {
    static constexpr std::size_t kBytes = 64;  // of a block

    std::uint64_t lower = 0, upper = 0;  // ASCII letters
    std::uint64_t spaces = 0;
    std::uint64_t continuations = 0;  // bytes that continue a character
    std::uint64_t runs = 0;           // begins_run

    std::uint64_t letters() const { return lower | upper; }
};

// Returns true if this byte begins a character of scripts without spaces between words: U+3000 to U+9FFF, which contain
// kana and Han characters, and everything from U+F000 on. Not Hangul, which uses spaces.
inline bool begins_run(std::uint8_t lead) { return lead >= 0xE3 && (lead <= 0xE9 || lead >= 0xEF); }

// Reads the properties of a whole block.
ByteClasses classify_bytes(const std::uint8_t* block);

// Returns true if a text that is not empty begins with many characters of scripts without spaces between words, or
// mostly with characters of several bytes, and has at most so many spaces there. Reads a whole block.
bool is_run_of_text(const std::uint8_t* text, std::size_t size, int spaces);

// Visits the segments of a text that is not empty: visit(begin, size, whether the segment has a character of a run).
// Words of ASCII letters stay whole, since almost all pairs of letters occur in some piece and the cache is fast for
// words. Reads whole blocks, up to one behind the end.
template <class Visit>
void for_each_stretch(const std::uint8_t* text, std::size_t size, const Joints& joints, const Visit& visit) {
    const Joints::Letters& known = joints.letters();
    const std::uint8_t* begin = text;
    const std::uint8_t* at = text;
    char32_t last = next_utf8(at);            // character before a candidate, if it is not ASCII
    std::uint64_t letter = 0, space = 0;      // the byte before the block, as the lowest bit
    std::uint64_t first = ~std::uint64_t{1};  // there is no boundary before the first character
    bool has_run = false;
    for (at = text; size > 0; at += ByteClasses::kBytes) {
        const ByteClasses bytes = classify_bytes(at);
        const std::uint64_t all = size < ByteClasses::kBytes ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
        const std::uint64_t letters = bytes.letters();
        const std::uint64_t after_letter = letters << 1 | letter, after_space = bytes.spaces << 1 | space;
        std::uint64_t boundaries = bytes.spaces & after_letter & known.cut_before_space & all & first;
        const std::uint64_t joined =
            after_space & ((bytes.lower & known.lower_after_space) | (bytes.upper & known.upper_after_space));
        std::uint64_t candidates =
            ~(bytes.continuations | (letters & after_letter) | boundaries | joined) & all & first;
        for (; candidates != 0; candidates &= candidates - 1) {
            const std::uint8_t* const place = at + std::countr_zero(candidates);
            const std::uint8_t* next = place;
            const char32_t left = place[-1] < 0x80 ? place[-1] : last, right = next_utf8(next);
            last = right;
            const std::uint64_t bit = candidates & -candidates;
            boundaries |= joints.joined(left, right) ? 0 : bit;
        }
        std::uint64_t runs = bytes.runs & all;
        for (; boundaries != 0; boundaries &= boundaries - 1) {
            const std::uint8_t* const end = at + std::countr_zero(boundaries);
            const std::uint64_t before = (boundaries & -boundaries) - 1;
            visit(begin, static_cast<std::size_t>(end - begin), has_run || (runs & before) != 0);
            begin = end;
            runs &= ~before;
            has_run = false;
        }
        has_run |= runs != 0;
        letter = letters >> (ByteClasses::kBytes - 1);
        space = bytes.spaces >> (ByteClasses::kBytes - 1);
        first = ~std::uint64_t{0};
        if (size <= ByteClasses::kBytes) {
            visit(begin, static_cast<std::size_t>(at + size - begin), has_run);
            return;
        }
        size -= ByteClasses::kBytes;
    }
}

// Visits the pretokens of a text like segments. If the text is split at spaces, every pretoken begins at a space.
template <class Visit>
void for_each_pretoken(const std::uint8_t* text, std::size_t size, bool at_spaces, const Visit& visit) {
    for (std::size_t begin = 0; begin < size;) {
        std::size_t end = at_spaces ? begin + 1 : size;
        while (end < size && text[end] != ' ') ++end;
        visit(text + begin, end - begin, false);
        begin = end;
    }
}

}  // namespace nmt_prep::sentencepiece
