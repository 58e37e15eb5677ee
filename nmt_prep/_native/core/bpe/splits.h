// The merge that produces each token, and a test whether two neighbouring tokens would merge.
//
// Merges on the two sides of a boundary are independent as long as none crosses it. Hence any segmentation into tokens
// that merges produce from their own bytes, and whose neighbours would not merge, is the BPE result. It can be found
// without merging.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bpe/pairs.h"

namespace nmt_prep::bpe {

struct PairRule {
    std::int32_t left, right, merged;
};

class SplitTable {
   public:
    // `bytes`: symbol of each byte, -1 for none. `rules` in the order of their rank, `tokens` by symbol, `pairs` made
    // of the rules.
    SplitTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
               const std::vector<std::string>& tokens, const PairTable& pairs);

    // True if merges produce the token from its own bytes, each with a higher rank than those that lead to it.
    // (Otherwise they may or may not produce it; this class does not decide that.)
    bool makes(std::int32_t token) const { return splits_[static_cast<std::size_t>(token)].born != kNever; }

    // True if two neighbouring tokens do not merge. Requires that merges produce both. `whole_only`: no token crosses
    // the boundary between them with less than the whole characters on both sides.
    bool stay_apart(const PairTable& pairs, std::int32_t left, std::int32_t right, bool whole_only) const {
        return stay_apart(pairs, left, right, UINT32_MAX, whole_only);
    }

   private:
    static constexpr std::uint32_t kNever = UINT32_MAX;

    // The two halves of a token, and the time of their merge: 0 for bytes, else rank + 1.
    struct Split {
        std::int32_t left = -1, right = -1;
        std::uint32_t born = kNever;
        bool one_character = true;  // or a part of one
    };

    // Selects one of two without a branch: the choice is nearly random, and mispredictions would cost more.
    static std::int32_t pick(bool first, std::int32_t one, std::int32_t other) {
        const std::int32_t mask = -static_cast<std::int32_t>(first);
        return (one & mask) | (other & ~mask);
    }

    // The same, but a merge of the two themselves only counts if its rank is below `limit`.
    bool stay_apart(const PairTable& pairs, std::int32_t left, std::int32_t right, std::uint32_t limit,
                    bool whole_only) const {
        // Undoes merges in reverse order: the token that was merged last is split first. The symbols that meet at the
        // boundary merge unless one of them merged on its own side earlier; if the same merge occurs left and right,
        // the left one goes first.
        while (merge_priority(pairs(left, right)) >= limit) {
            const Split& before = splits_[static_cast<std::size_t>(left)];
            const Split& after = splits_[static_cast<std::size_t>(right)];
            const bool is_left = before.born > after.born;
            const std::uint32_t born = std::max(before.born, after.born);
            const int one_character = pick(is_left, before.one_character, after.one_character);
            if ((born == 0) | (whole_only & one_character)) return true;
            limit = born - is_left;
            left = pick(is_left, before.right, left);
            right = pick(is_left, right, after.left);
        }
        return false;
    }

    std::vector<Split> splits_;  // by token
};

}  // namespace nmt_prep::bpe
