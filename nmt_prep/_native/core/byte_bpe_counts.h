// Distinct pretokens and how often each occurs: the whole of what merges are learnt from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "count_table.h"
#include "text_batch.h"

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

    // All counts, in no order to rely on. Valid until the next add.
    const std::vector<TokenCount>& words();

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::byte_bpe
