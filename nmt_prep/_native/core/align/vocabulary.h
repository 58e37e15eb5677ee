// Counts of words, and the numbering of those that a model knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/words.h"
#include "text/batch.h"

namespace nmt_prep::align {

// A map from hashes to numbers, with open addressing.
class HashIndex {
   public:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    HashIndex() : slots_(1024, Slot{0, kNone}) {}

    std::size_t size() const { return size_; }
    // The number of a hash, or kNone.
    std::uint32_t find(std::uint64_t hash) const {
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].number == kNone || slots_[at].hash == hash) return slots_[at].number;
    }
    // The number of a hash, which is size() if it is new.
    std::uint32_t add(std::uint64_t hash);

   private:
    struct Slot {
        std::uint64_t hash;
        std::uint32_t number;
    };
    void place(std::uint64_t hash, std::uint32_t number);

    std::vector<Slot> slots_;  // a power of two
    std::size_t size_ = 0;
};

// A distinct word of a text.
struct WordCount {
    std::uint64_t whole;
    std::uint64_t stem;
    std::int64_t count;
};

// The distinct words of lines, by ascending hash. Throws InvalidTextError naming a line that is not UTF-8.
// Writes the number of words of each line to sizes.
std::vector<WordCount> count_words(const TextView& text, WordRule rule, std::int64_t* sizes, std::size_t threads);

// Number of a word that the vocabulary lacks.
inline constexpr std::int32_t kUnknown = 0;

// The words that a model knows: whole words by their hashes, the others by the hashes of their stems.
class Vocabulary {
   public:
    // Word i of the hashes has number i + 1.
    Vocabulary(const std::uint64_t* hashes, std::size_t size);

    std::int32_t number(const Word& word) const {
        std::uint32_t found = index_.find(word.whole);
        if (found == HashIndex::kNone) found = index_.find(word.stem);
        return found == HashIndex::kNone ? kUnknown : static_cast<std::int32_t>(found) + 1;
    }

   private:
    HashIndex index_;
};

// Words of lines: those of line i are [offsets[i], offsets[i + 1]).
struct EncodedLines {
    std::vector<std::int32_t> numbers;
    std::vector<std::int64_t> offsets;
};

// The numbers of the words of each line. Throws InvalidTextError naming a line that is not UTF-8.
EncodedLines encode_words(const TextView& text, WordRule rule, const Vocabulary& vocabulary, std::size_t threads);

}  // namespace nmt_prep::align
