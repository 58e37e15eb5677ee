// Ids of longer stretches of text that come again, the way IdCache holds those of short ones: bounded, for one thread at
// a time, and what it answers never depends on what it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nmt_prep::byte_bpe {

class PhraseCache {
   public:
    static constexpr std::size_t kMaxBytes = 62;
    static constexpr std::size_t kMaxIds = 16;

    explicit PhraseCache(std::size_t bits) : entries_(std::size_t{1} << bits), shift_(64 - bits) {}

    // Asks for the memory where a phrase is if it is here; what comes between this and `find` hides the wait.
    void prefetch(std::uint64_t hash) const {
        const Entry* const entry = &entries_[hash >> shift_];
        __builtin_prefetch(entry, 1);
        __builtin_prefetch(&entry->size, 1);
    }

    // Writes the ids of a phrase and returns how many, 0 if it is not here. May write kMaxIds ids. `hash` is that of the
    // bytes. Requires 1 <= size <= kMaxBytes.
    std::size_t find(std::uint64_t hash, const std::uint8_t* data, std::size_t size, std::int32_t* ids) const {
        const Entry& entry = entries_[hash >> shift_];
        if (entry.size != size || std::memcmp(entry.bytes, data, size) != 0) return 0;
        std::memcpy(ids, entry.ids, sizeof entry.ids);
        return entry.count;
    }

    // Takes in a phrase in place of what was there, if it has at most kMaxIds ids.
    void put(std::uint64_t hash, const std::uint8_t* data, std::size_t size, const std::int32_t* ids,
             std::size_t count) {
        if (count > kMaxIds) return;
        Entry& entry = entries_[hash >> shift_];
        entry.size = static_cast<std::uint8_t>(size);
        entry.count = static_cast<std::uint8_t>(count);
        std::memcpy(entry.bytes, data, size);
        std::memcpy(entry.ids, ids, count * sizeof *ids);
    }

   private:
    struct alignas(64) Entry {
        std::int32_t ids[kMaxIds] = {};
        std::uint8_t size = 0;
        std::uint8_t count = 0;
        std::uint8_t bytes[kMaxBytes] = {};
    };

    std::vector<Entry> entries_;
    std::size_t shift_;
};

}  // namespace nmt_prep::byte_bpe
