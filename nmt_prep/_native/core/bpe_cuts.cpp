#include "bpe_cuts.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace nmt_prep::bpe {
namespace {

bool continues(std::uint32_t byte) { return (byte & 0xC0) == 0x80; }

std::uint32_t size_from_lead(std::uint32_t lead) {
    return lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

std::uint32_t pack(std::string_view bytes) {
    std::uint32_t packed = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        packed |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
    return packed;
}

// A part of a character: its bytes. Beginnings show by their lead byte that they are not whole; suffixes by having none.
struct Part {
    std::uint32_t bytes = 0;
    bool whole = false;
    bool possible = false;  // in well-formed text
};

// What `before` requires of the character that ends with it.
Part last_part(std::string_view before) {
    std::size_t size = 1;
    while (size < std::min<std::size_t>(before.size(), 4) && continues(before[before.size() - size])) ++size;
    const std::string_view part = before.substr(before.size() - size);
    if (continues(part[0])) return {pack(part), false, size < 4};
    return {pack(part), true, size == size_from_lead(static_cast<std::uint8_t>(part[0]))};
}

// What `after` requires of the character that begins it.
Part first_part(std::string_view after) {
    const std::size_t full = size_from_lead(static_cast<std::uint8_t>(after[0]));
    std::size_t size = 1;
    while (size < std::min(after.size(), full) && continues(after[size])) ++size;
    return {pack(after.substr(0, size)), size == full, size == full || size == after.size()};
}

std::uint32_t suffix(const Character& character, std::uint32_t size) {
    return character.bytes >> (8 * (character.size - size));
}

std::uint32_t prefix(const Character& character, std::uint32_t size) {
    return character.bytes & ((1u << (8 * size)) - 1);
}

Character encode(std::uint32_t point) {
    if (point < 0x80) return {point, 1};
    if (point < 0x800) return {0xC0 | point >> 6 | (0x80 | (point & 0x3F)) << 8, 2};
    return {0xE0 | point >> 12 | (0x80 | (point >> 6 & 0x3F)) << 8 | (0x80 | (point & 0x3F)) << 16, 3};
}

}  // namespace

CutTable::CutTable(const std::vector<std::string_view>& tokens) : ends_(0x11000, 0) {
    std::unordered_set<std::uint32_t> whole_ends, part_ends, whole_begins, part_begins;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> meetings;
    for (const std::string_view token : tokens) {
        for (std::size_t at = 1; at < token.size(); ++at) {
            if (continues(token[at])) continue;
            const Part left = last_part(token.substr(0, at));
            const Part right = first_part(token.substr(at));
            if (!left.possible || !right.possible) continue;
            meetings.emplace_back(left.bytes, right.bytes);
            (left.whole ? whole_ends : part_ends).insert(left.bytes);
            (right.whole ? whole_begins : part_begins).insert(right.bytes);
        }
    }
    std::sort(meetings.begin(), meetings.end());
    meetings.erase(std::unique(meetings.begin(), meetings.end()), meetings.end());
    const unsigned bits = std::clamp<unsigned>(std::bit_width(meetings.size() * 16), 12, 24);
    shift_ = 64 - bits;
    crossed_.assign((std::size_t{1} << bits) / 64, 0);
    for (const auto& [left, right] : meetings) {
        const std::size_t at = bit(left, right);
        crossed_[at >> 6] |= std::uint64_t{1} << (at & 63);
    }
    add_ends(whole_ends, part_ends, true);
    add_ends(whole_begins, part_begins, false);
}

void CutTable::add_ends(const std::unordered_set<std::uint32_t>& whole, const std::unordered_set<std::uint32_t>& parts,
                        bool suffixes) {
    const unsigned shift = suffixes ? 0 : 4;
    for (std::uint32_t point = 0; point < 0x10000; ++point) {
        const Character character = encode(point);
        unsigned kinds = whole.contains(character.bytes) ? kWholeBit : 0;
        for (std::uint32_t size = 1; size < character.size; ++size)
            if (parts.contains(suffixes ? suffix(character, size) : prefix(character, size))) kinds |= 1u << size;
        ends_[slot(character)] |= static_cast<std::uint8_t>(kinds << shift);
    }
    // Slots of characters of four bytes are shared, so they take every kind there is.
    const unsigned kinds = (whole.empty() ? 0 : kWholeBit) | (parts.empty() ? 0 : 0x0E);
    for (std::size_t at = 0x10000; at < ends_.size(); ++at) ends_[at] |= static_cast<std::uint8_t>(kinds << shift);
}

bool CutTable::may_cross_in_part(const Character& left, const Character& right, unsigned ends, unsigned begins) const {
    for (std::uint32_t end = 0; end < left.size; ++end) {
        if (!(ends >> end & 1)) continue;
        const std::uint32_t before = end == 0 ? left.bytes : suffix(left, end);
        for (std::uint32_t begin = 0; begin < right.size; ++begin) {
            if (!(begins >> begin & 1)) continue;
            if (holds(before, begin == 0 ? right.bytes : prefix(right, begin))) return true;
        }
    }
    return false;
}

}  // namespace nmt_prep::bpe
