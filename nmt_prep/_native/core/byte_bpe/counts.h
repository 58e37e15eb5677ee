// Counts of distinct pretokens, from which merges are learned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "byte_bpe/splitter.h"
#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::byte_bpe {

// Counts the pretokens of columns, in one table per thread; `words` merges the tables.
class WordCounter {
   public:
    WordCounter() = default;
    WordCounter(const WordCounter&) = delete;
    WordCounter& operator=(const WordCounter&) = delete;

    // Counts pretokens, and leaves out added tokens. Throws InvalidTextError, after which a part of the column may be
    // counted.
    void add(const TextView& text, const Splitter& splitter, std::size_t threads, const Poll& poll);

    // Adds `count` to the count of a pretoken.
    void add_word(std::string_view word, std::int64_t count) { join_tables(tables_).add(word, count); }

    // Returns all counts in one table, in unspecified order. Valid until the next add.
    const CountTable& words() { return join_tables(tables_); }

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::byte_bpe
