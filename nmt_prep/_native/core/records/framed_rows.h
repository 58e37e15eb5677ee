// Adds the same ids before and after every row of a column, such as a tag and the end of the sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "records/column.h"

namespace nmt_prep {

// Rows of ids that own their memory; `size` counts the values.
struct FramedRows {
    std::unique_ptr<std::int32_t[]> values;
    std::size_t size;
    std::vector<std::int64_t> offsets;
};

// Copies the rows, with `before` and `after` around each of them. Throws std::invalid_argument unless the offsets
// ascend from at least 0 to at most the number of values.
FramedRows frame_rows(const IdColumn& rows, Ids before, Ids after);

}  // namespace nmt_prep
