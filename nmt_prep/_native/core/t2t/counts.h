// Counts of distinct tokens of Tensor2Tensor's dialect, from which a vocabulary is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::t2t {

// Counts the tokens of columns, in one table per thread; `merged` merges the tables.
class TokenCounter {
   public:
    TokenCounter() = default;
    TokenCounter(const TokenCounter&) = delete;
    TokenCounter& operator=(const TokenCounter&) = delete;

    // Throws InvalidTextError; the column may then be counted in part.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // Adds `count` to the count of a token.
    void add_token(std::string_view token, std::int64_t count) { join_tables(tables_).add(token, count); }

    // Characters of all distinct tokens, plus one per token; the memory of training is proportional to it.
    std::int64_t characters() { return merged().characters() + static_cast<std::int64_t>(merged().entries().size()); }

    // Returns all counts in one table, which is valid until the next add.
    const CountTable& merged() { return join_tables(tables_); }

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::t2t
