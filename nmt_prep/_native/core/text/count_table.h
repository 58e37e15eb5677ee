// Counts of distinct byte strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace nmt_prep {

struct TokenCount {
    std::string_view token;  // owned by the table
    std::int64_t count;
};

// A table of byte strings with counts. Its memory only depends on the distinct strings.
class CountTable {
   public:
    CountTable();
    CountTable(CountTable&&) = default;
    CountTable& operator=(CountTable&&) = default;

    void add(std::string_view token, std::int64_t count);
    const std::vector<TokenCount>& entries() const { return entries_; }

    // Bytes, and UTF-8 characters, of all distinct strings.
    std::int64_t bytes() const { return bytes_; }
    std::int64_t characters() const { return characters_; }

   private:
    void grow();
    const char* keep(std::string_view token);

    struct Slot {
        std::uint32_t tag;    // upper half of the hash
        std::uint32_t entry;  // index of the entry plus one; 0 is free
    };
    std::vector<Slot> slots_;
    std::vector<TokenCount> entries_;
    std::int64_t bytes_ = 0;
    std::int64_t characters_ = 0;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* block_end_ = nullptr;
    std::size_t block_left_ = 0;
};

// Merges the tables of several threads into the first one; creates that if there is none.
CountTable& join_tables(std::vector<CountTable>& tables);

}  // namespace nmt_prep
