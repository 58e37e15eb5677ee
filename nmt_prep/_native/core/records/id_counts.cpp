#include "records/id_counts.h"

#include <algorithm>

namespace nmt_prep {

bool count_ids(std::span<const std::int32_t> ids, std::span<std::int64_t> counts) {
    // Unsigned, a negative id is a large number. This loop compiles to vectors; the next one cannot.
    std::uint32_t largest = 0;
    for (const std::int32_t id : ids) largest = std::max(largest, static_cast<std::uint32_t>(id));
    if (!ids.empty() && largest >= counts.size()) return false;
    for (const std::int32_t id : ids) ++counts[static_cast<std::size_t>(id)];
    return true;
}

}  // namespace nmt_prep
