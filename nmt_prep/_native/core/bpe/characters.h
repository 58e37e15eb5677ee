// Characters of up to three bytes as symbols: merging begins where their bytes have merged already.
//
// That is exact for a character of which no byte, and no symbol on the way, can be drawn across its border before the
// character is done: every merge with an outer neighbour that its outermost symbols could make at a step has a higher
// rank than the step's own, and what is left in the end merges outwards only at higher ranks than all steps had.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bpe/pairs.h"
#include "bpe/splits.h"

namespace nmt_prep::bpe {

class CharacterTable {
   public:
    static constexpr std::size_t kPadding = 2;  // symbols of an entry, copied whole, that may count for nothing

    // `bytes`: symbol of each byte, -1 for none. `rules` in the order of their rank, `tokens` by symbol, `pairs`
    // and `splits` made of the rules.
    CharacterTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
                   const std::vector<std::string>& tokens, const PairTable& pairs, const SplitTable& splits);

    // What a character on its own merges into.
    struct Entry {
        std::int32_t symbols[3];
        std::uint8_t size = 0;
        bool begins = false;   // whether merging with others may begin with these symbols; else with the bytes
        bool is_made = false;  // whether all of these are tokens that the splits know
    };

    // Requires a code point below U+10000.
    const Entry& operator[](std::uint32_t point) const { return entries_[point]; }

   private:
    std::vector<Entry> entries_;  // by code point below U+10000
};

}  // namespace nmt_prep::bpe
