// Finds boundaries at which byte-level BPE can be split: if no token crosses the boundary between two characters, the
// two sides merge independently.
//
// A token crosses a boundary if its first part matches the end of the left character and its second part the beginning
// of the right character, both compared up to the shorter length. Tokens may contain parts of characters, so an end is
// a suffix of one to three bytes or the whole character, and a beginning a prefix or the whole character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/byte_hash.h"

namespace nmt_prep::bpe {

// A character of well-formed UTF-8: its bytes, first byte lowest, and their number.
struct Character {
    std::uint32_t bytes;
    std::uint32_t size;
    std::uint32_t point;  // kFourBytes if there are four

    static constexpr std::uint32_t kFourBytes = 0x10000;
};

// Reads the character at `at`. Requires well-formed UTF-8.
inline Character read_character(const std::uint8_t* at) {
    const std::uint32_t lead = at[0];
    if (lead < 0x80) return {lead, 1, lead};
    const std::uint32_t second = at[1];
    // The sum of all bytes' marker bits is subtracted at once.
    if (lead < 0xE0) return {lead | second << 8, 2, (lead << 6) + second - ((0xC0 << 6) + 0x80)};
    const std::uint32_t third = at[2];
    const std::uint32_t three = lead | second << 8 | third << 16;
    if (lead < 0xF0) return {three, 3, (lead << 12) + (second << 6) + third - ((0xE0 << 12) + (0x80 << 6) + 0x80)};
    return {three | std::uint32_t{at[3]} << 24, 4, Character::kFourBytes};
}

class CutTable {
   public:
    // `tokens`: all possible results of merges.
    explicit CutTable(const std::vector<std::string_view>& tokens);

    // False only if no token crosses the boundary between the two characters.
    bool may_be_crossed(const Character& left, const Character& right) const {
        const unsigned ways = ways_[left.point].as_left & ways_[right.point].as_right;
        // There is no branch on the existence of a way, since it would be mispredicted often.
        const unsigned crossed = ways & kWhole & holds(left.bytes, right.bytes);
        const unsigned in_part = ways & ~kWhole;
        return in_part == 0 ? crossed != 0 : crossed != 0 || may_cross_in_part(left, right, in_part);
    }

    // Prefetches the memory that `may_be_crossed` reads.
    void prefetch(const Character& left, const Character& right) const {
        __builtin_prefetch(&crossed_[bit(left.bytes, right.bytes) >> 6]);
    }

   private:
    // A token that crosses a boundary contains the whole left character (0) or its last 1 to 3 bytes, and the whole
    // right character or its first 1 to 3 bytes. There is a bit for each combination that occurs in tokens with a given
    // character on the left of the boundary, or on its right.
    struct Ways {
        std::uint16_t as_left = 0, as_right = 0;
    };
    static constexpr std::uint16_t way(std::uint32_t end, std::uint32_t begin) {
        return static_cast<std::uint16_t>(1u << (4 * end + begin));
    }
    static constexpr unsigned kWhole = 1;

    std::size_t bit(std::uint32_t left, std::uint32_t right) const {
        return (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u >> shift_;
    }
    // 1 if a token has these parts on the sides of a boundary, 0 otherwise; rarely also 1 without such a token.
    unsigned holds(std::uint32_t left, std::uint32_t right) const {
        const std::size_t at = bit(left, right);
        return crossed_[at >> 6] >> (at & 63) & 1;
    }
    bool may_cross_in_part(const Character& left, const Character& right, unsigned ways) const;

    std::vector<Ways> ways_;              // by code point; the last entry is for all characters of four bytes
    std::vector<std::uint64_t> crossed_;  // bits, by hash of the token parts on both sides of a boundary
    unsigned shift_ = 0;
};

}  // namespace nmt_prep::bpe
