// A count cache in front of a count table, for the recent short byte strings of a thread: most of a text
// consists of a few frequent words, and adding a word to the table takes several reads from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/count_table.h"
#include "text/huge_pages.h"
#include "text/id_cache.h"

namespace nmt_prep {

// Counts are complete in the table after `flush`.
class CountCache {
   public:
    using Key = IdCache::Key;
    static constexpr std::size_t kMaxBytes = IdCache::kMaxBytes;

    CountCache() : places_(std::size_t{1} << kBits) {}

    // Prefetches the memory that `add` reads.
    void prefetch(const Key& key) const { __builtin_prefetch(&places_[index(key)], 1); }

    // Counts a string, given by IdCache::key. The string that it replaces goes to the table.
    void add(const Key& key, CountTable& table) {
        Place& place = places_[index(key)];
        if (place.key.low != key.low || place.key.high != key.high) {
            move(place, table);
            place.key = key;
        }
        ++place.count;
    }

    // Moves all counts to the table.
    void flush(CountTable& table) {
        for (Place& place : places_) move(place, table);
    }

   private:
    static constexpr unsigned kBits = 15;  // 1 MiB

    struct alignas(32) Place {
        Key key{0, 0};
        std::int64_t count = 0;
    };

    static std::size_t index(const Key& key) { return IdCache::hash(key) >> (64 - kBits); }

    static void move(Place& place, CountTable& table) {
        if (place.count == 0) return;
        char bytes[sizeof(Key)];
        std::memcpy(bytes, &place.key, sizeof bytes);
        table.add({bytes, static_cast<std::size_t>(place.key.high >> 56)}, place.count);
        place = {};
    }

    LargeVector<Place> places_;
};

}  // namespace nmt_prep
