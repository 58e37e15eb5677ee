// Copies selected rows of a column, such as the rows of a batch.
#pragma once

#include <cstdint>
#include <span>

#include "records/framed_rows.h"

namespace nmt_prep {

// Copies the rows with the given numbers, in their order, each cut to its first `longest` ids. Throws
// std::invalid_argument for bad offsets, a number without a row, or a negative `longest`.
FramedRows select_rows(const IdColumn& rows, std::span<const std::int64_t> numbers, std::int64_t longest);

}  // namespace nmt_prep
