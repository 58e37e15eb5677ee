// The pairs that a training has listed: a table by key, and a queue by count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bpe/training_text.h"

namespace nmt_prep::bpe {

// The order in which pairs with equal counts are taken.
enum class Ties : std::uint8_t { kLowKeys, kHighTexts };

class KnownPairs {
   public:
    // `texts`: texts of the symbols, which are read for kHighTexts: the pair with the highest left text goes first,
    // then the one with the highest right text.
    KnownPairs(Ties ties, const std::vector<std::string>& texts) : later_{ties, texts} { clear(0); }

    // Removes all pairs, and makes room for about `expected` pairs.
    void clear(std::size_t expected);

    // Adds a new pair. Its count may not exceed the count of the last taken pair.
    void add(const PairList& pair);

    // Returns the pair with this key, nullptr for an unknown key, as most keys are.
    PairList* find(std::uint64_t key) {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash >> shift_; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].tag == static_cast<std::uint32_t>(hash) && pairs_[slots_[at].number - 1].key == key)
                return &pairs_[slots_[at].number - 1];
        return nullptr;
    }

    // Takes the pair with the largest count out of the queue. Returns nullptr if no count is `floor` or more. The pair
    // stays in the table; the pointer is valid until the next add.
    PairList* take(std::int64_t floor);

    // Prefetches the places of the queue's next pair, which its merge reads.
    void prefetch_next() const {
        if (!active_.empty()) __builtin_prefetch(pairs_[active_.front().number].places);
    }

   private:
    static constexpr std::size_t kSmall = 4096;

    struct Slot {
        std::uint32_t tag = 0;     // low bits of the hash
        std::uint32_t number = 0;  // number plus one; 0 in a free slot
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t key;
        std::uint32_t number;
    };

    // True if a candidate comes after another.
    struct Later {
        Ties ties;
        const std::vector<std::string>& texts;

        bool operator()(const Candidate& one, const Candidate& other) const {
            if (one.count != other.count) return one.count < other.count;
            if (ties == Ties::kLowKeys) return one.key > other.key;
            const auto [left, right] = split_key(one.key);
            const auto [other_left, other_right] = split_key(other.key);
            return left == other_left ? texts[right] < texts[other_right] : texts[left] < texts[other_left];
        }
        static std::pair<std::size_t, std::size_t> split_key(std::uint64_t key) {
            return {static_cast<std::size_t>(key >> 32), static_cast<std::size_t>(key & UINT32_MAX)};
        }
    };

    static std::uint64_t hash_of(std::uint64_t key) {
        const std::uint64_t product = key * 0x9E3779B97F4A7C15u;
        return product ^ product >> 32;
    }
    void insert(std::uint64_t key, std::uint32_t number);
    void queue(const Candidate& candidate);
    bool activate_next(std::int64_t floor);

    Later later_;
    std::vector<PairList> pairs_;
    std::vector<Slot> slots_;
    unsigned shift_ = 64;

    // Candidates have the counts of their pairs at the time of insertion. Candidates with small counts are in a list
    // per count; candidates with large counts, and those of the largest nonempty list, are in a heap.
    std::vector<Candidate> active_;
    std::array<std::vector<Candidate>, kSmall> waiting_;
    std::size_t lowest_active_ = kSmall;  // the lists of this count and all larger counts are empty
};

}  // namespace nmt_prep::bpe
