// The merge that produces each token.
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
    // `bytes`: symbol of each byte, -1 for none. `rules`: merges in order of rank. `tokens`: texts by symbol. `pairs`:
    // table of the rules.
    SplitTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
               const std::vector<std::string>& tokens, const PairTable& pairs);

    // True if merges produce the token from its bytes, each merge with a higher rank than the merges before it. False
    // otherwise, even if other merges may produce the token.
    bool makes(std::int32_t token) const { return splits_[static_cast<std::size_t>(token)].born != kNever; }

   private:
    static constexpr std::uint32_t kNever = UINT32_MAX;

    // The two halves of a token, and the time of their merge: 0 for bytes, else rank + 1.
    struct Split {
        std::int32_t left = -1, right = -1;
        std::uint32_t born = kNever;
    };

    // Selects one of two numbers without a branch, since the choice is nearly random and mispredictions would cost
    // more.
    static std::int32_t pick(bool first, std::int32_t one, std::int32_t other) {
        const std::int32_t mask = -static_cast<std::int32_t>(first);
        return (one & mask) | (other & ~mask);
    }

    // True if no merge crosses the boundary of two neighboring tokens before both are complete. Requires that merges
    // produce both tokens.
    bool stay_apart(const PairTable& pairs, std::int32_t left, std::int32_t right) const {
        // Undoes merges in reverse order: the token that was merged last is split first. The two symbols at the
        // boundary merge, unless one of them merges on its side earlier. Of equal merges on both sides, the left one
        // goes first.
        std::uint32_t limit = 0;  // rank of the last merge that was undone
        while (merge_priority(pairs(left, right)) >= limit) {
            const Split& before = splits_[static_cast<std::size_t>(left)];
            const Split& after = splits_[static_cast<std::size_t>(right)];
            const bool is_left = before.born > after.born;
            const std::uint32_t born = std::max(before.born, after.born);
            if (born == 0) return true;
            limit = born - is_left;
            left = pick(is_left, before.right, left);
            right = pick(is_left, right, after.left);
        }
        return false;
    }

    std::vector<Split> splits_;  // by token
};

}  // namespace nmt_prep::bpe
