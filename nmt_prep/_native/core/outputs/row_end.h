// The end of a row: its last id may be a special piece that an output does not want.
#pragma once

#include <cstdint>

#include "records/example.h"

namespace nmt_prep {

// Returns the row without its last id, if that is `last`; ids are never negative, so -1 keeps all.
inline Ids without_last(Ids row, std::int32_t last) {
    return !row.empty() && row.back() == last ? row.first(row.size() - 1) : row;
}

}  // namespace nmt_prep
