// Splits lines into words, and numbers distinct words, so that tables outside of the core look up each word once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nmt_prep {

struct DistinctWords {
    std::string words;                  // the distinct words by first occurrence, a space after each
    std::vector<std::int32_t> numbers;  // the number of each word of the lines
    std::vector<std::int64_t> lengths;  // words of each line
};

// Splits lines at spaces (U+0020 only); runs of spaces give no empty words. `sizes` has the bytes of each line in
// `text`; takes at most `longest` words of a line. Throws std::invalid_argument if the sizes do not match the text.
DistinctWords distinct_words(std::string_view text, std::span<const std::int32_t> sizes, std::int64_t longest);

}  // namespace nmt_prep
