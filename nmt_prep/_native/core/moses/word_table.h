// Words and what is known of them, close together in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_hash.h"

namespace nmt_prep::moses {

// Values by word. Unlike the keys of HashTable, words are compared themselves.
template <class Value>
class WordTable {
   public:
    // At most `most` words, fewer than 2^31.
    explicit WordTable(std::size_t most) : slots_(std::bit_ceil(2 * std::max<std::size_t>(most, 1))) {}

    // Returns the value of a word, which is added if it is absent. Valid until a word is added.
    Value& add(std::string_view word) {
        const std::uint64_t hash = hashed(word);
        Slot& slot = slots_[place(hash, word)];
        if (slot.number == 0) {
            entries_.push_back({text_.size(), word.size(), Value{}});
            text_ += word;
            slot = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(entries_.size())};
        }
        return entries_[slot.number - 1].value;
    }

    // Returns the value of a word, nullptr if it is absent.
    const Value* find(std::string_view word) const {
        const Slot& slot = slots_[place(hashed(word), word)];
        return slot.number == 0 ? nullptr : &entries_[slot.number - 1].value;
    }

   private:
    struct Slot {
        std::uint32_t tag, number;  // a part of the hash; the number of the entry from 1, 0 for none
    };
    struct Entry {
        std::size_t at, size;
        Value value;
    };

    static std::uint64_t hashed(std::string_view word) {
        return hash_bytes(reinterpret_cast<const std::uint8_t*>(word.data()), word.size());
    }

    std::size_t place(std::uint64_t hash, std::string_view word) const {
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].number != 0 && !(slots_[at].tag == hash >> 32 && text_of(slots_[at].number - 1) == word))
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    std::string_view text_of(std::size_t number) const {
        return std::string_view(text_).substr(entries_[number].at, entries_[number].size);
    }

    std::vector<Slot> slots_;  // a power of two, at most half in use
    std::vector<Entry> entries_;
    std::string text_;  // all words
};

}  // namespace nmt_prep::moses
