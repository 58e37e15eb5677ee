// Symbols for characters with up to three bytes, so that merging can begin with characters instead of bytes.
//
// Merging inside a character first is exact unless a merge across its boundary has a better rank: at each step, every
// merge of an outermost symbol with an outer neighbor must have a higher rank than the step itself, and the final
// symbols must only merge outwards at higher ranks than all steps. In many scripts, the only common merge across a
// boundary joins a space and a first byte. So there are separate entries for characters after a space.
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
    static constexpr std::size_t kPadding = 2;  // symbols of an entry, copied together, though some may be unused

    // `bytes`: symbol of each byte, -1 for none. `rules`: merges in order of rank. `tokens`: texts by symbol. `pairs`:
    // table of the rules.
    CharacterTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
                   const std::vector<std::string>& tokens, const PairTable& pairs);

    // The symbols of a character that is merged by itself.
    struct Entry {
        std::int32_t symbols[3];
        std::uint8_t size = 0;
        // True if merging may begin with these symbols, for a character after a space ([1]) and for any other ([0]).
        // Otherwise merging must begin with the bytes.
        bool begins[2] = {false, false};
    };

    // Requires a code point below U+10000.
    const Entry& operator[](std::uint32_t point) const { return entries_[point]; }

   private:
    std::vector<Entry> entries_;  // by code point below U+10000
};

}  // namespace nmt_prep::bpe
