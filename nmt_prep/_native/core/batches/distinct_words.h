// Splits lines into words, each different word once, so that tables outside of the core look it up once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nmt_prep {

struct DistinctWords {
    std::string words;  // the different words in order of their first occurrence, each with a space after it
    std::vector<std::int32_t> numbers;  // for each word of the lines, its number among the different ones
    std::vector<std::int64_t> lengths;  // words of each line
};

// Splits lines at spaces (U+0020 only); runs of spaces give no empty words.
// `sizes` has the bytes of each line in `text`; of each line, at most `longest` words are taken.
// Throws std::invalid_argument if the sizes are not those of the text.
DistinctWords distinct_words(std::string_view text, std::span<const std::int32_t> sizes, std::int64_t longest);

}  // namespace nmt_prep
