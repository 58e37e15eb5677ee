// Matrices for training code: rows with one pair, or several packed pairs, padded to one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "records/column.h"

namespace nmt_prep {

enum class Cells : std::uint8_t {
    kIds,        // the ids
    kShifted,    // the ids of each pair shifted right: the first id given, then all but its last
    kSegments,   // number of the pair in its row, from 1
    kPositions,  // position in the pair, from 0
};

struct PaddedLayout {
    std::span<const std::int64_t> row_pairs;  // pairs in each row; empty if each row has one
    std::size_t width;                        // cells of a row
    std::int64_t padding;                     // value of the cells after the last pair of a row
    std::int64_t first;                       // the first id of kShifted
};

// Whether a matrix of this many cells has `rows` rows of `width` cells, whose product may overflow.
inline bool has_shape(std::size_t cells, std::size_t rows, std::size_t width) {
    return rows ? cells / rows == width && cells % rows == 0 : cells == 0;
}

// Fills `out`, which has `width` cells for each row.
// Throws std::invalid_argument for bad offsets, another number of pairs or cells, or a row longer than `width`.
void pad_rows(const IdColumn& pairs, const PaddedLayout& layout, Cells cells, std::span<std::int64_t> out);

}  // namespace nmt_prep
