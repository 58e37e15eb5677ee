// Pairs of symbols as keys, and a table of their numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::sentencepiece {

inline constexpr std::uint64_t kPairFactor = 0x9E3779B97F4A7C15u;  // of hashes of pairs

inline std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
inline std::int32_t left_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
inline std::int32_t right_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xFFFFFFFFu); }

class PairNumbers {
   public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    explicit PairNumbers(std::size_t pairs = 0) { clear(pairs); }

    // Returns the number of a pair. If it has none, it gets this one.
    std::uint32_t number(std::uint64_t key, std::uint32_t if_new) {
        const std::size_t at = slot_of(key);
        if (slots_[at].number != kNone) return slots_[at].number;
        slots_[at] = {key, if_new};
        if (4 * ++used_ > 3 * slots_.size()) grow();
        return if_new;
    }

    // Begins to load what `number` of this pair needs.
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[key * kPairFactor >> shift_], 1); }

   private:
    struct Slot {
        std::uint64_t key;
        std::uint32_t number;
    };

    std::size_t slot_of(std::uint64_t key) const {
        std::size_t at = key * kPairFactor >> shift_;
        while (slots_[at].number != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void clear(std::size_t pairs) {
        const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * pairs, 1024));
        slots_.assign(size, {0, kNone});
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
    }
    void grow() {
        std::vector<Slot> old;
        old.swap(slots_);
        clear(old.size());
        for (const Slot& slot : old)
            if (slot.number != kNone) slots_[slot_of(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    unsigned shift_ = 0;
};

}  // namespace nmt_prep::sentencepiece
