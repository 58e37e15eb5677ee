// The end of a row, whose last id may be a special piece that an output leaves out.
#pragma once

#include <cstdint>

#include "records/example.h"

namespace nmt_prep {

// Returns the row without its last id if this id equals `last`. Ids are never negative, so -1 keeps all ids.
inline Ids without_last(Ids row, std::int32_t last) {
    return !row.empty() && row.back() == last ? row.first(row.size() - 1) : row;
}

}  // namespace nmt_prep
