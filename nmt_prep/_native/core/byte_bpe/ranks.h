// Derives from a list of tokens which of them are single bytes and, if ids are ranks, the merges.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpe/splits.h"
#include "text/batch.h"

namespace nmt_prep::byte_bpe {

// Id of each byte, -1 if no token is that single byte.
std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens);

// The merges that are implied by ranks (a token's id is its rank, as in tiktoken): for each token that can result from
// merging neighbours, the last merge that leads to it, in the order of ids.
std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll);

}  // namespace nmt_prep::byte_bpe
