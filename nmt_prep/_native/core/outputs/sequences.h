// One sequence of ids per pair, for training decoders: source and target with fixed ids around them.
#pragma once

#include <cstdint>
#include <span>

#include "records/framed_rows.h"

namespace nmt_prep {

// Parts of a sequence that are rows of the pair; other parts are fixed ids.
inline constexpr std::int32_t kSourceRow = -1;
inline constexpr std::int32_t kTargetRow = -2;

// Joins, for each pair, the parts in their order: kSourceRow, kTargetRow, or an id. The last id of a source is left out
// if it equals `source_last`, the last id of a target if it equals `target_last`; -1 keeps all ids. Throws
// std::invalid_argument for bad offsets, different numbers of rows, or an unknown part.
FramedRows join_pairs(const IdColumn& sources, const IdColumn& targets, std::span<const std::int32_t> parts,
                      std::int32_t source_last, std::int32_t target_last);

}  // namespace nmt_prep
