#include "bpe/cuts.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <unordered_set>

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

// The part of a character that belongs to a token, or the whole character (`size` 0).
struct Part {
    std::uint32_t bytes = 0;
    std::uint32_t size = 0;
    bool possible = false;  // possible in well-formed text
};

// The last character of `before`, or its last 1 to 3 bytes if `before` begins inside this character.
Part last_part(std::string_view before) {
    std::uint32_t size = 1;
    while (size < std::min<std::size_t>(before.size(), 4) && continues(before[before.size() - size])) ++size;
    const std::string_view part = before.substr(before.size() - size);
    if (continues(part[0])) return {pack(part), size, size < 4};
    return {pack(part), 0, size == size_from_lead(static_cast<std::uint8_t>(part[0]))};
}

// The first character of `after`, or only its first bytes if `after` ends inside that character.
Part first_part(std::string_view after) {
    const std::uint32_t full = size_from_lead(static_cast<std::uint8_t>(after[0]));
    std::uint32_t size = 1;
    while (size < std::min<std::size_t>(after.size(), full) && continues(after[size])) ++size;
    return {pack(after.substr(0, size)), size == full ? 0 : size, size == full || size == after.size()};
}

std::uint32_t suffix(const Character& character, std::uint32_t size) {
    return size == 0 ? character.bytes : character.bytes >> (8 * (character.size - size));
}

std::uint32_t prefix(const Character& character, std::uint32_t size) {
    return size == 0 ? character.bytes : character.bytes & ((1u << (8 * size)) - 1);
}

// The code point of a whole Character.
std::uint32_t point_of(std::uint32_t bytes) {
    const std::uint8_t each[4] = {static_cast<std::uint8_t>(bytes), static_cast<std::uint8_t>(bytes >> 8),
                                  static_cast<std::uint8_t>(bytes >> 16), static_cast<std::uint8_t>(bytes >> 24)};
    return read_character(each).point;
}

// Calls visit(point) for characters that end with a part of one to three bytes.
template <class Visit>
void for_each_ending(const Part& part, Visit&& visit) {
    visit(Character::kFourBytes);
    if (part.size > 2) return;
    const std::uint32_t last = part.bytes >> (8 * (part.size - 1)) & 0x3F;
    const std::uint32_t low = part.size == 1 ? last : (part.bytes & 0x3F) << 6 | last;
    const std::uint32_t step = 1u << (6 * part.size);
    for (std::uint32_t point = low; point < Character::kFourBytes; point += step)
        if (point >= (part.size == 1 ? 0x80u : 0x800u)) visit(point);
}

// Calls visit(point) for characters that begin with a part of one to three bytes.
template <class Visit>
void for_each_beginning(const Part& part, Visit&& visit) {
    visit(Character::kFourBytes);
    const std::uint32_t lead = part.bytes & 0xFF;
    if (part.size > 2 || lead >= 0xF0) return;
    const std::uint32_t high = lead < 0xE0 ? lead & 0x1F : (lead & 0x0F) << 6 | (part.bytes >> 8 & 0x3F);
    const std::uint32_t count = lead >= 0xE0 && part.size == 1 ? 0x1000 : 0x40;
    for (std::uint32_t low = 0; low < count; ++low) visit((high << 6) + low);
}

}  // namespace

CutTable::CutTable(const std::vector<std::string_view>& tokens) : ways_(Character::kFourBytes + 1) {
    const unsigned bits = std::clamp<unsigned>(std::bit_width(tokens.size() * 16), 12, 24);
    shift_ = 64 - bits;
    crossed_.assign((std::size_t{1} << bits) / 64, 0);
    std::unordered_set<std::uint64_t> known;    // added parts of characters, with their ways
    std::bitset<std::size_t{128} * 128> ascii;  // added pairs of ASCII characters
    for (const std::string_view token : tokens) {
        for (std::size_t at = 1; at < token.size(); ++at) {
            if (continues(token[at])) continue;
            const auto before = static_cast<std::uint8_t>(token[at - 1]), after = static_cast<std::uint8_t>(token[at]);
            if ((before | after) < 128) {
                const std::size_t pair = std::size_t{before} * 128 + after;
                if (ascii[pair]) continue;
                ascii[pair] = true;
            }
            const Part left = last_part(token.substr(0, at));
            const Part right = first_part(token.substr(at));
            if (!left.possible || !right.possible) continue;
            const std::size_t meeting = bit(left.bytes, right.bytes);
            crossed_[meeting >> 6] |= std::uint64_t{1} << (meeting & 63);
            const std::uint16_t met = way(left.size, right.size);
            const auto as_left = [&](std::uint32_t point) { ways_[point].as_left |= met; };
            const auto as_right = [&](std::uint32_t point) { ways_[point].as_right |= met; };
            if (left.size == 0)
                as_left(point_of(left.bytes));
            else if (known.insert(std::uint64_t{met} << 32 | left.bytes).second)
                for_each_ending(left, as_left);
            if (right.size == 0)
                as_right(point_of(right.bytes));
            else if (known.insert(std::uint64_t{met} << 32 | right.bytes).second)
                for_each_beginning(right, as_right);
        }
    }
}

bool CutTable::may_cross_in_part(const Character& left, const Character& right, unsigned ways) const {
    for (; ways != 0; ways &= ways - 1) {
        const auto met = static_cast<std::uint32_t>(std::countr_zero(ways));
        const std::uint32_t end = met / 4;
        const std::uint32_t begin = met % 4;
        if (end < left.size && begin < right.size && holds(suffix(left, end), prefix(right, begin)) != 0) return true;
    }
    return false;
}

}  // namespace nmt_prep::bpe
