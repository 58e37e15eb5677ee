// Compiles a regular expression to a deterministic automaton over classes of characters.
//
// Its matches are a backtracking engine's: among all matches at a position, the one that the expression prefers.
// States are lists of positions in the expression, in order of preference; positions after a match in the list are
// dropped. A match is reported one character late, when the next character is known, so that expressions may look ahead
// by one character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pattern/syntax.h"

namespace nmt_prep::pattern {

struct Automaton {
    struct Step {
        std::uint32_t state;  // 0 if no longer match is possible
        bool matched;         // the text before this character is a match
    };

    // Classes are numbered from 0; the class after the last one stands for the end of the text.
    std::size_t classes;
    std::vector<Range> ranges;             // all code points, ascending
    std::vector<std::uint8_t> class_of;    // class of each range
    std::vector<std::vector<Step>> steps;  // by state, then class; state 1 begins a match
};

// Returns nothing if the expression can match the empty text, has too many classes or states, or takes too long.
std::optional<Automaton> compile(const Node& expression);

}  // namespace nmt_prep::pattern
