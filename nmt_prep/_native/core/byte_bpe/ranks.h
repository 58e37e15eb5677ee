// What tokens by id alone say: which of them are bytes, and, where ids are ranks, which merges they stand for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpe/splits.h"
#include "text/batch.h"

namespace nmt_prep::byte_bpe {

// Id of each byte, -1 where no token is that byte alone.
std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens);

// The merges that ranks (a token's id is its rank, as tiktoken has it) stand for: for each token that neighbours can
// merge into, the last merge on the way to it, in the order of ids.
std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll);

}  // namespace nmt_prep::byte_bpe
