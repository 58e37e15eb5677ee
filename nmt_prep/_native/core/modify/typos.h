// Typing errors, as the Python package `typo` makes them, on a US keyboard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "align/text.h"
#include "modify/draws.h"
#include "modify/labels.h"
#include "text/batch.h"

namespace nmt_prep::modify {

enum class Typo : std::uint8_t {
    kCharSwap,
    kMissingChar,
    kExtraChar,
    kNearbyChar,
    kSimilarChar,
    kSkippedSpace,
    kRandomSpace,
    kRepeatedChar,
    kUnichar,
};

// Names of the kinds, in their order.
inline constexpr std::array<std::string_view, 9> kTypos{"char_swap",    "missing_char",  "extra_char",
                                                        "nearby_char",  "similar_char",  "skipped_space",
                                                        "random_space", "repeated_char", "unichar"};

// A kind of typo and its probability.
struct TypoChance {
    Typo kind;
    double probability;
};

struct TypedLines {
    align::OwnedText text, links;
};

// Makes typos in lines of well-formed UTF-8, each kind at most once a line, in the order given. Lines with characters
// of Chinese, Japanese, Thai, Lao, Burmese or Khmer stay. `links` are the links of the lines, such as "0-0 1-2", if
// there are any; words are found by align::find_words. Throws std::invalid_argument if there are not as many keys and
// links as lines.
TypedLines type_lines(const TextView& lines, const std::optional<TextView>& links, std::span<const std::uint64_t> keys,
                      std::span<const TypoChance> chances, bool spaces);

}  // namespace nmt_prep::modify
