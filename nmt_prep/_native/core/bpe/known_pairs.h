// The pairs that a training knows: a table by key, and a queue by count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/training_text.h"

namespace nmt_prep::bpe {

class KnownPairs {
   public:
    KnownPairs() { clear(0); }

    // Removes all pairs; there will be about `expected` new ones.
    void clear(std::size_t expected);

    // Adds a pair that is not there. Its count may not exceed that of the last pair that was taken, if any.
    void add(const PairList& pair);

    // Returns the pair with this key, nullptr if it is not there. Most keys are not.
    PairList* find(std::uint64_t key) {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash >> shift_; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].tag == static_cast<std::uint32_t>(hash) && pairs_[slots_[at].number - 1].key == key)
                return &pairs_[slots_[at].number - 1];
        return nullptr;
    }

    // Takes the pair with the largest count out of the queue, among equal ones that with the smallest key. Returns
    // nullptr if no count is `floor` or more. The pair stays in the table; the pointer is valid until the next add.
    PairList* take(std::int64_t floor);

    // Begins to read what merging the pair that is taken next needs.
    void prefetch_next() const {
        if (!active_.empty()) __builtin_prefetch(pairs_[active_.front().number].places);
    }

   private:
    static constexpr std::size_t kSmall = 4096;

    struct Slot {
        std::uint32_t tag = 0;     // low bits of the hash
        std::uint32_t number = 0;  // plus one; 0 is free
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t key;
        std::uint32_t number;

        // True if it comes after the other one.
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : key > other.key;
        }
    };

    static std::uint64_t hash_of(std::uint64_t key) {
        const std::uint64_t product = key * 0x9E3779B97F4A7C15u;
        return product ^ product >> 32;
    }
    void insert(std::uint64_t key, std::uint32_t number);
    void queue(const Candidate& candidate);
    bool activate_next(std::int64_t floor);

    std::vector<PairList> pairs_;
    std::vector<Slot> slots_;
    unsigned shift_ = 64;

    // Candidates have the counts that their pairs had when they were put here. Those with a small count are in one list
    // per count; all others, and those with the largest count of all, are in a heap.
    std::vector<Candidate> active_;
    std::array<std::vector<Candidate>, kSmall> waiting_;
    std::size_t lowest_active_ = kSmall;  // lists of this and all larger counts are empty
};

}  // namespace nmt_prep::bpe
