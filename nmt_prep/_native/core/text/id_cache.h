// Bounded ID cache for short text units, for one thread at a time. A new unit replaces an old one in its
// bucket. Results never depend on the content of the cache.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "text/byte_hash.h"
#include "text/huge_pages.h"

namespace nmt_prep {

class IdCache {
   public:
    static constexpr std::size_t kMaxBytes = 15;
    static constexpr std::size_t kMaxIds = 8;

    // A unit of at most kMaxBytes bytes, its size in the low half of the last byte.
    struct Key {
        std::uint64_t low, high;
    };

    // Returns the bits of a cache for a vocabulary: for 128 units or more per token, up to 2^most buckets.
    static std::size_t bits_for(std::size_t tokens, std::size_t most) {
        return std::min<std::size_t>(most, static_cast<std::size_t>(std::bit_width(tokens)) + 6);
    }

    // 2^bits buckets of two units each. If no id exceeds 2^16 - 1, a unit may have eight ids, else four.
    explicit IdCache(std::size_t bits, bool small_ids = false)
        : places_(std::size_t{1} << bits), shift_(64 - bits), max_ids_(small_ids ? kMaxIds : kMaxIds / 2) {}

    // Maximum ID count of a unit, up to kMaxIds.
    std::size_t max_ids() const { return max_ids_; }

    // `readable`: bytes from `data` that may be read, at least `size`. Requires 1 <= size <= kMaxBytes.
    static Key key(const std::uint8_t* data, std::size_t size, std::size_t readable) {
        std::uint64_t words[2] = {0, 0};
        if (readable >= sizeof words) {
            std::memcpy(words, data, sizeof words);
            words[0] &= kLowBytes[size];
            words[1] &= kLowBytes[size < 8 ? 0 : size - 8];
        } else {
            std::memcpy(words, data, size);
        }
        return {words[0], words[1] | std::uint64_t{size} << 56};
    }

    // The same for a unit of any size from 1; one of more bytes gets a key that is never in a cache.
    static Key key_of_any(const std::uint8_t* data, std::size_t size, std::size_t readable) {
        const Key found = key(data, std::min(size, kMaxBytes), readable);
        return size <= kMaxBytes ? found : Key{0, ~std::uint64_t{0}};
    }

    static std::uint64_t hash(const Key& key) {
        return mix_bits(key.low ^ 0x9E3779B97F4A7C15u, key.high ^ 0xD1B54A32D192ED03u);
    }

    // Prefetches the memory that `find` reads.
    void prefetch(const Key& key) const { __builtin_prefetch(&places_[index(key)], 1); }

    bool contains(const Key& key) const {
        const Place& place = places_[index(key)];
        return place.entries[0].holds(key) || place.entries[1].holds(key);
    }

    // The result of `find` after `put_elsewhere`.
    static constexpr std::size_t kElsewhere = 15;

    // Writes the ids of a unit and returns how many, 0 if it is not cached. May write up to kMaxIds ids in any case.
    std::size_t find(const Key& key, std::int32_t* ids) {
        Place& place = places_[index(key)];
        if (!place.entries[0].holds(key)) {
            if (!place.entries[1].holds(key)) return 0;
            std::swap(place.entries[0], place.entries[1]);
        }
        const Entry& entry = place.entries[0];
        if (max_ids_ == kMaxIds) {
            std::uint16_t small_ids[kMaxIds];
            std::memcpy(small_ids, entry.ids, sizeof small_ids);
            std::copy(small_ids, small_ids + kMaxIds, ids);
        } else {
            std::memcpy(ids, entry.ids, sizeof entry.ids);
        }
        return entry.size();
    }

    // Adds a unit that is not cached; replaces the least recently used one in its bucket. Requires
    // 1 <= size <= max_ids().
    void put(const Key& key, const std::int32_t* ids, std::size_t size) {
        Entry& entry = replace(key, size);
        if (max_ids_ == kMaxIds) {
            std::uint16_t small_ids[kMaxIds];
            for (std::size_t i = 0; i < size; ++i) small_ids[i] = static_cast<std::uint16_t>(ids[i]);
            std::memcpy(entry.ids, small_ids, size * sizeof *small_ids);
        } else {
            std::memcpy(entry.ids, ids, size * sizeof *ids);
        }
    }

    // Records that an uncached unit has too many ids, which the caller stores elsewhere.
    void put_elsewhere(const Key& key) { replace(key, kElsewhere); }

   private:
    // Mask for that many lowest bytes of a word. From a table, since the sizes of units are not predictable for a
    // branch.
    static constexpr std::array<std::uint64_t, kMaxBytes + 1> kLowBytes = [] {
        std::array<std::uint64_t, kMaxBytes + 1> masks{};
        for (std::size_t size = 1; size <= kMaxBytes; ++size) masks[size] = masks[size - 1] << 8 | 0xFF;
        return masks;
    }();

    static constexpr std::uint64_t kKeyBits = (std::uint64_t{1} << 60) - 1;

    // The top four bits of `high` count the ids.
    struct Entry {
        std::uint64_t low = 0, high = 0;
        std::int32_t ids[kMaxIds / 2] = {};  // or kMaxIds of 16 bits

        bool holds(const Key& key) const { return low == key.low && (high & kKeyBits) == key.high; }
        std::size_t size() const { return static_cast<std::size_t>(high >> 60); }
    };

    struct alignas(64) Place {
        Entry entries[2];  // the most recently used one is first
    };

    // Returns the new entry of a unit.
    Entry& replace(const Key& key, std::size_t size) {
        Place& place = places_[index(key)];
        place.entries[1] = place.entries[0];
        place.entries[0].low = key.low;
        place.entries[0].high = key.high | std::uint64_t{size} << 60;
        return place.entries[0];
    }

    std::size_t index(const Key& key) const { return hash(key) >> shift_; }

    LargeVector<Place> places_;
    std::size_t shift_, max_ids_;
};

// Pool of scratch space that calls borrow and return, so that it is reused without being bound to a thread.
template <class Scratch>
class ScratchPool {
   public:
    template <class Make>
    std::unique_ptr<Scratch> borrow(Make&& make) {
        {
            const std::scoped_lock lock(mutex_);
            if (!idle_.empty()) {
                std::unique_ptr<Scratch> scratch = std::move(idle_.back());
                idle_.pop_back();
                return scratch;
            }
        }
        return make();
    }

    void give_back(std::unique_ptr<Scratch> scratch) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < kMaxIdle) idle_.push_back(std::move(scratch));
    }

   private:
    static constexpr std::size_t kMaxIdle = 64;

    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace nmt_prep
