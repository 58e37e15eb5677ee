// Where byte-level BPE can be cut: between two characters that no token crosses, the two sides merge on their own.
//
// A token crosses such a boundary if what it has before equals the end of the left character and what it has after
// the beginning of the right one, each compared as far as both reach. Tokens may hold parts of characters, so the
// ends that count are suffixes of one to three bytes or whole characters, and the beginnings likewise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "byte_hash.h"

namespace nmt_prep::bpe {

// A character of well-formed UTF-8: its bytes, first byte lowest, and how many they are.
struct Character {
    std::uint32_t bytes;
    std::uint32_t size;
};

// Reads the character at `at`. Requires well-formed UTF-8.
inline Character read_character(const std::uint8_t* at) {
    const std::uint32_t lead = at[0];
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xE0) return {lead | std::uint32_t{at[1]} << 8, 2};
    const std::uint32_t three = lead | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16;
    if (lead < 0xF0) return {three, 3};
    return {three | std::uint32_t{at[3]} << 24, 4};
}

class CutTable {
   public:
    // `tokens`: whatever a merge can result in.
    explicit CutTable(const std::vector<std::string_view>& tokens);

    // False only if no token crosses the boundary between the two; sometimes true without need.
    bool may_cross(const Character& left, const Character& right) const {
        const unsigned ends = ends_[slot(left)] & 0x0F;
        const unsigned begins = ends_[slot(right)] >> 4;
        if (ends == 0 || begins == 0) return false;
        if (ends == kWholeBit && begins == kWholeBit) return holds(left.bytes, right.bytes);
        return may_cross_in_part(left, right, ends, begins);
    }

   private:
    // How a token meets a character: 0 is the whole of it, 1 to 3 that many bytes. A set of these has a bit for each.
    static constexpr unsigned kWholeBit = 1;

    // Characters share a slot where they agree in what decides here: in 16 bits for those of up to three bytes.
    static std::size_t slot(const Character& character) {
        const std::uint32_t bytes = character.bytes;
        if (character.size == 1) return bytes;
        if (character.size == 2) return (bytes & 0x1F) << 6 | (bytes >> 8 & 0x3F);
        if (character.size == 3) return (bytes & 0x0F) << 12 | (bytes >> 8 & 0x3F) << 6 | (bytes >> 16 & 0x3F);
        return 0x10000 | (bytes >> 16 & 0x3F) << 6 | (bytes >> 24 & 0x3F);
    }

    std::size_t bit(std::uint32_t left, std::uint32_t right) const {
        return (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u >> shift_;
    }
    bool holds(std::uint32_t left, std::uint32_t right) const {
        const std::size_t at = bit(left, right);
        return crossed_[at >> 6] >> (at & 63) & 1;
    }
    bool may_cross_in_part(const Character& left, const Character& right, unsigned ends, unsigned begins) const;
    void add_ends(const std::unordered_set<std::uint32_t>& whole, const std::unordered_set<std::uint32_t>& parts,
                  bool suffixes);

    std::vector<std::uint8_t> ends_;      // by slot: set of ends in the lower half, of beginnings in the upper
    std::vector<std::uint64_t> crossed_;  // bits, by hash of the two parts that meet
    unsigned shift_ = 0;
};

}  // namespace nmt_prep::bpe
