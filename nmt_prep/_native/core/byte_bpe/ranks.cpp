#include "byte_bpe/ranks.h"

#include <algorithm>
#include <numeric>

#include "bpe/merge.h"
#include "bpe/pairs.h"

namespace nmt_prep::byte_bpe {

std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens) {
    std::array<std::int32_t, 256> ids;
    ids.fill(-1);
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id].size() == 1) ids[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
    return ids;
}

std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll) {
    std::vector<std::size_t> by_size(tokens.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::ranges::stable_sort(by_size, {}, [&](std::size_t id) { return tokens[id].size(); });
    const std::array<std::int32_t, 256> byte_ids = ids_of_bytes(tokens);

    // A merge within a token produces a shorter token, from the same two symbols as in the shorter token alone. So the
    // merges of all shorter tokens leave the two halves of a token.
    bpe::PairTable shorter(tokens.size());
    std::vector<bpe::PairRule> merges;
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        const std::string& token = tokens[by_size[i]];
        if (token.size() < 2) continue;
        if (i % 1024 == 0) poll();
        symbols.resize(token.size());
        for (std::size_t at = 0; at < token.size(); ++at) symbols[at] = byte_ids[static_cast<std::uint8_t>(token[at])];
        if (std::ranges::find(symbols, -1) != symbols.end()) continue;
        if (merger.merge(symbols.data(), symbols.size(), shorter) != 2) continue;
        const auto id = static_cast<std::int32_t>(by_size[i]);
        shorter.set(symbols[0], symbols[1], bpe::make_merge(static_cast<std::uint32_t>(id), id));
        merges.push_back({symbols[0], symbols[1], id});
    }
    std::ranges::sort(merges, {}, &bpe::PairRule::merged);
    return merges;
}

}  // namespace nmt_prep::byte_bpe
