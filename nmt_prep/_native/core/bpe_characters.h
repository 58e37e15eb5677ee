// Characters of two and three bytes as symbols: merging begins where their bytes have merged already.
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

#include "bpe_pairs.h"

namespace nmt_prep::bpe {

struct PairRule {
    std::int32_t left, right, merged;
};

class CharacterTable {
   public:
    static constexpr std::size_t kPadding = 2;  // symbols of an entry, copied whole, that may count for nothing

    // `bytes`: symbol of each byte, -1 for none. `rules` in the order of their rank, `tokens` by symbol, `pairs` made of
    // the rules.
    CharacterTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
                   const std::vector<std::string>& tokens, const PairTable& pairs);

    // What a character on its own merges into.
    struct Entry {
        std::int32_t symbols[3];
        std::uint8_t size;
        bool begins;  // whether merging with others may begin with these symbols; else with the bytes
    };

    // Requires a character of two or three bytes in well-formed UTF-8.
    const Entry& operator()(const std::uint8_t* at) const {
        const std::uint32_t lead = at[0];
        const std::uint32_t point = lead < 0xE0
                                        ? (lead & 0x1F) << 6 | (at[1] & 0x3Fu)
                                        : (lead & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        return entries_[point];
    }

   private:
    std::vector<Entry> entries_;  // by code point below U+10000
};

}  // namespace nmt_prep::bpe
