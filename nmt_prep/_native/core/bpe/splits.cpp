#include "bpe/splits.h"

#include <algorithm>

namespace nmt_prep::bpe {

SplitTable::SplitTable(const std::array<std::int32_t, 256>& bytes, const std::vector<PairRule>& rules,
                       const std::vector<std::string>& tokens, const PairTable& pairs)
    : splits_(tokens.size()) {
    for (const std::int32_t byte : bytes)
        if (byte >= 0) splits_[static_cast<std::size_t>(byte)].born = 0;
    for (std::uint32_t rank = 0; rank < rules.size(); ++rank) {
        const auto [left, right, merged] = rules[rank];
        if (!makes(left) || !makes(right) || makes(merged)) continue;
        if (merge_priority(pairs(left, right)) != rank) continue;  // the pair occurs again later, and counts there
        const std::string& token = tokens[static_cast<std::size_t>(merged)];
        const std::string& begin = tokens[static_cast<std::size_t>(left)];
        const std::string& end = tokens[static_cast<std::size_t>(right)];
        if (token.size() != begin.size() + end.size() || !token.starts_with(begin) || !token.ends_with(end)) continue;
        if (!stay_apart(pairs, left, right)) continue;
        splits_[static_cast<std::size_t>(merged)] = {left, right, rank + 1};
    }
}

}  // namespace nmt_prep::bpe
