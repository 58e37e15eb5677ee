// Parses the regular expressions of published tokenizers.
//
// Recognizes sets of characters, groups, alternatives, greedy and possessive repetition, and a look ahead of one
// character. Does not recognize anything else (lazy repetition, references, look behind, \w, …); callers then use the
// library that defines the syntax.
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
    CodeSet set = {};              // for kSet the characters that match, for kAhead the characters that may follow
    bool at_end = false;           // for kAhead: the text may also end here
    std::vector<Node> parts = {};  // for kSequence in order, for kChoice the preferred first, for kRepeat one
    unsigned least = 0, most = 0;  // bounds of kRepeat
};

// Returns nothing for an expression that is not recognized, is not UTF-8, or has more than 16,384 characters.
std::optional<Node> parse(std::string_view expression, Syntax syntax);

}  // namespace nmt_prep::pattern
