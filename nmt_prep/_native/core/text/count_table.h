// Counts of distinct byte strings.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace nmt_prep {

// A byte string and its count. Short strings are stored here, so that comparing them takes no further look-up.
class TokenCount {
   public:
    std::int64_t count = 0;

    // Valid as long as this object is neither moved nor destroyed, and the table exists.
    std::string_view token() const {
        return {size_ <= kShort ? reinterpret_cast<const char*>(words_.data()) : text(), size_};
    }

   private:
    friend class CountTable;
    static constexpr std::size_t kShort = 16;

    const char* text() const { return std::bit_cast<const char*>(static_cast<std::uintptr_t>(words_[0])); }

    std::array<std::uint64_t, 2> words_{};  // the bytes of a short string, then zeros; of a longer one, where they are
    std::uint32_t size_ = 0;
    std::uint32_t tag_ = 0;  // upper half of the hash
};

// A table of byte strings with counts. Its memory only depends on the distinct strings.
class CountTable {
   public:
    CountTable();
    CountTable(CountTable&&) = default;
    CountTable& operator=(CountTable&&) = default;

    // Throws TrainingError if there are too many tokens, or one is too long.
    void add(std::string_view token, std::int64_t count);

    struct Token {
        const char* data;
        std::size_t size;

        std::string_view text() const { return {data, size}; }
    };
    // Adds 1 for each of these tokens. The bytes before `readable_end` may be read.
    void add_each(std::span<const Token> tokens, const char* readable_end);

    // Adds the counts of another table.
    void add_all(const CountTable& other);

    const std::vector<TokenCount>& entries() const { return entries_; }

    // Bytes, and UTF-8 characters, of all distinct strings.
    std::int64_t bytes() const { return bytes_; }
    std::int64_t characters() const { return characters_; }

   private:
    struct Key {
        std::uint64_t first, second;  // the bytes of a short token, then zeros; only zeros for a long one
        std::uint32_t tag;
    };
    struct Slot {
        std::uint32_t tag;
        std::uint32_t entry;  // index of the entry plus one; 0 is free
    };
    static Key key_of(std::string_view token, bool padded);
    void add(Key key, std::string_view token, std::int64_t count);
    void insert(std::size_t at, Key key, std::string_view token, std::int64_t count);
    void grow();
    const char* keep(std::string_view token);

    std::vector<Slot> slots_;  // indexed by the upper bits of the tag
    unsigned shift_;
    std::vector<TokenCount> entries_;
    std::int64_t bytes_ = 0;
    std::int64_t characters_ = 0;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* block_end_ = nullptr;
    std::size_t block_left_ = 0;
};

// Collects tokens and adds them to a table in groups, which is faster than one by one.
class TokenGroup {
   public:
    // Tokens must remain valid until `flush`. The bytes before `readable_end` may be read.
    TokenGroup(CountTable& table, const char* readable_end) : table_(table), readable_end_(readable_end) {}

    void add(std::string_view token) {
        tokens_[size_++] = {token.data(), token.size()};
        if (size_ == tokens_.size()) flush();
    }
    void flush() {
        table_.add_each({tokens_.data(), size_}, readable_end_);
        size_ = 0;
    }

   private:
    CountTable& table_;
    const char* readable_end_;
    std::array<CountTable::Token, 32> tokens_;  // not initialized, which would take longer than a short line
    std::size_t size_ = 0;
};

// Merges the tables of several threads into the first one; creates it if there is none.
CountTable& join_tables(std::vector<CountTable>& tables);

}  // namespace nmt_prep
