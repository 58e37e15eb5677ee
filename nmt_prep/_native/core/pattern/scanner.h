// Splits text into the matches of a regular expression, with the tables of its automaton.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pattern/automaton.h"
#include "pattern/syntax.h"
#include "text/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nmt_prep::pattern {

// Text between matches: a part of its own, as `Split` with behavior Isolated makes it, or left out, as tiktoken does.
enum class Unmatched : std::uint8_t { kKept, kDropped };

class Scanner {
   public:
    // Returns nothing if the expression is not recognised (syntax.h), can match the empty text or is too large.
    static std::optional<Scanner> of(std::string_view expression, Syntax syntax, Unmatched unmatched);

    // Calls visit(part, size) for every part of a text, in order. Requires well-formed UTF-8.
    template <class Visit>
    void for_each_part(const std::uint8_t* at, std::size_t size, Visit&& visit) const {
        const std::uint8_t* const end = at + size;
        const std::uint8_t* rest = at;  // the beginning of what no match covers
        while (at != end) {
            const std::uint8_t* const matched = end_of_match(at, end);
            if (matched == at) {
                at += character_size(*at);
                continue;
            }
            if (rest != at) visit_unmatched(rest, at, visit);
            visit(at, static_cast<std::size_t>(matched - at));
            rest = at = matched;
        }
        if (rest != end) visit_unmatched(rest, end, visit);
    }

   private:
    // A step is the number of the next state's first step, whose lowest bits are free for facts about the step.
    using Step = std::uint16_t;
    static constexpr Step kMatched = 1;  // what comes before the character is a match
    static constexpr Step kLetters = 2;  // the next state stays the same for all ASCII letters
    static constexpr Step kLower = 4;    // the next state stays the same for all ASCII letters of lower case
    static constexpr Step kFacts = 7;
    static constexpr std::size_t kMinStride = 8;
    static constexpr std::size_t kLowPoints = 0x800;  // of one or two bytes

    Scanner(const Automaton& automaton, Unmatched unmatched);
    void place_classes(const Automaton& automaton);
    void place_steps(const Automaton& automaton);
    Step facts_of(const Automaton& automaton, std::size_t state) const;

    template <class Visit>
    void visit_unmatched(const std::uint8_t* at, const std::uint8_t* end, Visit& visit) const {
        if (unmatched_ == Unmatched::kKept) visit(at, static_cast<std::size_t>(end - at));
    }

    // Class of the character at `at`; advances `at`.
    std::size_t next_class(const std::uint8_t*& at) const {
        const std::size_t lead = *at;
        if (lead < 0x80) {
            at += 1;
            return of_low_points_[lead];
        }
        if (lead < 0xE0) {
            const std::size_t point = (lead & 0x1F) << 6 | (at[1] & 0x3Fu);
            at += 2;
            return of_low_points_[point];
        }
        const char32_t point = next_utf8(at);
        return of_points_[std::size_t{pages_[point >> 8]} << 8 | (point & 0xFF)];
    }

    // Returns the end of the match that begins at `at`, or `at` if there is none. Requires at != end.
    const std::uint8_t* end_of_match(const std::uint8_t* at, const std::uint8_t* end) const {
        const std::uint8_t* matched = at;
        std::size_t state = start_;
        while (at != end) {
            const std::uint8_t* next = at;
            const Step step = steps_[state + next_class(next)];
            if (step & kMatched) matched = at;
            state = step & ~kFacts;
            if (state == 0) return matched;
            at = step & (kLetters | kLower) ? end_of_letters(next, end, (step & kLetters) != 0) : next;
        }
        return steps_[state + end_class_] & kMatched ? end : matched;
    }

    // Skips ASCII letters, of both cases or only of lower case; may stop at any of them.
    static const std::uint8_t* end_of_letters(const std::uint8_t* at, const std::uint8_t* end, bool both_cases) {
#if defined(__SSE2__)
        const __m128i fold = _mm_set1_epi8(both_cases ? 0x20 : 0);
        while (end - at >= 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            // Shifts lower-case letters to the 26 lowest signed values.
            const __m128i moved = _mm_add_epi8(_mm_or_si128(bytes, fold), _mm_set1_epi8(static_cast<char>(0x80 - 'a')));
            const __m128i letters = _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(0x80 + 26)));
            const auto mask = static_cast<unsigned>(_mm_movemask_epi8(letters));
            if (mask != 0xFFFF) return at + std::countr_one(mask);
            at += 16;
        }
#else
        (void)end, (void)both_cases;
#endif
        return at;
    }

    std::array<std::uint8_t, kLowPoints> of_low_points_;  // classes
    std::size_t start_ = 0, end_class_ = 0;
    std::vector<Step> steps_;  // state 0 is the one without further matches
    // Two-stage table: page of each 256 code points, then the class of each.
    std::vector<std::uint16_t> pages_;
    std::vector<std::uint8_t> of_points_;
    Unmatched unmatched_;
};

}  // namespace nmt_prep::pattern
