#include "outputs/sequences.h"

#include <algorithm>
#include <stdexcept>

#include "outputs/row_end.h"

namespace nmt_prep {

FramedRows join_pairs(const IdColumn& sources, const IdColumn& targets, std::span<const std::int32_t> parts,
                      std::int32_t source_last, std::int32_t target_last) {
    sources.check();
    targets.check();
    if (sources.rows() != targets.rows()) throw std::invalid_argument("the sides have different numbers of rows");
    if (std::ranges::any_of(parts, [](std::int32_t part) { return part < kTargetRow; })) {
        throw std::invalid_argument("a part is a side or an id");
    }
    const std::size_t rows = sources.rows();
    FramedRows joined{nullptr, 0, {}};
    joined.offsets.reserve(rows + 1);
    joined.offsets.push_back(0);
    for (std::size_t index = 0; index < rows; ++index) {
        for (const std::int32_t part : parts) {
            joined.size += part == kSourceRow   ? without_last(sources.row(index), source_last).size()
                           : part == kTargetRow ? without_last(targets.row(index), target_last).size()
                                                : 1;
        }
        joined.offsets.push_back(static_cast<std::int64_t>(joined.size));
    }
    joined.values = std::make_unique_for_overwrite<std::int32_t[]>(joined.size);
    std::int32_t* to = joined.values.get();
    for (std::size_t index = 0; index < rows; ++index) {
        for (const std::int32_t part : parts) {
            if (part == kSourceRow) {
                to = std::ranges::copy(without_last(sources.row(index), source_last), to).out;
            } else if (part == kTargetRow) {
                to = std::ranges::copy(without_last(targets.row(index), target_last), to).out;
            } else {
                *to++ = part;
            }
        }
    }
    return joined;
}

}  // namespace nmt_prep
