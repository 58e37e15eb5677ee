#include "bpe/characters.h"

#include <algorithm>
#include <string>

#include "text/utf8.h"

namespace nmt_prep::bpe {
namespace {

// The lowest rank of the merges that join a symbol to a symbol outside of its character: to one on the right, to one on
// the left, and to one on the left that is not a space.
struct LowestRanks {
    std::vector<std::uint32_t> as_left, as_right, as_right_of_others;

    LowestRanks(const std::vector<PairRule>& rules, const std::vector<std::string>& tokens)
        : as_left(tokens.size(), UINT32_MAX), as_right(as_left), as_right_of_others(as_left) {
        for (std::uint32_t rank = 0; rank < rules.size(); ++rank) {
            // The next character does not begin with a continuation byte.
            if ((tokens[static_cast<std::size_t>(rules[rank].right)][0] & 0xC0) == 0x80) continue;
            const auto lower = [rank](std::uint32_t& lowest) { lowest = std::min(lowest, rank); };
            lower(as_left[static_cast<std::size_t>(rules[rank].left)]);
            lower(as_right[static_cast<std::size_t>(rules[rank].right)]);
            if (tokens[static_cast<std::size_t>(rules[rank].left)] != " ")
                lower(as_right_of_others[static_cast<std::size_t>(rules[rank].right)]);
        }
    }
    // True if every merge across the boundary of a character with these outermost symbols has a rank above `rank`.
    bool outside_later(std::int32_t first, std::int32_t last, std::uint32_t rank, bool after_space) const {
        const std::vector<std::uint32_t>& before = after_space ? as_right : as_right_of_others;
        return before[static_cast<std::size_t>(first)] > rank && as_left[static_cast<std::size_t>(last)] > rank;
    }
};

CharacterTable::Entry merge_alone(const std::string& character, const std::array<std::int32_t, 256>& bytes,
                                  const LowestRanks& lowest, const PairTable& pairs) {
    CharacterTable::Entry entry{{0, 0, 0}, static_cast<std::uint8_t>(character.size()), {true, true}};
    std::int32_t* const symbols = entry.symbols;
    const auto require_later = [&](std::uint32_t rank) {
        for (const bool after_space : {false, true})
            entry.begins[after_space] &= lowest.outside_later(symbols[0], symbols[entry.size - 1], rank, after_space);
    };
    for (std::size_t i = 0; i < character.size(); ++i) {
        symbols[i] = bytes[static_cast<std::uint8_t>(character[i])];
        if (symbols[i] < 0) return {};
    }
    std::uint32_t highest = 0;
    bool merged = false;
    while (entry.size > 1) {
        Merge best = kNoMerge;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < entry.size; ++i) {
            const Merge merge = pairs(symbols[i], symbols[i + 1]);
            if (merge_priority(merge) < merge_priority(best)) {
                best = merge;
                at = i;
            }
        }
        if (best == kNoMerge) break;
        const std::uint32_t rank = merge_priority(best);
        require_later(rank);
        highest = std::max(highest, rank);
        merged = true;
        symbols[at] = merge_symbol(best);
        std::copy(symbols + at + 2, symbols + entry.size, symbols + at + 1);
        --entry.size;
    }
    if (merged) require_later(highest);
    return entry;
}

}  // namespace

CharacterTable::CharacterTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
                               const std::vector<std::string>& tokens, const PairTable& pairs)
    : entries_(0x10000) {
    const LowestRanks lowest(rules, tokens);
    std::string character;
    for (char32_t point = 0; point < entries_.size(); ++point) {
        character.clear();
        append_utf8(character, point);
        entries_[point] = merge_alone(character, bytes, lowest, pairs);
    }
}

}  // namespace nmt_prep::bpe
