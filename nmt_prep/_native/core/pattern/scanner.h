// Splits text into the matches of a regular expression, with the tables of its automaton.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pattern/automaton.h"
#include "pattern/boundaries.h"
#include "pattern/syntax.h"
#include "text/utf8.h"

namespace nmt_prep::pattern {

// Treatment of text between matches: kept as a part, as by `Split` with behavior Isolated, or left out, as by tiktoken.
enum class Unmatched : std::uint8_t { kKept, kDropped };

class Scanner {
   public:
    // Returns nothing if the expression is not recognized (syntax.h), can match the empty text or is too large.
    static std::optional<Scanner> of(std::string_view expression, Syntax syntax, Unmatched unmatched);

    // Calls visit(part, size) for every part of a text, in order. Requires well-formed UTF-8.
    template <class Visit>
    void for_each_part(const std::uint8_t* at, std::size_t size, Visit&& visit) const {
        if (size >= kMinMarked && boundaries_.usable())
            for_each_marked(at, at + size, visit);
        else
            for_each_walked(at, at + size, visit);
    }

   private:
    // A step is the place of the next state's first step. The lowest bits of a place are free for facts about the
    // step.
    using Step = std::uint16_t;
    static constexpr Step kMatched = 1;     // in steps_: the text before the character is a match
    static constexpr Step kEndsPart = 1;    // in walk_: a part ends before the character, and the next part begins
    static constexpr Step kUnusual = 2;     // in walk_: a part ends earlier, or the character begins no match
    static constexpr Step kEndsSecond = 4;  // in walk_: a part ends before the second character
    static constexpr Step kFacts = 7;
    static constexpr std::size_t kMinStride = 8;
    static constexpr std::size_t kMaxSteps = std::size_t{1} << 16;
    static constexpr std::size_t kLowPoints = 0x800;  // code points of one or two bytes
    static constexpr std::size_t kBlock = 256;        // number of bytes to walk before parts are visited
    static constexpr std::size_t kMinMarked = 32;     // bytes of a text that is worth vectors
    static constexpr std::ptrdiff_t kOneOpen = 4;     // bytes for each open boundary, in text that is worth vectors

    Scanner(const Automaton& automaton, Unmatched unmatched);
    void place_classes(const Automaton& automaton);
    void place_steps(const Automaton& automaton);
    void place_walk(const Automaton& automaton);
    void add_pairs();

    // As for_each_part, by the steps of the automaton.
    template <class Visit>
    void for_each_walked(const std::uint8_t* begin, const std::uint8_t* const end, Visit& visit) const {
        const std::uint8_t* at = begin;  // `begin`: beginning of the part that contains `at`
        std::array<const std::uint8_t*, kBlock + 2> ends;
        const Step* const walk = walk_.data();
        const unsigned column_bits = column_bits_;
        const std::size_t alone = alone_, start = start_ << column_bits;
        std::size_t state = start;
        while (at != end) {
            // Ends of parts are noted without a branch, which would be mispredicted for most parts.
            const std::uint8_t* const stop = at + std::min<std::size_t>(static_cast<std::size_t>(end - at), kBlock);
            std::size_t count = 0;
            Step step = 0;
            while (at < stop) {
                // Most steps take two characters of one byte each, since each step waits for the previous one. Only a
                // sum and a read wait, because the place among the steps of a state is known before.
                if (end - at > 1 && ((at[0] | at[1]) & 0x80) == 0 && column_bits != 0) {
                    const std::size_t first = of_low_points_[at[0]], second = of_low_points_[at[1]];
                    step = walk[state + (first << column_bits | second)];
                    if (!(step & kUnusual)) {
                        ends[count] = at;
                        count += step & kEndsPart;
                        ends[count] = at + 1;
                        count += (step & kEndsSecond) != 0;
                        state = step & ~kFacts;
                        at += 2;
                        continue;
                    }
                }
                const std::uint8_t* next = at;
                step = walk[state + (next_class(next) << column_bits | alone)];
                if (step & kUnusual) break;
                ends[count] = at;
                count += step & kEndsPart;
                state = step & ~kFacts;
                at = next;
            }
            for (std::size_t i = 0; i < count; ++i) {
                visit(begin, static_cast<std::size_t>(ends[i] - begin));
                begin = ends[i];
            }
            if (step & kUnusual) {
                at = begin = visit_one(begin, end, visit);
                state = start;
            }
        }
        if (begin != end && (steps_[(state >> column_bits) + end_class_] & kMatched)) {
            visit(begin, static_cast<std::size_t>(end - begin));
            return;
        }
        while (begin != end) begin = visit_one(begin, end, visit);
    }

