// Counts of the ids in rows.
#pragma once

#include <cstdint>
#include <span>

namespace nmt_prep {

// Adds the occurrence count of each id to counts[id]. Returns false, and adds nothing, if an id is outside of
// counts.
bool count_ids(std::span<const std::int32_t> ids, std::span<std::int64_t> counts);

}  // namespace nmt_prep
