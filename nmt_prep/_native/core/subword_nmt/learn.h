// Counts words, and learns from them the merges of subword-nmt's learn-bpe: the most frequent pair goes first, of
// equally frequent pairs the one with the greater texts. The last character of a word has kWordEnd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::subword_nmt {

using Merges = std::vector<std::pair<std::string, std::string>>;

// Counts the words of columns, in one table per thread.
class WordCounter {
   public:
    WordCounter() = default;
    WordCounter(const WordCounter&) = delete;
    WordCounter& operator=(const WordCounter&) = delete;

    // Throws InvalidTextError, after which a part of the column may be counted.
    void add(const TextView& text, std::size_t threads, const Poll& poll);
    void add_word(std::string_view word, std::int64_t count) { join_tables(tables_).add(word, count); }

    // All counts in one table, in unspecified order. Valid until the next add.
    const CountTable& words() { return join_tables(tables_); }

   private:
    std::vector<CountTable> tables_;
};

struct LearnOptions {
    std::size_t merges;
    bool total_symbols;  // true if `merges` also counts the symbols that characters begin as
    std::uint64_t min_frequency;
};

// `progress` is called with the number of merges so far. Throws TrainingError.
Merges learn(const CountTable& words, const LearnOptions& options, std::size_t threads,
             const std::function<void(std::size_t merges)>& progress);

}  // namespace nmt_prep::subword_nmt
