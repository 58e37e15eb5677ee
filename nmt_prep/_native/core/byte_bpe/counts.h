// Distinct pretokens and how often each occurs: the whole of what merges are learnt from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::byte_bpe {

// Counts the pretokens of columns as they come. One table a thread, joined by `words`.
class WordCounter {
   public:
    WordCounter() = default;
    WordCounter(const WordCounter&) = delete;
    WordCounter& operator=(const WordCounter&) = delete;

    // Cuts lines by GPT-2's pattern if `split`, else takes each as one pretoken. Throws InvalidTextError, in which case
    // the column counts in part or not at all.
    void add(const TextView& text, bool split, std::size_t threads, const Poll& poll);

    // Counts one pretoken `count` times more.
    void add_word(std::string_view word, std::int64_t count) { join_tables(tables_).add(word, count); }

    // All counts in one table, in no order to rely on. Valid until the next add.
    const CountTable& words() { return join_tables(tables_); }

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::byte_bpe
