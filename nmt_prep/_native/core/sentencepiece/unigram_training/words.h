// The words that unigram training reads, as numbers of characters ("symbols"). Numbers ascend with code points, from 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/count_table.h"

namespace nmt_prep::sentencepiece {

// Distinct words in the library's order: by descending count, then by their UTF-8. All sentences begin with a space.
struct TrainingWords {
    std::vector<char32_t> alphabet;         // by symbol - 1
    std::vector<std::int64_t> occurrences;  // by symbol - 1
    std::vector<std::uint32_t> symbols;     // of all words
    std::vector<std::uint32_t> starts;      // of each word in `symbols`, and the end of the last one
    std::vector<std::int64_t> counts;       // how often each word occurs
    std::vector<std::int64_t> finals;       // how often each is the last word of a sentence
    std::size_t last;                       // the last word of the last sentence

    std::size_t size() const { return counts.size(); }
};

// Reads words in the core's spelling; kFinalMark follows those that end a sentence. Characters that are not `covered`
// become kUncoveredPoint. `last`: the last word of the last sentence, without the mark. Throws TrainingError if the
// words have 2^32 - 1 characters or more.
TrainingWords read_words(const CountTable& words, const std::vector<char32_t>& covered, std::string_view last);

}  // namespace nmt_prep::sentencepiece
