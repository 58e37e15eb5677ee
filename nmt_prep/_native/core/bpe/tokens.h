// Lookup of tokens of two or more whole characters, by a key that is extended with each character of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bpe/cuts.h"

namespace nmt_prep::bpe {

class TokenTable {
   public:
    // Key of a sequence of characters. Up to three below U+10000, none of them NUL, are encoded by their code points;
    // all other keys have the highest bit set, and may collide.
    using Key = std::uint64_t;

    // Extends a key by one character; the key of the empty sequence is 0.
    static Key extend(Key key, const Character& next) {
        if (key < kFull && next.point - 1 < Character::kFourBytes - 1) return key << 16 | next.point;
        return (key ^ next.bytes) * kOdd | kMixed;
    }

    // `tokens`: by symbol; only those with `counts` set are used.
    template <class Counts>
    TokenTable(const std::vector<std::string>& tokens, const Counts& counts) {
        make_room(tokens.size());
        for (std::size_t symbol = 0; symbol < tokens.size(); ++symbol)
            if (counts(symbol)) add(tokens[symbol], static_cast<std::int32_t>(symbol));
    }

    // True if a token can begin with a character.
    bool begins(const Character& character) const { return beginnings_[character.point] != 0; }

    // Whether a sequence can be a token, and whether longer tokens can begin with it: certainly not, or perhaps.
    struct Hint {
        bool token, longer;
    };
    Hint hint(Key key) const {
        const std::size_t at = hint_place(key);
        const std::uint64_t bits = hints_[at / 32] >> (2 * (at % 32));
        return {(bits & kToken) != 0, (bits & kLonger) != 0};
    }

    // Prefetches the memory that `find` reads.
    void prefetch(Key key) const { __builtin_prefetch(&slots_[place(key)]); }

    // The symbol of a text, -1 if it is not a token.
    std::int32_t find(Key key, const std::uint8_t* text, std::size_t size) const {
        for (std::size_t at = place(key); slots_[at].symbol >= 0; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.key == key && (key < kMixed || is_text(slot.bytes, text, size))) return slot.symbol;
        }
        return -1;
    }

   private:
    static constexpr Key kFull = Key{1} << 32;  // from here on there are three characters
    static constexpr Key kMixed = Key{1} << 63;
    static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
    static constexpr unsigned kHintShift = 3;  // hints a slot
    static constexpr std::uint64_t kToken = 1, kLonger = 2;

    struct Slot {
        Key key = 0;
        std::int32_t symbol = -1;  // free
        std::uint32_t bytes = 0;   // offset of its size and bytes in `bytes_`, unless the key is exact
    };

    std::size_t place(Key key) const { return key * kOdd >> shift_; }
    std::size_t hint_place(Key key) const { return key * kOdd >> (shift_ - kHintShift); }
    bool is_text(std::uint32_t bytes, const std::uint8_t* text, std::size_t size) const {
        std::uint32_t known;
        std::memcpy(&known, &bytes_[bytes], sizeof known);
        return known == size && std::memcmp(&bytes_[bytes + sizeof known], text, size) == 0;
    }
    void make_room(std::size_t tokens);
    void add(const std::string& token, std::int32_t symbol);
    void add_hint(Key key, std::uint64_t bits);

    std::vector<std::uint8_t> beginnings_ = std::vector<std::uint8_t>(Character::kFourBytes + 1, 0);  // by code point
    std::vector<Slot> slots_;
    std::vector<std::uint64_t> hints_;  // Bloom filter with two bits at each key's hash
    std::vector<std::uint8_t> bytes_;
    unsigned shift_ = 0;
};

}  // namespace nmt_prep::bpe
