// Splits normalised text into segments that no piece crosses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sentencepiece/vocabulary.h"
#include "text/byte_words.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

inline bool is_ascii_letter(char32_t point) { return (point | 0x20) - 'a' < 26; }

// Skips ASCII letters, eight bytes at a time. May read eight bytes from `end` on.
inline const std::uint8_t* skip_letters(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::uint64_t kHigh = eight_times(0x80);
    for (; at < end; at += 8) {
        const std::uint64_t bytes = read_word(at), lower = (bytes | eight_times(0x20)) & ~kHigh;
        // The high bit of a byte is set if it is below 'a', above 'z', or not ASCII.
        const std::uint64_t before = ~(lower + eight_times(0x80 - 'a')), behind = lower + eight_times(0x7F - 'z');
        const std::uint64_t others = (before | behind | bytes) & kHigh;
        if (others == 0) continue;
        at += std::countr_zero(others) / 8;
        break;
    }
    return at < end ? at : end;
}

// True if this byte begins a character of scripts without spaces between words: U+3000 to U+9FFF, which contain kana
// and Han characters, and everything from U+F000 on. Not Hangul, which uses spaces.
inline bool begins_run(std::uint8_t lead) { return lead >= 0xE3 && (lead <= 0xE9 || lead >= 0xEF); }

// Skips the characters that continue a run, including ASCII digits and punctuation.
inline const std::uint8_t* skip_run(const std::uint8_t* at, const std::uint8_t* end) {
    while (at != end) {
        if (*at >= 0xE3 && *at <= 0xE9)
            at += 3;
        else if (*at > ' ' && *at < 'A')
            at += 1;
        else if (*at >= 0xEF)
            at += *at < 0xF0 ? 3 : 4;
        else
            break;
    }
    return at;
}

// Visits the segments of a text: visit(begin, size, first character, whether it has a run). Words of ASCII letters stay
// whole, since almost all pairs of letters occur in some piece and the cache is fast for words. If `kKeepsRuns`, text
// without spaces between words is not split further.
template <bool kKeepsRuns, class Visit>
void for_each_stretch(const std::uint8_t* text, std::size_t size, const Joints& joints, const Visit& visit) {
    const std::uint8_t* const end = text + size;
    const std::uint8_t* at = text;
    if (at == end) return;
    const std::uint8_t* begin = text;
    char32_t first = next_utf8(at), last = first;
    bool is_run = begins_run(*begin);
    for (;;) {
        if (is_ascii_letter(last)) {
            if (const std::uint8_t* const stop = skip_letters(at, end); stop != at) {
                at = stop;
                last = at[-1];
            }
        } else if (kKeepsRuns && is_run) {
            if (const std::uint8_t* const stop = skip_run(at, end); stop != at) {
                at = stop - 1;
                while ((*at & 0xC0) == 0x80) --at;
                last = next_utf8(at);
            }
        }
        if (at == end) break;
        const std::uint8_t* const boundary = at;
        const char32_t next = next_utf8(at);
        if (!joints.joined(last, next)) {
            visit(begin, static_cast<std::size_t>(boundary - begin), first, is_run);
            begin = boundary;
            first = next;
            is_run = false;
        }
        is_run |= begins_run(*boundary);
        last = next;
    }
    visit(begin, static_cast<std::size_t>(end - begin), first, is_run);
}

// Visits the pretokens of a text in the same way: each begins at a space, if it is split at spaces.
template <class Visit>
void for_each_pretoken(const std::uint8_t* text, std::size_t size, bool at_spaces, const Visit& visit) {
    for (std::size_t begin = 0; begin < size;) {
        std::size_t end = at_spaces ? begin + 1 : size;
        while (end < size && text[end] != ' ') ++end;
        const std::uint8_t* at = text + begin;
        visit(text + begin, end - begin, next_utf8(at), false);
        begin = end;
    }
}

}  // namespace nmt_prep::sentencepiece
