// Hash table from pairs of neighboring symbols to merges; filled once, then read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/merge.h"
#include "text/huge_pages.h"

namespace nmt_prep::bpe {

class PairTable {
   public:
    static constexpr unsigned kSymbolBits = 21;
    static constexpr std::size_t kMaxSymbols = std::size_t{1} << kSymbolBits;
    static constexpr std::size_t kMaxPairs = (std::size_t{1} << 22) - 1;

    // Requires the maximum number of pairs, at most kMaxPairs.
    explicit PairTable(std::size_t pairs) {
        while ((std::size_t{1} << (64 - shift_)) < 4 * pairs) --shift_;
        none_ = std::size_t{1} << (64 - shift_);
        slots_.resize(none_ + 2);
        filter_.assign(none_ * kFilterBits / 64, 0);
    }

    // Adds the pair of the next rank, from 0. A repeated pair gets the new rank.
    void add(std::int32_t left, std::int32_t right, std::int32_t merged) {
        set(left, right, make_merge(size_++, merged));
    }
    void set(std::int32_t left, std::int32_t right, Merge merge) {
        const std::uint64_t key = key_of(left, right);
        const std::uint64_t hash = hash_of(left, right);
        const std::uint64_t bit = filter_bit(hash);
        filter_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
        std::size_t at = bucket_of(hash >> shift_);
        while (slots_[at].merge != kNoMerge && slots_[at].key != key) at = after(at);
        slots_[at] = {key, merge};
        if (has_place(left, right)) direct_[place(left, right)] = slots_[at].merge;
    }

    // Pairs of the lowest symbols, which usually are the bytes, are also in a table by symbol.
    static bool has_place(std::int32_t left, std::int32_t right) {
        return (static_cast<std::uint32_t>(left) | static_cast<std::uint32_t>(right)) < kDirect;
    }
    Merge at_place(std::int32_t left, std::int32_t right) const { return direct_[place(left, right)]; }

    // A lookup in three steps, so that the steps of several lookups can overlap.
    struct Lookup {
        std::uint64_t key;
        std::uint64_t place;  // the hash; after `begin` the slot to read
    };

    // Prefetches the memory that `begin` reads.
    Lookup prepare(std::int32_t left, std::int32_t right) const {
        const std::uint64_t hash = hash_of(left, right);
        __builtin_prefetch(&filter_[filter_bit(hash) >> 6]);
        return {key_of(left, right), hash};
    }

    // Prefetches the memory that `finish` reads.
    void begin(Lookup& lookup) const {
        // By arithmetic, since compilers turn a choice into a branch, which would be mispredicted often.
        const std::size_t passed = 0 - std::size_t{passes(lookup.place)};
        lookup.place = none_ ^ (((lookup.place >> shift_) ^ none_) & passed);
        __builtin_prefetch(&slots_[lookup.place]);
    }

    Merge finish(const Lookup& lookup) const { return find(lookup.key, lookup.place); }

    // Prefetches the memory that a lookup reads.
    void prefetch(std::int32_t left, std::int32_t right) const {
        __builtin_prefetch(&slots_[hash_of(left, right) >> shift_]);
    }

    Merge operator()(std::int32_t left, std::int32_t right) const {
        const std::uint64_t hash = hash_of(left, right);
        // Most neighbors do not merge, and the filter is small enough to stay in cache.
        return passes(hash) ? find(key_of(left, right), hash >> shift_) : kNoMerge;
    }

   private:
    static constexpr unsigned kFilterShift = 1;
    static constexpr std::size_t kFilterBits = std::size_t{1} << kFilterShift;  // bits per slot

    static constexpr std::uint32_t kDirect = 256;

    static std::size_t place(std::int32_t left, std::int32_t right) {
        return static_cast<std::size_t>(left) * kDirect + static_cast<std::size_t>(right);
    }

    struct Slot {
        std::uint64_t key = 0;
        Merge merge = kNoMerge;  // kNoMerge in a free slot

        // The merge if the keys are equal, else kNoMerge.
        Merge merge_if(std::uint64_t other) const { return merge | (Merge{key == other} - 1); }
    };

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    static std::uint64_t hash_of(std::int32_t left, std::int32_t right) {
        const std::uint64_t both = std::uint64_t{static_cast<std::uint32_t>(left)} << kSymbolBits;
        return (both | static_cast<std::uint32_t>(right)) * 0x9E3779B97F4A7C15u;
    }
    std::uint64_t filter_bit(std::uint64_t hash) const { return hash >> (shift_ - kFilterShift); }
    bool passes(std::uint64_t hash) const {
        const std::uint64_t bit = filter_bit(hash);
        return (filter_[bit >> 6] >> (bit & 63) & 1) != 0;
    }
    // Slots are in buckets of two, and are compared without a branch, which would be mispredicted often.
    static std::size_t bucket_of(std::size_t at) { return at & ~std::size_t{1}; }
    std::size_t after(std::size_t at) const { return (at + 1) & (none_ - 1); }
    Merge find(std::uint64_t key, std::size_t at) const {
        at = bucket_of(at);
        const Slot& first = slots_[at];
        const Slot& second = slots_[at + 1];
        const Merge merge = first.merge_if(key) & second.merge_if(key);
        // Only kNoMerge has the highest bit. By arithmetic, without a branch on the existence of a merge.
        const bool is_after = ((merge & ~second.merge) >> 63) != 0;
        return is_after ? find_after(key, after(at + 1)) : merge;
    }
    // Continues the search if the first bucket is full of other pairs.
    Merge find_after(std::uint64_t key, std::size_t at) const {
        while (slots_[at].key != key && slots_[at].merge != kNoMerge) at = after(at);
        return slots_[at].merge;
    }

    unsigned shift_ = 59;   // at least 32 slots, so that the filter has a whole word
    std::size_t none_ = 0;  // the bucket that is always free
    std::uint32_t size_ = 0;
    std::vector<Merge> direct_ = std::vector<Merge>(std::size_t{kDirect} * kDirect, kNoMerge);
    LargeVector<Slot> slots_;            // slots, and the bucket `none_`
    LargeVector<std::uint64_t> filter_;  // Bloom filter: the bit at each pair's hash is set
};

}  // namespace nmt_prep::bpe
