// Merges the symbols of many short words, one merge per word in turn, so that a processor works on several words at a
// time, also while it reads the table of merges. The results are those of Merger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bpe/merge.h"
#include "bpe/pairs.h"

namespace nmt_prep::bpe {

class WordMerger {
   public:
    static constexpr std::size_t kMaxSymbols = 30;  // of a word
    static constexpr std::size_t kMaxWords = 64;

    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }

    // Adds a word; words are numbered from 0. Requires 1 <= size <= kMaxSymbols and less than kMaxWords words.
    void add(const PairTable& pairs, const std::int32_t* symbols, std::size_t size);

    // Merges all words.
    void merge(const PairTable& pairs);

    // Writes the symbols of a word and returns their number.
    std::size_t write(std::size_t word, std::int32_t* out) const;

    // The symbols of a word, at positions that never change, between two symbols that never merge.
    struct Word {
        static constexpr std::size_t kPlaces = kMaxSymbols + 2;

        std::array<std::uint32_t, kPlaces> keys;  // rank and position of the merge with the next symbol
        std::array<std::int32_t, kPlaces> symbols;
        std::array<std::int32_t, kPlaces> merged;  // symbols of these merges
        std::uint32_t used;                        // a bit for each position with a symbol
    };

   private:
    // A lookup in an added word, done with those of all words, so that they wait for memory together.
    struct Waiting {
        PairTable::Lookup lookup;
        std::uint8_t word, place;
    };

    std::size_t size_ = 0;
    std::array<Word, kMaxWords> words_;
    std::size_t waiting_size_ = 0;
    std::array<Waiting, kMaxWords * kMaxSymbols> waiting_;
};

}  // namespace nmt_prep::bpe
