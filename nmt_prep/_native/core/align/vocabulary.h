// Word counts, and the numbers of the words that a model knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/words.h"
#include "text/batch.h"
#include "text/hash_table.h"

namespace nmt_prep::align {

// A distinct word of a text.
struct WordCount {
    std::uint64_t whole;
    std::uint64_t stem;
    std::int64_t count;
};

// The distinct words of lines, by ascending hash. Throws InvalidTextError naming a line that is not UTF-8.
// Writes the word count of each line to sizes.
std::vector<WordCount> count_words(const TextView& text, WordRule rule, std::int64_t* sizes, std::size_t threads);

// Number of a word that the vocabulary lacks.
inline constexpr std::int32_t kUnknown = 0;

// The words that a model knows: frequent words by the hashes of whole words, other words by the hashes of their stems.
class Vocabulary {
   public:
    // Word i of the hashes has number i + 1.
    Vocabulary(const std::uint64_t* hashes, std::size_t size);

    std::int32_t number(const Word& word) const {
        const std::int32_t number = numbers_.value(word.whole);
        return number != kUnknown ? number : numbers_.value(word.stem);
    }

   private:
    HashTable<std::int32_t> numbers_;
};

// Words of lines: line i has the words [offsets[i], offsets[i + 1]).
struct EncodedLines {
    std::vector<std::int32_t> numbers;
    std::vector<std::uint32_t> marks;  // see marks.h
    std::vector<std::int64_t> offsets;
};

// The numbers of each line's words, and if wanted their marks. Throws InvalidTextError naming a line that is not
// UTF-8.
EncodedLines encode_words(const TextView& text, WordRule rule, const Vocabulary& vocabulary, bool marks,
                          std::size_t threads);

}  // namespace nmt_prep::align
