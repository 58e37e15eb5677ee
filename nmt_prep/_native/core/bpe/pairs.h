// Hash table from pairs of neighbouring symbols to merges; filled once, then read; eight bytes per slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/merge.h"

namespace nmt_prep::bpe {

class PairTable {
   public:
    static constexpr std::size_t kMaxSymbols = std::size_t{1} << 21;
    static constexpr std::size_t kMaxPairs = (std::size_t{1} << 22) - 1;

    // Requires the maximum number of pairs, at most kMaxPairs.
    explicit PairTable(std::size_t pairs) {
        while ((std::size_t{1} << (64 - shift_)) < 2 * pairs) --shift_;
        slots_.assign(std::size_t{1} << (64 - shift_), kFree);
        filter_.assign(slots_.size() * kFilterBits / 64, 0);
        merged_.reserve(pairs);
    }

    // Adds the pair of the next rank, from 0. A pair that was added before gets the new rank.
    void add(std::int32_t left, std::int32_t right, std::int32_t merged) {
        const std::uint64_t key = key_of(left, right);
        const std::uint64_t hash = hash_of(key);
        const std::uint64_t bit = hash >> (shift_ - kFilterShift);
        filter_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
        std::size_t at = hash >> shift_;
        while (slots_[at] != kFree && slots_[at] >> kRankBits != key) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = key << kRankBits | merged_.size();
        merged_.push_back(merged);
    }

    Merge operator()(std::int32_t left, std::int32_t right) const {
        const std::uint64_t key = key_of(left, right);
        const std::uint64_t hash = hash_of(key);
        // Most neighbours do not merge, and the filter is small enough to stay in cache.
        const std::uint64_t bit = hash >> (shift_ - kFilterShift);
        if (!(filter_[bit >> 6] >> (bit & 63) & 1)) return kNoMerge;
        for (std::size_t at = hash >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
            const std::uint64_t slot = slots_[at];
            if (slot == kFree) return kNoMerge;
            if (slot >> kRankBits == key) {
                const auto rank = static_cast<std::uint32_t>(slot & kMaxPairs);
                return make_merge(rank, merged_[rank]);
            }
        }
    }

   private:
    static constexpr unsigned kSymbolBits = 21;
    static constexpr unsigned kRankBits = 22;
    static constexpr unsigned kFilterShift = 2;
    static constexpr std::size_t kFilterBits = std::size_t{1} << kFilterShift;  // a slot
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};                   // no rank is kMaxPairs

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << kSymbolBits | static_cast<std::uint32_t>(right);
    }
    static std::uint64_t hash_of(std::uint64_t key) { return key * 0x9E3779B97F4A7C15u; }

    unsigned shift_ = 60;
    std::vector<std::uint64_t> slots_;
    std::vector<std::uint64_t> filter_;  // Bloom filter: the bit at each pair's hash is set
    std::vector<std::int32_t> merged_;   // by rank
};

}  // namespace nmt_prep::bpe
