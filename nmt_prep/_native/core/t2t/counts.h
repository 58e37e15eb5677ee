// Distinct tokens of Tensor2Tensor's dialect and how often each occurs: the whole of what a vocabulary is built from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::t2t {

// Counts the tokens of columns as they come. One table a thread, joined by `merged`.
class TokenCounter {
   public:
    TokenCounter() = default;
    TokenCounter(const TokenCounter&) = delete;
    TokenCounter& operator=(const TokenCounter&) = delete;

    // Throws InvalidTextError, in which case the column counts in part or not at all.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // Counts one token `count` times more.
    void add_token(std::string_view token, std::int64_t count) { join_tables(tables_).add(token, count); }

    // Characters of all distinct tokens, and one more for each: what training's memory grows with.
    std::int64_t characters() { return merged().characters() + static_cast<std::int64_t>(merged().entries().size()); }

    // All counts in one table, which stays valid until the next add.
    const CountTable& merged() { return join_tables(tables_); }

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::t2t
