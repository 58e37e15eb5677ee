#include "byte_bpe/ranks.h"

#include "bpe/last_merges.h"

namespace nmt_prep::byte_bpe {

std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens) {
    std::array<std::int32_t, 256> ids;
    ids.fill(-1);
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id].size() == 1) ids[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
    return ids;
}

std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll) {
    const std::array<std::int32_t, 256> byte_ids = ids_of_bytes(tokens);
    std::vector<std::int32_t> symbols;
    std::vector<std::int64_t> offsets{0};
    for (const std::string& token : tokens) {
        for (const char byte : token) symbols.push_back(byte_ids[static_cast<std::uint8_t>(byte)]);
        offsets.push_back(static_cast<std::int64_t>(symbols.size()));
    }
    const auto by_rank = [](std::int32_t, std::int32_t, std::int32_t id) {
        return bpe::make_merge(static_cast<std::uint32_t>(id), id);
    };
    return bpe::last_merges({symbols, offsets}, by_rank, poll);
}

}  // namespace nmt_prep::byte_bpe