    // As for_each_part, with the boundaries that are decided without the automaton.
    template <class Visit>
    void for_each_marked(const std::uint8_t* begin, const std::uint8_t* end, Visit& visit) const {
        Boundaries::Before before;
        std::array<Boundaries::Marks, Boundaries::kBlocks> marks;
        const std::uint8_t* fresh = begin;
        for (const std::uint8_t* at = begin; at < end;) {
            boundaries_.mark(at, end, before, marks.data());
            if (mostly_open(marks, end - at)) return for_each_walked(begin, end, visit);
            for (std::size_t i = 0; i < Boundaries::kBlocks && at < end; ++i, at += Boundaries::kBytes)
                begin = visit_marked(begin, fresh, at, end, marks[i], visit);
        }
        if (begin != end) visit(begin, static_cast<std::size_t>(end - begin));
    }

    // True if so many boundaries are left to the automaton, as between numbers, that steps of it take less time.
    // `left`: size of the text from the marked blocks on.
    static bool mostly_open(std::span<const Boundaries::Marks> marks, std::ptrdiff_t left) {
        constexpr auto kBytes = static_cast<std::ptrdiff_t>(Boundaries::kBytes);
        std::ptrdiff_t open = 0;
        const auto blocks = std::min<std::ptrdiff_t>((left + kBytes - 1) / kBytes, std::ssize(marks));
        for (std::ptrdiff_t i = 0; i < blocks; ++i)
            open += std::popcount(marks[static_cast<std::size_t>(i)].usual.open);
        return open * kOneOpen > std::min(left, blocks * kBytes);
    }

    // Visits the parts that end in a block at `at`, and returns where the next part begins. `fresh`: where the text or
    // a part after a match of the automaton begins, until its second character is seen, else null.
    template <class Visit>
    const std::uint8_t* visit_marked(const std::uint8_t* begin, const std::uint8_t*& fresh, const std::uint8_t* at,
                                     const std::uint8_t* end, const Boundaries::Marks& marks, Visit& visit) const {
        auto [ends, open] = marks.usual;
        for (;;) {
            if (fresh != nullptr) {
                if (fresh >= at + Boundaries::kBytes) return begin;
                const std::uint64_t from = fresh < at ? ~std::uint64_t{0} : ~std::uint64_t{0} << (fresh - at);
                const std::uint64_t after = fresh < at ? from : from << 1;
                const std::uint64_t leads = marks.leads & after, second = leads & -leads;
                ends = (ends & after & ~second) | (marks.second.ends & second);
                open = (open & after & ~second) | (marks.second.open & second) | (marks.strange & from);
                if (second != 0) fresh = nullptr;
            }
            const std::uint64_t first_open = open & -open;
            for (ends &= first_open | (first_open - 1); ends != 0; ends &= ends - 1) {
                const std::uint8_t* const next = at + std::countr_zero(ends);
                visit(begin, static_cast<std::size_t>(next - begin));
                begin = next;
            }
            if (first_open == 0) return begin;
            begin = fresh = visit_one(begin, end, visit);
            ends = marks.usual.ends;
        }
    }

    template <class Visit>
    void visit_unmatched(const std::uint8_t* at, const std::uint8_t* end, Visit& visit) const {
        if (unmatched_ == Unmatched::kKept) visit(at, static_cast<std::size_t>(end - at));
    }

    // Visits the match at `at`, or without a match the text up to the next match. Returns the end of the visited text.
    template <class Visit>
    const std::uint8_t* visit_one(const std::uint8_t* at, const std::uint8_t* end, Visit& visit) const {
        const std::uint8_t* const rest = at;
        const std::uint8_t* matched = at;
        while (at != end && (matched = end_of_match(at, end)) == at) at += character_size(*at);
        if (at != rest) {
            visit_unmatched(rest, at, visit);
            return at;
        }
        visit(at, static_cast<std::size_t>(matched - at));
        return matched;
    }

    // Class of the character at `at`; advances `at`.
    std::size_t next_class(const std::uint8_t*& at) const {
        const std::size_t lead = *at;
        if (lead < 0xE0) {
            // Without a branch: one-byte and two-byte letters alternate in many languages.
            const std::size_t is_two = lead >> 7;
            const std::size_t two = (lead & 0x1F) << 6 | (at[is_two] & 0x3Fu);
            at += 1 + is_two;
            return of_low_points_[is_two != 0 ? two : lead];
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
            at = next;
        }
        return steps_[state + end_class_] & kMatched ? end : matched;
    }

    std::array<std::uint8_t, kLowPoints> of_low_points_;  // classes
    std::size_t start_ = 0, end_class_ = 0;
    std::vector<Step> steps_;  // steps within one match, by state and class; state 0 has no further matches
    // Steps through a whole text, where a match begins at the end of the previous one. By state, class, and column: the
    // class of the second character if both characters are below U+0080, else alone_. If all columns were too many,
    // alone_ is the only column.
    std::vector<Step> walk_;
    unsigned column_bits_ = 0;
    std::size_t alone_ = 0;
    // Two-stage table: page of each 256 code points, then the class of each.
    std::vector<std::uint16_t> pages_;
    std::vector<std::uint8_t> of_points_;
    Boundaries boundaries_;
    Unmatched unmatched_;
};

}  // namespace nmt_prep::pattern
