// Ids of short units of text that come again: a bounded table for one thread at a time, where a new unit replaces what
// was in its place. What it answers never depends on what it holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "text/byte_hash.h"

namespace nmt_prep {

class IdCache {
   public:
    static constexpr std::size_t kMaxBytes = 15;
    static constexpr std::size_t kMaxIds = 8;

    // A unit of at most kMaxBytes bytes, its size in the low half of the last byte.
    struct Key {
        std::uint64_t low, high;
    };

    // 2^bits places for two units each. Where no id is above 2^16 - 1, a unit may have eight ids, else four.
    explicit IdCache(std::size_t bits, bool small_ids = false)
        : places_(std::size_t{1} << bits), shift_(64 - bits), max_ids_(small_ids ? kMaxIds : kMaxIds / 2) {}

    // Ids that a unit may have, kMaxIds at most.
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

    // Asks for the memory where a unit is if it is here; what comes between this and `find` hides the wait.
    void prefetch(const Key& key) const { __builtin_prefetch(&places_[index(key)], 1); }

    // Writes the ids of a unit and returns how many, 0 if it is not here. Writes kMaxIds ids at most in either case.
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

    // Takes in a unit that is not here; of the two in its place the one not used last goes. Requires
    // 1 <= size <= max_ids().
    void put(const Key& key, const std::int32_t* ids, std::size_t size) {
        Place& place = places_[index(key)];
        place.entries[1] = place.entries[0];
        place.entries[0].low = key.low;
        place.entries[0].high = key.high | std::uint64_t{size} << 60;
        Entry& entry = place.entries[0];
        if (max_ids_ == kMaxIds) {
            std::uint16_t small_ids[kMaxIds];
            for (std::size_t i = 0; i < size; ++i) small_ids[i] = static_cast<std::uint16_t>(ids[i]);
            std::memcpy(entry.ids, small_ids, size * sizeof *small_ids);
        } else {
            std::memcpy(entry.ids, ids, size * sizeof *ids);
        }
    }

   private:
    // That many lowest bytes of a word, or all there are. Looked up, for the sizes of units are hard to foresee.
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
        Entry entries[2];  // the one used last comes first
    };

    std::size_t index(const Key& key) const {
        return mix_bits(key.low ^ 0x9E3779B97F4A7C15u, key.high ^ 0xD1B54A32D192ED03u) >> shift_;
    }

    std::vector<Place> places_;
    std::size_t shift_, max_ids_;
};

// Scratch space that calls borrow and give back, so that it stays warm without belonging to a thread.
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
