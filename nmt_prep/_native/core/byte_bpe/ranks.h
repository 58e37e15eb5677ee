// Derives byte IDs from a token list, and the merges from ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpe/splits.h"
#include "text/batch.h"

namespace nmt_prep::byte_bpe {

// Id of each byte, -1 for a byte without a token.
std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens);

// The merges that ranks imply, if the id of a token is its rank, as in tiktoken: for each token that merges can
// produce, the last merge on the way to it, in order of ids.
std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll);

}  // namespace nmt_prep::byte_bpe
