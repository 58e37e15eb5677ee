// How tokens come to be, and with it whether two of them stay apart as neighbours.
//
// What merges do left and right of a border is, as long as none crosses it, what they do on either side alone. Hence a
// text's tokens are, of all ways to cut it into tokens that merges make of their own bytes, the one where any two
// neighbours stay apart when they are on their own: who finds such a way need not merge.
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

    // Whether merges make the token of its own bytes, each later in rank than those that lead to it. (Otherwise they
    // may or may not make it: that is not followed up here.)
    bool makes(std::int32_t token) const { return splits_[static_cast<std::size_t>(token)].born != kNever; }

    // Whether two tokens, one after the other, remain the two. Requires that both are made. `whole_only`: that no token
    // crosses the border between them with less than the whole characters on both sides of it.
    bool stay_apart(const PairTable& pairs, std::int32_t left, std::int32_t right, bool whole_only) const {
        return stay_apart(pairs, left, right, UINT32_MAX, whole_only);
    }

   private:
    static constexpr std::uint32_t kNever = UINT32_MAX;

    // What a token is the merge of, and when: 0 for bytes, which no merge makes, else its rank + 1.
    struct Split {
        std::int32_t left = -1, right = -1;
        std::uint32_t born = kNever;
        bool one_character = true;  // or a part of one
    };

    // One of two without a branch: which one it is comes close to chance, and each wrong guess would cost more.
    static std::int32_t pick(bool first, std::int32_t one, std::int32_t other) {
        const std::int32_t mask = -static_cast<std::int32_t>(first);
        return (one & mask) | (other & ~mask);
    }

    // The same, where a merge of the two themselves counts if its rank is below `limit`.
    bool stay_apart(const PairTable& pairs, std::int32_t left, std::int32_t right, std::uint32_t limit,
                    bool whole_only) const {
        // Back in time, the token that was born last comes apart first. What meets at the border merges unless one of
        // the two has merged on its own side before; of the same merge left and right, the one on the left goes first.
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
