// Lines of pieces for text files: the pieces of a row of ids, separated by spaces.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "records/spill.h"

namespace nmt_prep {

// Lines of UTF-8 that own their memory; line i is [offsets[i], offsets[i + 1]).
struct OwnedLines {
    std::unique_ptr<std::uint8_t[]> data;
    std::vector<std::int64_t> offsets;
};

// Returns a line for each row. The last id of a row is left out if it is `last`; -1 keeps all.
// Throws std::invalid_argument for bad offsets of rows or pieces, and std::out_of_range for an id without a piece.
OwnedLines piece_lines(const IdColumn& rows, const TextColumn& pieces, std::int32_t last);

}  // namespace nmt_prep
