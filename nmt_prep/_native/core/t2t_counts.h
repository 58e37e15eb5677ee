// Distinct tokens and how often each occurs: the whole of what a vocabulary is built from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text_batch.h"

namespace nmt_prep::t2t {

struct TokenCount {
    std::string_view token;  // UTF-8, owned by the table
    std::int64_t count;
};

// A set of byte strings with a count each. Memory grows with the distinct strings alone.
class CountTable {
   public:
    CountTable();
    CountTable(CountTable&&) = default;
    CountTable& operator=(CountTable&&) = default;

    void add(std::string_view token, std::int64_t count);
    const std::vector<TokenCount>& entries() const { return entries_; }

   private:
    void grow();
    const char* keep(std::string_view token);

    struct Slot {
        std::uint32_t tag;    // upper half of the hash
        std::uint32_t entry;  // index of the entry plus one; 0 is free
    };
    std::vector<Slot> slots_;
    std::vector<TokenCount> entries_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* block_end_ = nullptr;
    std::size_t block_left_ = 0;
};

// Counts the tokens of columns as they come. One table a thread, joined by `merged`.
class TokenCounter {
   public:
    TokenCounter() = default;
    TokenCounter(const TokenCounter&) = delete;
    TokenCounter& operator=(const TokenCounter&) = delete;

    // Throws InvalidTextError, in which case the column counts in part or not at all.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // Counts one token `count` times more.
    void add_token(std::string_view token, std::int64_t count);

    // Characters of all distinct tokens, and one more for each: what training's memory grows with.
    std::int64_t characters();

    // All counts in one table, which stays valid until the next add.
    const CountTable& merged();

   private:
    std::vector<CountTable> tables_;
};

}  // namespace nmt_prep::t2t
