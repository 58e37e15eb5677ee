// What two neighbouring symbols merge into: a hash table that is filled once and then read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe_merge.h"

namespace nmt_prep::bpe {

class PairTable {
   public:
    explicit PairTable(std::size_t pairs) {
        while ((std::size_t{1} << (64 - shift_)) < 2 * pairs) --shift_;
        slots_.assign(std::size_t{1} << (64 - shift_), Slot{});
    }

    // Sets what a pair merges into, for at most as many pairs as were announced.
    void set(std::int32_t left, std::int32_t right, Merge merge) {
        const std::uint64_t key = key_of(left, right);
        std::size_t at = place(key);
        while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = {key, merge};
    }

    Merge operator()(std::int32_t left, std::int32_t right) const {
        const std::uint64_t key = key_of(left, right);
        for (std::size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].key == key) return slots_[at].merge;
            if (slots_[at].key == kFree) return kNoMerge;
        }
    }

   private:
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};

    struct Slot {
        std::uint64_t key = kFree;
        Merge merge = kNoMerge;
    };

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    std::size_t place(std::uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> shift_; }

    unsigned shift_ = 60;
    std::vector<Slot> slots_;
};

}  // namespace nmt_prep::bpe
