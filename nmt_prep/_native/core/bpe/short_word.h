// A short word while it is merged: its symbols, by the places where they begin among the initial symbols, and for each
// symbol the priority of the merge with the next one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nmt_prep::bpe {

class ShortWord {
   public:
    static constexpr std::size_t kMaxSymbols = 32;
    static constexpr std::uint32_t kMaxPriority = UINT32_MAX / kMaxSymbols - 1;

    // The priority and the place of a merge in one number. The merge with the lowest key goes first.
    using Key = std::int32_t;

    // Requires 2 <= size <= kMaxSymbols.
    explicit ShortWord(std::size_t size)
        : begins_((std::uint64_t{2} << size) - 1), blocks_((size + kLanes - 2) / kLanes) {
        std::fill_n(keys_.begin(), blocks_ * kLanes, kNone);
    }

    // Sets the priority of a place's merge; UINT32_MAX for none.
    void set(std::size_t place, std::uint32_t priority) {
        const auto key = static_cast<std::uint32_t>(priority * kMaxSymbols + place);
        keys_[place] = static_cast<Key>(key ^ kSign);
    }
    void restore(Key key) { keys_[place_of(key)] = key; }
    void remove(std::size_t place) { keys_[place] = kNone; }

    // Returns the key of the next merge; without one, a key that is not a merge.
    Key lowest() const {
        Lanes lowest;
        std::memcpy(&lowest, keys_.data(), sizeof lowest);
        for (std::size_t i = 1; i < blocks_; ++i) {
            Lanes other;
            std::memcpy(&other, keys_.data() + i * kLanes, sizeof other);
            lowest = other < lowest ? other : lowest;
        }
        const Lanes swapped{lowest[2], lowest[3], lowest[0], lowest[1]};
        lowest = swapped < lowest ? swapped : lowest;
        return std::min(lowest[0], lowest[1]);
    }
    static bool is_merge(Key key) { return key < kLowestNone; }
    static std::size_t place_of(Key key) { return static_cast<std::uint32_t>(key) % kMaxSymbols; }

    // The places of the next and the previous symbol; the number of initial symbols if there is no next one.
    std::size_t after(std::size_t place) const {
        return static_cast<std::size_t>(std::countr_zero(begins_ & (~std::uint64_t{1} << place)));
    }
    std::size_t before(std::size_t place) const {
        return static_cast<std::size_t>(std::bit_width(begins_ & ((std::uint64_t{1} << place) - 1))) - 1;
    }

    // Joins the symbol at a place to the previous symbol.
    void join(std::size_t place) {
        begins_ ^= std::uint64_t{1} << place;
        remove(place);
    }

    // Moves the symbols together, and returns their number.
    std::size_t pack(std::int32_t* symbols) const {
        std::size_t count = 0;
        for (std::uint64_t left = begins_; (left & (left - 1)) != 0; left &= left - 1)
            symbols[count++] = symbols[std::countr_zero(left)];
        return count;
    }

   private:
    using Lanes = Key __attribute__((vector_size(16)));
    static constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(Key);

    // The sign bit is flipped in each key, so that signed comparisons order unsigned numbers.
    static constexpr std::uint32_t kSign = std::uint32_t{1} << 31;
    // Keys without a merge begin here.
    static constexpr Key kLowestNone = static_cast<Key>((kMaxPriority + 1) * kMaxSymbols ^ kSign);
    static constexpr Key kNone = static_cast<Key>(UINT32_MAX ^ kSign);

    std::uint64_t begins_;  // a bit for each beginning, and for the end of the last symbol
    std::size_t blocks_;    // blocks of keys
    std::array<Key, kMaxSymbols> keys_;
};

}  // namespace nmt_prep::bpe
