#include "byte_bpe/ranks.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bpe/merge.h"

namespace nmt_prep::byte_bpe {

std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens) {
    std::array<std::int32_t, 256> ids;
    ids.fill(-1);
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id].size() == 1) ids[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
    return ids;
}

std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty()) ids.emplace(tokens[id], static_cast<std::int32_t>(id));
    const std::array<std::int32_t, 256> byte_ids = ids_of_bytes(tokens);

    const auto id_of = [&](std::string_view bytes) {
        const auto found = ids.find(bytes);
        return found == ids.end() ? -1 : found->second;
    };
    std::vector<bpe::PairRule> merges;
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        const std::string& token = tokens[id];
        if (token.size() < 2) continue;
        if (id % 1024 == 0) poll();
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids[static_cast<std::uint8_t>(token[i])];
        if (std::ranges::find(symbols, -1) != symbols.end()) continue;
        // Applies all merges of the token but the last; the two remaining symbols are its halves.
        const auto others = [&](std::int32_t left, std::int32_t right) {
            const std::int32_t merged =
                id_of(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
            return merged < 0 || std::cmp_equal(merged, id)
                       ? bpe::kNoMerge
                       : bpe::make_merge(static_cast<std::uint32_t>(merged), merged);
        };
        if (merger.merge(symbols.data(), symbols.size(), others) == 2)
            merges.push_back({symbols[0], symbols[1], static_cast<std::int32_t>(id)});
    }
    return merges;
}

}  // namespace nmt_prep::byte_bpe
