// Counts of distinct tokens of Tensor2Tensor's dialect, from which a vocabulary is built.
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

    // Throws InvalidTextError; the column may then be counted in part.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // Adds `count` to the count of a token.
    void add_token(std::string_view token, std::int64_t count) { table().add(token, count); }

    // Characters of all distinct tokens, plus one per token; the memory of training is proportional to it.
    std::int64_t characters() { return merged().characters() + static_cast<std::int64_t>(merged().entries().size()); }

    // Returns all counts in one table, which is valid until the next add.
    const CountTable& merged() { return table(); }

   private:
    struct Token {
        const std::uint8_t* text;
        std::size_t size;
        CountCache::Key key;  // of tokens up to CountCache::kMaxBytes
    };

    // Tokens that were found but not counted yet, while their places are prefetched.
    static constexpr std::size_t kAhead = 32;

    // Of a thread.
    struct Scratch {
        CountCache cache;
        ChangeBits bits;
        Token ahead[kAhead];
    };

    static void count_run(const TextView& text, std::size_t first, std::size_t last, Scratch& scratch,
                          CountTable& table);
    CountTable& table();

    std::vector<CountTable> tables_;
    std::vector<std::unique_ptr<Scratch>> scratch_;  // of the same threads; null where nothing was counted since
};

}  // namespace nmt_prep::t2t
