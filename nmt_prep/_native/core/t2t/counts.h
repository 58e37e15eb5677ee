// Counts of distinct Tensor2Tensor tokens, from which a vocabulary is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "t2t/tokens.h"
#include "text/batch.h"
#include "text/count_cache.h"
#include "text/count_table.h"

namespace nmt_prep::t2t {

// Counts the tokens of columns, in one table per thread; `merged` merges the tables.
class TokenCounter {
   public:
    TokenCounter() = default;
    TokenCounter(const TokenCounter&) = delete;
    TokenCounter& operator=(const TokenCounter&) = delete;

    // Throws InvalidTextError if a line is not UTF-8; part of the column may be counted by then.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // Adds `count` to the count of a token.
    void add_token(std::string_view token, std::int64_t count) { table().add(token, count); }

    // Returns the character count of all distinct tokens, plus one for each token. Training takes memory in
    // proportion to it.
    std::int64_t characters() { return merged().characters() + static_cast<std::int64_t>(merged().entries().size()); }

    // Returns all counts in one table, which is valid until the next add.
    const CountTable& merged() { return table(); }

   private:
    struct Token {
        const std::uint8_t* text;
        std::size_t size;
        CountCache::Key key;  // for tokens of up to CountCache::kMaxBytes bytes
    };

    // Number of tokens found but not counted yet, while their table entries are prefetched.
    static constexpr std::size_t kAhead = 32;

    // The scratch space of a thread.
    struct Scratch {
        CountCache cache;
        ChangeBits bits;
        Token ahead[kAhead];
    };

    static void count_run(const TextView& text, std::size_t first, std::size_t last, Scratch& scratch,
                          CountTable& table);
    CountTable& table();

    std::vector<CountTable> tables_;
    std::vector<std::unique_ptr<Scratch>> scratch_;  // by thread, like tables_; null if the thread has counted nothing
};

}  // namespace nmt_prep::t2t
