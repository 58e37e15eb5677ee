// Boundaries of matches that three characters decide, for 64 bytes at a time with vector instructions.
//
// After any two characters, the automaton of a published pattern is usually in one of few states, which treat the next
// character alike: a match ends between a letter and a space, and goes on between two letters. A boundary is decided if
// all possible states agree, whatever follows. The automaton itself matches what has an undecided boundary, such as
// numbers, or a strange character, such as the apostrophe of contractions.
//
// Classes of characters that have the same steps are one group, so that tables of groups fit into vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pattern/automaton.h"

namespace nmt_prep::pattern {

class Boundaries {
   public:
    explicit Boundaries(const Automaton& automaton);

    // True if the processor has the instructions, the automaton is small enough, and letters begin matches.
    bool usable() const;

    // A bit for each byte at which a character begins.
    struct Marks {
        struct {
            std::uint64_t ends, open;  // a match ends before the character; this is not decided
        } usual, second;               // in general; if the previous character is known to begin a match
        std::uint64_t strange;         // no match is known to begin with the character; it is also open
        std::uint64_t leads;           // all characters
    };
    static constexpr std::size_t kBytes = 64;  // that marks are for
    static constexpr std::size_t kBlocks = 4;

    // The groups of the characters before a text, the last one in the last byte.
    struct Before {
        std::array<std::uint8_t, kBytes> groups;

        // Before the beginning of a text.
        Before() { groups.fill(kStrange); }
    };

    // Writes the marks of up to kBlocks blocks. A match with a strange character or an open boundary must be found by
    // the automaton instead, and the marks inside it do not count. Requires usable(), at < end and well-formed UTF-8.
    // Changes `before` for the text after these blocks.
    void mark(const std::uint8_t* at, const std::uint8_t* end, Before& before, Marks* marks) const;

   private:
    struct Vectors;  // functions with vector instructions

    static constexpr std::size_t kGroups = 8;
    static constexpr std::uint8_t kStrange = kGroups - 1;
    static constexpr std::uint8_t kMixed = 0x80;     // several groups
    static constexpr std::size_t kPoints = 0x10000;  // code points of up to three bytes
    static constexpr std::size_t kRow = 64;          // code points whose characters differ in the last byte only

    void place_points(const Automaton& automaton, const std::vector<std::uint8_t>& group_of);

    std::vector<std::uint8_t> groups_;                           // by code point; empty if it is not usable
    std::array<std::uint8_t, kPoints / kRow> of_row_{};          // by row
    std::array<std::uint8_t, kPoints / kRow / kRow> of_lead_{};  // by the first of three bytes
    // By the groups of two characters, a bit for each group of the next character.
    std::array<std::uint8_t, kGroups * kGroups> ends_{}, open_{};
};

}  // namespace nmt_prep::pattern
