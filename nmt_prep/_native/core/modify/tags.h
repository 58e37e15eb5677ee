// Tags: translations of single words in the source, and random words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "align/text.h"
#include "text/batch.h"

namespace nmt_prep::modify {

struct TagOptions {
    // Probability of changing a word whose only link leads to a different word without other links.
    double probability;
    std::array<double, 3> shares;  // shares of the modes augment, replace and tag; modes with 0 are left out
    // Replaces the source word: texts before, between and after that word and the hint.
    std::array<std::string, 3> form;
    bool source_first;           // true if the source word is before the hint
    std::array<bool, 2> is_icu;  // true for a side of ICU tokens, with "▁" for a space
    // Character ranges for random words, the last one exclusive; without surrogates.
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool spaces;  // as in align::find_words
};

// Pairs with their links, such as "0-0 1-2".
struct LinkedLines {
    TextView source, target, links;
};

struct TaggedLines {
    align::OwnedText source, target, links;
};

// Changes words of pairs; a pair with a wrong link stays. Throws std::invalid_argument if there are not as many keys as
// pairs, or no ranges.
TaggedLines tag_lines(const LinkedLines& lines, std::span<const std::uint64_t> keys, const TagOptions& options);

}  // namespace nmt_prep::modify
