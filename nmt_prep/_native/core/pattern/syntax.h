// Parses the regular expressions of published tokenizers.
//
// Only what means the same in every text is recognised: sets of characters, groups, alternatives, greedy and possessive
// repetition, and a look ahead of one character. Everything else (lazy repetition, references, look behind, \w, …) is
// not, so that the library that defines the syntax is used instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pattern/code_set.h"

namespace nmt_prep::pattern {

// Libraries whose syntax differs: tiktoken uses Rust's fancy-regex, tokenizers uses Oniguruma with Ruby's syntax.
enum class Syntax : std::uint8_t { kTiktoken, kTokenizers };

struct Node {
    enum Kind : std::uint8_t { kSet, kAhead, kSequence, kChoice, kRepeat };
    static constexpr unsigned kMany = 0xFFFFFFFF;

    Kind kind;
    CodeSet set = {};              // of kSet: the characters that match; of kAhead: those that may follow
    bool at_end = false;           // of kAhead: the text may also end here
    std::vector<Node> parts = {};  // of kSequence in order, of kChoice the preferred first, of kRepeat one
    unsigned least = 0, most = 0;  // of kRepeat
};

// Returns nothing for an expression that is not recognised, is not UTF-8, or has more than 16,384 characters.
std::optional<Node> parse(std::string_view expression, Syntax syntax);

}  // namespace nmt_prep::pattern
